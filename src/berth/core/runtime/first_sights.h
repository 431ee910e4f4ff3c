// SPDX-License-Identifier: Apache-2.0
// FirstSights: which ids were met before, so that only what comes a second time gets room of its own. A bounded set:
// when it is full it forgets everything, and an id may then be a first sight once more. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include <absl/container/flat_hash_set.h>

namespace berth::runtime {

class FirstSights {
 public:
  static constexpr std::size_t kCountMax = 65536;

  // True when the id was not met before.
  bool Note(std::uint64_t id) {
    if (ids_.size() >= kCountMax) ids_.clear();
    return ids_.insert(id).second;
  }
  std::size_t size() const { return ids_.size(); }

 private:
  absl::flat_hash_set<std::uint64_t> ids_;
};

}  // namespace berth::runtime
