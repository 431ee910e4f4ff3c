// SPDX-License-Identifier: Apache-2.0
// The Swagger 2.0 document as protobuf, in gnostic's messages (OpenAPIv2.proto), which kubectl asks for by name. Pure.
#pragma once

#include <string>

#include "berth/codec/json.h"

namespace berth::apiserver {

namespace json = codec::json;

inline constexpr const char* kOpenApiV2MediaType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// Encodes what OpenApiV2() writes; members that it never writes are left out.
std::string EncodeOpenApiV2(const codec::json::object& document);

}  // namespace berth::apiserver
