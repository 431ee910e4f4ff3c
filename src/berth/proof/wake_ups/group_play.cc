// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/group_play.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/proof/wake_ups/cluster.h"

namespace berth::wake_ups {
namespace {

// The random choice between equal nodes decides whether the next member fits. So does the order of members, which stays
// the same: with more attempts behind it a member is tried first. Room that is kept for a member can help it, or make
// it wait for the pods that leave there. A group that fits in this order with each of these seeds, which keep the room
// by turns, is placed soon with any other.
constexpr std::uint64_t kFreshSeeds = 12;
constexpr int kRetriesMax = 60;

class GroupPlay {
 public:
  GroupPlay(Case&& test, Random& random)
      : test_(std::move(test)), random_(random), cluster_(test_.family, test_.release_minor) {
    played_.family = test_.family;
  }

  Played Play() {
    for (const Item& item : test_.items) cluster_.Set(item);
    if (test_.waiting) cluster_.Set(*test_.waiting);
    Run();
    for (int number = 0; number < kChangesMax && played_.missed.empty(); ++number) {
      const Change change = MakeChange(test_, random_);
      Make(change);
      const bool is_last = number + 1 == kChangesMax;
      std::string missed = WhatGroupsMissed();
      if (missed.empty() && (is_last || random_.Below(3) == 0)) missed = WhatTheFlushRescues();
      if (!missed.empty()) played_.missed = missed + "\n" + Places() + test_.Describe() + test_.Describe(change);
    }
    return std::move(played_);
  }

 private:
  std::vector<Item> Members() const {
    std::vector<Item> members;
    for (const Item& item : test_.items) {
      if (item.kind == Kind::kMember) members.push_back(item);
    }
    return members;
  }
  std::vector<Item> WaitingMembers() const {
    std::vector<Item> waiting = Members();
    std::erase_if(waiting, [this](const Item& member) { return !cluster_.NodeOf(member).empty(); });
    return waiting;
  }
  bool IsSingleWaiting() const { return test_.waiting && cluster_.NodeOf(*test_.waiting).empty(); }
  std::size_t PlacedCount() const {
    const bool is_single_placed = test_.waiting && !IsSingleWaiting();
    return Members().size() - WaitingMembers().size() + (is_single_placed ? 1 : 0);
  }

  void Run() {
    cluster_.Run();
    RecordEvictions();
  }
  void RecordEvictions() {
    for (const std::string& uid : cluster_.TakeEvicted()) test_.RecordEvicted(uid);
  }

  void Make(const Change& change) {
    const bool waits_for_events =
        std::ranges::all_of(WaitingMembers(), [this](const Item& m) { return cluster_.IsGated(m); });
    const std::uint64_t tries = cluster_.tries();
    change.after ? cluster_.Set(*change.after) : cluster_.Remove(*change.before);
    test_.Apply(change);
    const std::size_t placed = PlacedCount();
    const bool does_wait = !WaitingMembers().empty() || IsSingleWaiting();
    Run();
    if (PlacedCount() > placed) {
      ++played_.placed;
    } else if (!does_wait) {
      return;
    } else if (!waits_for_events) {
      ++played_.timed;
    } else {
      ++(cluster_.tries() != tries ? played_.tried_in_vain : played_.left_alone);
    }
  }

  // The waiting members of the groups that must be placed if they fit: all groups, or the one that has room kept for
  // it. Other groups may have to wait for that one.
  std::vector<Item> Askable() const {
    std::vector<Item> waiting = WaitingMembers();
    std::set<int> nominated;
    for (const Item& member : waiting) {
      if (!cluster_.NominatedNodeOf(member).empty()) nominated.insert(GroupOf(member, test_.family));
    }
    if (nominated.size() > 1) return {};
    if (nominated.size() == 1) {
      std::erase_if(waiting, [&](const Item& member) { return GroupOf(member, test_.family) != *nominated.begin(); });
    }
    return waiting;
  }

