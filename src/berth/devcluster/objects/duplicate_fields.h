// SPDX-License-Identifier: Apache-2.0
// Keys that occur twice in an object of a JSON text. The documents of codec/json.h do not show them, as they hold the
// last one only. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::objects {

inline constexpr std::size_t kDuplicateFieldsMax = 50;

// In the order of the text: `duplicate field "spec.replicas"`; at most kDuplicateFieldsMax. To be treated as unknown
// fields are. The text must be valid JSON (what ParseJson took); for any other the answer is empty.
std::vector<std::string> DuplicateFields(std::string_view json_text);

}  // namespace berth::objects
