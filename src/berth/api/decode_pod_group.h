// SPDX-License-Identifier: Apache-2.0
// The kinds that group pods: decoding from JSON and from protobuf, as decode.h describes it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/pod_group.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PodGroup>> DecodePodGroup(simdjson::dom::element object);
Expected<std::shared_ptr<const PodGroup>> DecodePodGroupProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CompositePodGroup>> DecodeCompositePodGroup(simdjson::dom::element object);
Expected<std::shared_ptr<const CompositePodGroup>> DecodeCompositePodGroupProtobuf(std::string_view raw);

}  // namespace berth::api