  // The members of `waiting` that a fresh scheduler places, without the single pod while that one waits.
  std::vector<Item> PlacedByAFreshScheduler(const std::vector<Item>& waiting, std::uint64_t seed) const {
    Cluster fresh(test_.family, test_.release_minor, seed);
    for (const Item& item : test_.items) {
      if (item.kind != Kind::kMember && item.kind != Kind::kResourceClaim) fresh.Copy(item, cluster_);
    }
    fresh.CopyResourceClaims(cluster_);
    if (test_.waiting && !IsSingleWaiting()) fresh.Copy(*test_.waiting, cluster_);
    for (const Item& member : Members()) {
      if (!cluster_.NodeOf(member).empty()) fresh.Copy(member, cluster_);
    }
    // Members with equally many attempts, here none, are tried in the order of their names.
    for (std::size_t i = 0; i < waiting.size(); ++i)
      fresh.CopyWaiting(waiting[i], "m" + std::to_string(i), cluster_, seed % 2 == 0);
    fresh.Run();
    std::vector<Item> placed = waiting;
    std::erase_if(placed, [&](const Item& member) { return fresh.NodeOf(member).empty(); });
    return placed;
  }

  // Waiting members that a fresh scheduler places; empty: with some seed it places none.
  std::vector<Item> PlacedWithEachSeed() const {
    std::vector<Item> waiting = Askable();
    if (waiting.empty()) return {};
    cluster_.SortAsTried(waiting);
    std::vector<Item> placed;
    for (std::uint64_t seed = 1; seed <= kFreshSeeds; ++seed) {
      placed = PlacedByAFreshScheduler(waiting, seed);
      if (placed.empty()) return {};
    }
    return placed;
  }

  std::string WhatGroupsMissed() {
    const std::vector<Item> placed = PlacedWithEachSeed();
    if (placed.empty()) return {};
    const auto is_gated = [this](const Item& member) { return cluster_.IsGated(member); };
    if (std::ranges::any_of(placed, is_gated)) return "held back: " + NamesOf(placed);
    const bool was_kept = IsRoomKept();
    const std::size_t placed_before = PlacedCount();
    for (int retry = 0; retry < kRetriesMax; ++retry) {
      cluster_.RetryGroups();
      RecordEvictions();
      if (PlacedCount() != placed_before) return {};
      // Once room is kept for a group, or no longer kept, the members may have to wait for others.
      if (IsRoomKept() != was_kept) return {};
    }
    // Members that have failed in different cycles may be in another order once they have failed in one.
    if (PlacedWithEachSeed().empty()) return {};
    return "refused again and again: " + NamesOf(placed);
  }

  bool IsRoomKept() const {
    return std::ranges::any_of(WaitingMembers(),
                               [this](const Item& member) { return !cluster_.NominatedNodeOf(member).empty(); });
  }

  std::string WhatTheFlushRescues() {
    if (WaitingMembers().empty() && !IsSingleWaiting()) return {};
    const std::uint64_t rescued = cluster_.rescued_by_flush();
    const std::string before = Places();
    cluster_.WaitForFlush();
    RecordEvictions();
    return cluster_.rescued_by_flush() == rescued ? "" : "rescued by the flush, and before:\n" + before + "after:";
  }

  std::string NamesOf(const std::vector<Item>& pods) const {
    std::string text;
    for (const Item& pod : pods) text += UidOf(pod, test_.family) + " ";
    return text;
  }
  std::string Places() const {
    std::vector<Item> pods = Members();
    if (test_.waiting) pods.push_back(*test_.waiting);
    std::string text;
    for (const Item& pod : pods) {
      const std::string node = cluster_.NodeOf(pod);
      const std::string nominated = cluster_.NominatedNodeOf(pod);
      text += "  " + UidOf(pod, test_.family) + (node.empty() ? ": " + cluster_.WhyNot(pod) : " on " + node) +
              (nominated.empty() ? "" : ", nominated for " + nominated) + "\n";
    }
    return text;
  }

  Case test_;
  Random& random_;
  Cluster cluster_;
  Played played_;
};

}  // namespace

Played PlayGroups(Case&& test, Random& random) { return GroupPlay(std::move(test), random).Play(); }

}  // namespace berth::wake_ups
