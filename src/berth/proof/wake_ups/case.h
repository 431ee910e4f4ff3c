// SPDX-License-Identifier: Apache-2.0
// A case: a small cluster, a pod or groups of pods that wait in it, and what changes then. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/random.h"
#include "berth/proof/wake_ups/manifests.h"

namespace berth::wake_ups {

// The state of one item before and after a change; absent: the item does not exist.
struct Change {
  std::optional<Item> before;
  std::optional<Item> after;
};

struct Case {
  Family family = Family::kRoom;
  int release_minor = 0;
  std::vector<Item> items;      // without the waiting pod
  std::optional<Item> waiting;  // in families with groups it may be absent
  std::uint8_t members_made = 0;

  void Apply(const Change& change);
  // Marks the pod with this uid as being deleted, since the scheduler has evicted it.
  void RecordEvicted(const std::string& uid);
  // The manifests, one in a line, for people to read.
  std::string Describe() const;
  std::string Describe(const Change& change) const;
};

Case MakeCase(Random& random, int release_minor);
// A random change that may happen in the case's cluster: one object is added, removed or changed.
Change MakeChange(const Case& test, Random& random);

}  // namespace berth::wake_ups
