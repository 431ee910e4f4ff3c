// SPDX-License-Identifier: Apache-2.0
// JSON documents that are built, changed and written (Boost.JSON). API objects are read through codec/json_reader.h.
// Thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "berth/base/expected.h"

namespace berth::codec {

namespace json = boost::json;

struct ParseLimits {
  std::size_t bytes_max = std::size_t{3} << 20;
  int depth_max = 256;
};

// Parses one JSON document into `storage`. The error has a position: "at byte 17: expected ...".
Expected<json::value> ParseJson(std::string_view text, ParseLimits limits = {}, json::storage_ptr storage = {});

std::string WriteJson(const json::value& value);

}  // namespace berth::codec
