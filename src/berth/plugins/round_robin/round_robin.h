// SPDX-License-Identifier: Apache-2.0
// RoundRobin: a policy of berth's own. Feasible nodes take turns in the order of their names. The turn is the
// profile's: each profile has an instance of its own.
#pragma once

#include <string>

#include "berth/plugins/helper/row_picker.h"
#include "berth/plugins/names.h"
#include "berth/plugins/round_robin/name_ring.h"

namespace berth::plugins {

class RoundRobin final : public RowPicker, public framework::ReservePlugin {
 public:
  std::string_view Name() const override { return names::kRoundRobin; }

  // Where there was a choice, the next turn is that of the node after the chosen one. A pod that only one node could
  // take upsets no turn.
  framework::Status Reserve(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::string_view node_name) override;
  // A turn is not given back: a node on which every binding fails would otherwise have it for ever.
  void Unreserve(const framework::PodInfo&, std::string_view) override {}

 private:
  void First(const framework::Cycle& cycle, const framework::PodInfo& pod,
             std::vector<framework::NodeIndex>& rows) const override;
  framework::NodeIndex Pick(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::span<const framework::NodeIndex> feasible) const override;
  std::string_view StateKey() const override { return "PreScoreRoundRobin"; }
  void FindTurn(const framework::Cycle& cycle, const framework::PodInfo& pod) const;

  mutable NameRing ring_;
  // The node that was used last, which need not exist any more; empty: none was. Found from the pods on the nodes in
  // the instance's first cycle.
  mutable std::string last_;
  mutable bool knows_last_ = false;
  mutable std::size_t turn_ = 0;  // position in ring_
  mutable bool knows_turn_ = false;
};

}  // namespace berth::plugins
