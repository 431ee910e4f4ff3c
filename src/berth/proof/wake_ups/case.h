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

// One item before and after; absent: it was not there, or is there no longer.
struct Change {
  std::optional<Item> before;
  std::optional<Item> after;
};

struct Case {
  Family family = Family::kRoom;
  int release_minor = 0;
  std::vector<Item> items;      // without the waiting pod
  std::optional<Item> waiting;  // always there without groups
  std::uint8_t members_made = 0;

  void Apply(const Change& change);
  // The scheduler has begun to delete the pod of that uid, to make room.
  void RecordEvicted(const std::string& uid);
  // For people: the manifests, a line each.
  std::string Describe() const;
  std::string Describe(const Change& change) const;
};

Case MakeCase(Random& random, int release_minor);
// Something that may happen in such a cluster: one object more, one less, or one that is changed.
Change MakeChange(const Case& test, Random& random);

}  // namespace berth::wake_ups
