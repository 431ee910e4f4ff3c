// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/row_picker.h"

#include <algorithm>
#include <memory>
#include <string>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {
namespace {

struct Picked final : StateData {
  explicit Picked(NodeIndex picked) : row(picked) {}
  const NodeIndex row;
};

Status NothingPicked(std::string_view plugin) {
  return Status::Error(std::string(plugin) + " scores nothing where it is not enabled at preScore as well");
}

}  // namespace

NodeIndex RowPicker::PickedIn(const CycleState& state, std::string_view key) {
  const Picked* picked = state.Read<Picked>(key);
  return picked == nullptr ? kNoNode : picked->row;
}

Status RowPicker::PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const {
  if (feasible.empty()) return Status::Skip();
  cycle.state.Write(StateKey(), std::make_shared<Picked>(Pick(cycle, pod, feasible)));
  return {};
}

std::int64_t RowPicker::Score(const Cycle& cycle, const PodInfo&, NodeIndex row, const NodeInfo&,
                              Status& status) const {
  const NodeIndex picked = PickedIn(cycle.state, StateKey());
  if (picked == kNoNode) status = NothingPicked(Name());
  return row == picked ? 0 : 1;
}

void RowPicker::ScoreRows(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> rows,
                          std::span<std::int64_t> scores, Status& status) const {
  const NodeIndex picked = PickedIn(cycle.state, StateKey());
  if (picked == kNoNode && !rows.empty()) status = NothingPicked(Name());
  for (const NodeIndex row : rows) scores[row] = row == picked ? 0 : 1;
}

void RowPicker::SingleOut(const Cycle& cycle, const PodInfo& pod, std::vector<NodeIndex>& rows) const {
  First(cycle, pod, rows);
}

// Each feasible row that was singled out is here, and a row that was not is no more wanted than these.
Status RowPicker::PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                                 std::span<const std::size_t>) const {
  first_.clear();
  First(cycle, pod, first_);
  for (const NodeIndex row : first_) {
    if (std::find(feasible.begin(), feasible.end(), row) == feasible.end()) continue;
    cycle.state.Write(StateKey(), std::make_shared<Picked>(row));
    return {};
  }
  return Status::Error("none of the rows that were singled out is feasible");
}

}  // namespace berth::plugins
