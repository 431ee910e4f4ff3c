// SPDX-License-Identifier: Apache-2.0
// JSON that is written piece by piece, where a tree of values would take most of the time. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace berth::codec {

// Appends the text as a JSON string, with its quotes.
void AppendJsonString(std::string_view text, std::string& to);

}  // namespace berth::codec
