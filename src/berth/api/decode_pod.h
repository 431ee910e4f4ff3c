// SPDX-License-Identifier: Apache-2.0
// Pods: decoding from JSON and from protobuf, as decode.h describes it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/pod.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const Pod>> DecodePod(simdjson::dom::element object);
Expected<std::shared_ptr<const Pod>> DecodePodProtobuf(std::string_view raw);

}  // namespace berth::api
