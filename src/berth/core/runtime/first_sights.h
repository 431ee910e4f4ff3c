// SPDX-License-Identifier: Apache-2.0
// FirstSights: a bounded set of ids that were seen, so that only ids seen twice get an entry in a cache. When it is
// full it is cleared, after which ids count as new again. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include <absl/container/flat_hash_set.h>

namespace berth::runtime {

class FirstSights {
 public:
  static constexpr std::size_t kCountMax = 65536;

  // Returns whether the id is new.
  bool Note(std::uint64_t id) {
    if (ids_.size() >= kCountMax) ids_.clear();
    return ids_.insert(id).second;
  }
  std::size_t size() const { return ids_.size(); }

 private:
  absl::flat_hash_set<std::uint64_t> ids_;
};

}  // namespace berth::runtime
