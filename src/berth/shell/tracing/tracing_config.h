// SPDX-License-Identifier: Apache-2.0
// TracingConfig: what a TracingConfiguration of Kubernetes says (component-base, tracing/api/v1). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::tracing {

enum class OtlpProtocol : std::uint8_t {
  kGrpc,  // without TLS, as Kubernetes' components speak to a collector
  kHttp,  // binary protobuf
};

struct TracingConfig {
  OtlpProtocol protocol = OtlpProtocol::kGrpc;
  std::string url = "http://localhost:4317";  // without the request's path
  std::string path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
  std::uint32_t per_million = 0;  // of a million pods, so many are traced
};

// Reads YAML or JSON strictly. An endpoint without scheme, or with dns:, is a gRPC target, as in component-base; berth
// takes http:// and https:// as well, for OTLP over HTTP. Errors begin with the field.
Expected<TracingConfig> ParseTracingConfiguration(std::string_view text);

}  // namespace berth::tracing
