// SPDX-License-Identifier: Apache-2.0
// ReservationTurns: the pod groups that have waited long enough to have room kept for them, and whose turn it is: the
// highest priority first, then who has waited longest. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <absl/container/flat_hash_map.h>

#include "berth/base/time.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_groups.h"

namespace berth::plugins {

class ReservationTurns final : public framework::SharedState {
 public:
  using Key = framework::PodGroupKey;
  // A group for which no room could be found is asked about again after this time.
  static constexpr Duration kRetryAfter = std::chrono::minutes(1);

  // The group waits, and has since then.
  void Note(const Key& group, std::int32_t priority, Time since);
  using IsWaiting = std::function<bool(const Key&)>;
  // Whether it is the first. Groups before it that do not wait any more are dropped.
  bool IsTurnOf(const Key& group, const IsWaiting& is_waiting);
  // Whether room is kept for any other group.
  bool IsRoomKeptBeside(const Key& group, const IsWaiting& is_waiting) const;
  // The nodes on which room is kept for it. It must have been noted.
  std::set<std::string>& NodesOf(const Key& group);

  // No room can be kept for it: others take its turn, and it is not noted again for a while.
  void GiveUp(const Key& group, Time now);
  bool HasGivenUp(const Key& group, Time now);

  std::size_t size() const { return waiting_.size(); }

 private:
  using Rank = std::tuple<std::int64_t, Time, Key>;  // priority, negated; since when; the group

  void Erase(const Key& group);

  std::map<Rank, std::set<std::string>> waiting_;
  absl::flat_hash_map<Key, Rank> ranks_;
  absl::flat_hash_map<Key, Time> given_up_;  // until then
  std::size_t forget_at_ = 1024;             // expired entries of given_up_
};

}  // namespace berth::plugins
