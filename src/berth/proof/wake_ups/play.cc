// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/play.h"

#include <utility>

#include "berth/proof/wake_ups/cluster.h"
#include "berth/proof/wake_ups/group_play.h"

namespace berth::wake_ups {
namespace {

// Copies ResourceClaims from the first cluster, whose scheduler may have deallocated them.
std::string NodeByAFreshScheduler(const Case& test, const Cluster& before) {
  Cluster cluster(test.family, test.release_minor);
  for (const Item& item : test.items) {
    if (item.kind != Kind::kResourceClaim) cluster.Set(item);
  }
  cluster.CopyResourceClaims(before);
  cluster.Set(*test.waiting);
  cluster.Run();
  return cluster.NodeOf(*test.waiting);
}

Played PlayOne(Case&& test, Random& random) {
  Played played;
  played.family = test.family;
  Cluster cluster(test.family, test.release_minor);
  for (const Item& item : test.items) cluster.Set(item);
  cluster.Set(*test.waiting);
  std::uint64_t tries = cluster.Run();
  for (int change_number = 0; change_number < kChangesMax; ++change_number) {
    if (!cluster.NodeOf(*test.waiting).empty()) break;
    const Change change = MakeChange(test, random);
    const std::string refusal = cluster.WhyNot(*test.waiting);
    change.after ? cluster.Set(*change.after) : cluster.Remove(*change.before);
    test.Apply(change);
    const std::uint64_t before = std::exchange(tries, cluster.Run());
    const bool was_tried = tries != before;
    if (!cluster.NodeOf(*test.waiting).empty()) {
      ++played.placed;
      break;
    }
    const std::string node = NodeByAFreshScheduler(test, cluster);
    if (!node.empty()) {
      played.missed = "it fits on " + node + (was_tried ? ", was tried" : "") + " and waits\nrefused: " + refusal +
                      "\nnow: " + cluster.WhyNot(*test.waiting) + "\n" + test.Describe() + test.Describe(change);
      break;
    }
    ++(was_tried ? played.tried_in_vain : played.left_alone);
  }
  return played;
}

}  // namespace

Played Play(std::uint64_t seed, int release_minor) {
  Random random(seed);
  Case test = MakeCase(random, release_minor);
  return HasGroups(test.family) ? PlayGroups(std::move(test), random) : PlayOne(std::move(test), random);
}

}  // namespace berth::wake_ups
