// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/round_robin/round_robin.h"

#include <algorithm>
#include <string>

#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/row_picker.h"
#include "berth/plugins/names.h"
#include "berth/plugins/round_robin/last_used.h"
#include "berth/plugins/round_robin/name_ring.h"

namespace berth::plugins {
namespace {

class RoundRobin final : public RowPicker, public ReservePlugin {
 public:
  std::string_view Name() const override { return names::kRoundRobin; }

  // The next turn is that of the node after the chosen one. A pod that only one node could take upsets no turn.
  Status Reserve(const Cycle& cycle, const PodInfo&, std::string_view node_name) override {
    if (PickedIn(cycle.state, StateKey()) == kNoNode) return {};
    last_ = node_name;
    knows_turn_ = false;
    return {};
  }

  // A turn is not given back: a node on which every binding fails would otherwise have it for ever.
  void Unreserve(const PodInfo&, std::string_view) override {}

 private:
  void First(const Cycle& cycle, const PodInfo& pod, std::vector<NodeIndex>& rows) const override {
    FindTurn(cycle, pod);
    const std::size_t count = std::min(kFirstMax, ring_.size());
    for (std::size_t i = 0, position = turn_; i < count; ++i) {
      rows.push_back(ring_.RowAt(position));
      if (++position == ring_.size()) position = 0;
    }
  }

  NodeIndex Pick(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const override {
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
  std::string_view StateKey() const override { return "PreScoreRoundRobin"; }
  void FindTurn(const Cycle& cycle, const PodInfo& pod) const {
    const bool has_changed = ring_.Update(cycle.table);
    if (!knows_last_) {
      // The pod is this profile's, so its schedulerName is the profile's name.
      const std::string& name = pod.spec().scheduler_name;
      const auto last =
          LastUsed(ring_, cycle.table, name.empty() ? api::kDefaultSchedulerName : std::string_view(name));
      if (last) last_ = cycle.nodes.Info(ring_.RowAt(*last)).name();
      knows_last_ = true;
      knows_turn_ = false;
    }
    if (knows_turn_ && !has_changed) return;
    turn_ = last_.empty() ? 0 : ring_.PositionAfter(last_);
    knows_turn_ = true;
  }

  mutable NameRing ring_;
  // The node that was used last, which need not exist any more; empty: none was. Found from the pods on the nodes in
  // the instance's first cycle.
  mutable std::string last_;
  mutable bool knows_last_ = false;
  mutable std::size_t turn_ = 0;  // position in ring_
  mutable bool knows_turn_ = false;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateRoundRobin() { return std::make_unique<RoundRobin>(); }

}  // namespace berth::plugins
