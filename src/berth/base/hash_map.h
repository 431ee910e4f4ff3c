// SPDX-License-Identifier: Apache-2.0
// Hash maps with string keys that are looked up by std::string_view without a copy. Debian 12 builds Abseil with its
// own string_view, so that Abseil's string hash does not accept the standard one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "berth/base/text_hash.h"

namespace berth {

struct TransparentStringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return HashText(text); }
};

template <typename Value>
using StringHashMap = absl::flat_hash_map<std::string, Value, TransparentStringHash, std::equal_to<>>;
// The viewed bytes must outlive the entry.
template <typename Value>
using StringViewHashMap = absl::flat_hash_map<std::string_view, Value, TransparentStringHash, std::equal_to<>>;
using StringHashSet = absl::flat_hash_set<std::string, TransparentStringHash, std::equal_to<>>;

}  // namespace berth
