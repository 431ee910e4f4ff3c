// SPDX-License-Identifier: Apache-2.0
// Splits a JSON text into its members or elements without parsing their values, at any depth, so that an invalid value
// does not make the others unreadable. Pure functions, any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::codec {

struct JsonSlice {
  std::string_view key;  // as it is spelled, with escapes and without quotes; empty for an element of an array
  std::string_view value;
};

// The members of an object, or the elements of an array, in order, as views of `text`. nullopt if `text` is not an
// object or array, or is incomplete. A value may still be invalid JSON: only quotes, brackets and commas are checked.
std::optional<std::vector<JsonSlice>> SliceObject(std::string_view text);
std::optional<std::vector<JsonSlice>> SliceArray(std::string_view text);

// The value of the first member with this name; nullopt if there is none, or `object` is not an object.
std::optional<std::string_view> FindSlice(std::string_view object, std::string_view key);

// The content of a string without escapes; empty for any other value.
std::string_view PlainText(std::string_view value);

}  // namespace berth::codec
