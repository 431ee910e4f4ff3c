// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/row_nominations.h"

#include <optional>
#include <span>
#include <vector>

namespace berth::queue {

using framework::kNoNode;
using framework::NodeIndex;

void RowNominations::Update(const Nominator& nominator, const framework::NodeTable& nodes) {
  const bool have_nodes_changed = nodes_version_ != nodes.nodes_version();
  if (nominator_version_ != nominator.version() || have_nodes_changed) {
    const auto names = nominator.ChangedSince(nominator_version_);
    // Only changes of nodes change the names of rows; pods added to a row do not change its nominations.
    const auto rows = have_nodes_changed ? nodes.ChangedSince(table_version_)
                                         : std::optional<std::span<const NodeIndex>>(std::in_place);
    const bool has_any = !nominator.empty() || !rows_.rows().empty();
    if (has_any && (!names || !rows)) {
      Rebuild(nominator, nodes);
    } else if (has_any) {
      for (const NodeIndex row : *rows) {
        const framework::NodeInfo& info = nodes.Info(row);
        rows_.Set(row, info.has_node() ? nominator.PodsForNode(info.name()) : std::span<const framework::PodInfoPtr>());
      }
      for (const std::string& name : *names) {
        const NodeIndex row = nodes.Find(name);
        if (row != kNoNode) rows_.Set(row, nominator.PodsForNode(name));
      }
    }
  }
  nominator_version_ = nominator.version();
  table_version_ = nodes.version();
  nodes_version_ = nodes.nodes_version();
}

void RowNominations::Rebuild(const Nominator& nominator, const framework::NodeTable& nodes) {
  std::vector<NodeIndex> before;
  for (const framework::NominatedOnRow& on_row : rows_.rows()) before.push_back(on_row.row);
  for (const NodeIndex row : before) {
    const framework::NodeInfo& info = nodes.Info(row);
    rows_.Set(row, info.has_node() ? nominator.PodsForNode(info.name()) : std::span<const framework::PodInfoPtr>());
  }
  nominator.ForEachNode([&](std::string_view name, std::span<const framework::PodInfoPtr> pods) {
    const NodeIndex row = nodes.Find(name);
    if (row != kNoNode) rows_.Set(row, pods);
  });
}

}  // namespace berth::queue
