// SPDX-License-Identifier: Apache-2.0
// Cutting a JSON text into its members or elements without reading what is inside, to any depth: so that one that
// cannot be read does not take the others with it. Pure functions, any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::codec {

struct JsonSlice {
  std::string_view key;  // as it is spelled, escapes and all, without its quotes; of an array's element: empty
  std::string_view value;
};

// The members of an object, or the elements of an array, in their order, as views into `text`. Nullopt when `text` is
// neither, or not whole. A value inside may still be no JSON: only quotes, brackets and commas are looked at.
std::optional<std::vector<JsonSlice>> SliceObject(std::string_view text);
std::optional<std::vector<JsonSlice>> SliceArray(std::string_view text);

// The value of the first member of that name; nullopt when there is none, or no object.
std::optional<std::string_view> FindSlice(std::string_view object, std::string_view key);

// A value that is a text without escapes, without its quotes; else empty.
std::string_view PlainText(std::string_view value);

}  // namespace berth::codec
