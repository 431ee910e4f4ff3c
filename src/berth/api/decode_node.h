// SPDX-License-Identifier: Apache-2.0
// Nodes: decoding from JSON and from protobuf, as decode.h describes it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/node.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const Node>> DecodeNode(simdjson::dom::element object);
Expected<std::shared_ptr<const Node>> DecodeNodeProtobuf(std::string_view raw);

}  // namespace berth::api
