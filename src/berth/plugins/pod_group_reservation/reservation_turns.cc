// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_reservation/reservation_turns.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {

void ReservationTurns::Note(const Key& group, std::int32_t priority, Time since) {
  Rank rank(-std::int64_t{priority}, since, group);
  const auto known = ranks_.find(group);
  if (known == ranks_.end()) {
    waiting_.try_emplace(rank);
    ranks_.emplace(group, std::move(rank));
  } else if (known->second != rank) {
    auto entry = waiting_.extract(known->second);
    entry.key() = rank;
    waiting_.insert(std::move(entry));
    known->second = std::move(rank);
  }
}

bool ReservationTurns::IsTurnOf(const Key& group, const IsWaiting& is_waiting) {
  while (!waiting_.empty()) {
    const Key first = std::get<Key>(waiting_.begin()->first);
    if (first == group) return true;
    if (is_waiting(first)) return false;
    Erase(first);
  }
  return false;
}

bool ReservationTurns::IsRoomKeptBeside(const Key& group, const IsWaiting& is_waiting) const {
  return std::ranges::any_of(waiting_, [&](const auto& entry) {
    const Key& other = std::get<Key>(entry.first);
    return !entry.second.empty() && other != group && is_waiting(other);
  });
}

std::set<std::string>& ReservationTurns::NodesOf(const Key& group) { return waiting_.at(ranks_.at(group)); }

void ReservationTurns::GiveUp(const Key& group, Time now) {
  Erase(group);
  given_up_.insert_or_assign(group, now + kRetryAfter);
  if (given_up_.size() < forget_at_) return;
  absl::erase_if(given_up_, [now](const auto& each) { return each.second <= now; });
  forget_at_ = std::max<std::size_t>(1024, 2 * given_up_.size());
}

bool ReservationTurns::HasGivenUp(const Key& group, Time now) {
  const auto found = given_up_.find(group);
  return found != given_up_.end() && now < found->second;
}

void ReservationTurns::Erase(const Key& group) {
  const auto rank = ranks_.find(group);
  if (rank == ranks_.end()) return;
  waiting_.erase(rank->second);
  ranks_.erase(rank);
}

}  // namespace berth::plugins
