// SPDX-License-Identifier: Apache-2.0
// Spans as OpenTelemetry's protocol has them (opentelemetry-proto 1.x, collector/trace/v1), and as text for headers.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/instruments/pod_traces.h"

namespace berth::tracing {

// What sends the spans: attributes as service.name.
using Resource = std::vector<std::pair<std::string, std::string>>;

// The bytes of an ExportTraceServiceRequest. `wall_ahead` is how far the time of day is ahead of the spans' times.
std::string EncodeTraces(const Resource& resource, std::string_view version, std::span<const instruments::Span> spans,
                         Duration wall_ahead);

// What an ExportTraceServiceResponse says of spans that the collector did not take.
struct PartialSuccess {
  std::uint64_t rejected = 0;
  std::string message;
};
// nullopt: the bytes are no such message.
std::optional<PartialSuccess> DecodeTracesResponse(std::string_view bytes);

// What a caller says of its trace.
struct CallersTrace {
  instruments::TraceContext parent;
  bool is_sampled = false;
};
// From its header "traceparent"; nullopt: it says nothing that the W3C's Trace Context allows.
std::optional<CallersTrace> ParseTraceParent(std::string_view header);
// The header "traceparent" of W3C Trace Context, of a sampled trace.
std::string TraceParent(const instruments::TraceContext& context);

}  // namespace berth::tracing
