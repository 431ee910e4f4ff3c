// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/round_robin/round_robin.h"

#include <algorithm>

#include "berth/plugins/round_robin/last_used.h"

namespace berth::plugins {

using framework::NodeIndex;
using framework::Status;

void RoundRobin::FindTurn(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
  const bool has_changed = ring_.Update(cycle.table);
  if (!knows_last_) {
    // The pod is this profile's, so its schedulerName is the profile's name.
    const std::string& name = pod.spec().scheduler_name;
    const auto last = LastUsed(ring_, cycle.table, name.empty() ? api::kDefaultSchedulerName : std::string_view(name));
    if (last) last_ = cycle.nodes.Info(ring_.RowAt(*last)).name();
    knows_last_ = true;
    knows_turn_ = false;
  }
  if (knows_turn_ && !has_changed) return;
  turn_ = last_.empty() ? 0 : ring_.PositionAfter(last_);
  knows_turn_ = true;
}

void RoundRobin::First(const framework::Cycle& cycle, const framework::PodInfo& pod,
                       std::vector<NodeIndex>& rows) const {
  FindTurn(cycle, pod);
  const std::size_t count = std::min(kFirstMax, ring_.size());
  for (std::size_t i = 0, position = turn_; i < count; ++i) {
    rows.push_back(ring_.RowAt(position));
    if (++position == ring_.size()) position = 0;
  }
}

NodeIndex RoundRobin::Pick(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           std::span<const NodeIndex> feasible) const {
  FindTurn(cycle, pod);
  NodeIndex picked = feasible.front();
  std::size_t fewest = ring_.size();
  for (const NodeIndex row : feasible) {
    const std::size_t position = ring_.PositionOf(row);
    const std::size_t turns = position >= turn_ ? position - turn_ : position + ring_.size() - turn_;
    if (turns >= fewest) continue;
    fewest = turns;
    picked = row;
  }
  return picked;
}

Status RoundRobin::Reserve(const framework::Cycle& cycle, const framework::PodInfo&, std::string_view node_name) {
  if (PickedIn(cycle.state, StateKey()) == framework::kNoNode) return {};
  last_ = node_name;
  knows_turn_ = false;
  return {};
}

}  // namespace berth::plugins
