// SPDX-License-Identifier: Apache-2.0
// A fast hash of text, for tables that are asked for every pod. Differs from run to run.
#pragma once

#include <cstddef>
#include <string_view>

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

namespace berth {

inline std::size_t HashText(std::string_view text) {
  return absl::Hash<absl::string_view>()(absl::string_view(text.data(), text.size()));
}

}  // namespace berth
