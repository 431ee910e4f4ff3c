// SPDX-License-Identifier: Apache-2.0
// Request bodies in Kubernetes' protobuf (application/vnd.kubernetes.protobuf), which typed Go clients send by default,
// as the JSON document that they stand for. Answers are always JSON: such clients take it. Pure functions, thread-safe.
#pragma once

#include <string_view>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::objects {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

// A body with its envelope ("k8s", a zero byte, runtime.Unknown). Served kinds, Binding, Eviction, Scale and
// DeleteOptions are known; unknown fields are passed over, as upstream does. Errors say what is wrong with the bytes.
Expected<codec::json::object> DecodeProtobuf(std::string_view body);

}  // namespace berth::objects
