// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/round_robin/name_ring.h"

#include <algorithm>

namespace berth::plugins {

using framework::NodeIndex;
using framework::NodeTable;

namespace {

const std::string& NameOf(const NodeTable& nodes, NodeIndex row) {
  static const std::string kNone;
  if (row >= nodes.row_count() || !nodes.Info(row).has_node()) return kNone;
  return nodes.Info(row).name();
}

}  // namespace

bool NameRing::Update(const NodeTable& nodes) {
  if (table_ == &nodes && version_ == nodes.version()) return false;
  const auto changes = table_ == &nodes ? nodes.ChangedSince(version_) : std::nullopt;
  table_ = &nodes;
  version_ = nodes.version();
  if (!changes) {
    Rebuild(nodes);
    return true;
  }
  // Most changes are pods that come and go.
  names_.resize(std::max(names_.size(), nodes.row_count()));
  positions_.resize(names_.size());
  changed_.clear();
  for (const NodeIndex row : *changes) {
    if (row < names_.size() && names_[row] != NameOf(nodes, row)) changed_.push_back(row);
  }
  if (changed_.empty()) return false;
  if (changed_.size() > kChangesMax) {
    Rebuild(nodes);
    return true;
  }
  // A row may be there twice.
  for (const NodeIndex row : changed_) {
    if (!names_[row].empty()) Remove(row);
  }
  for (const NodeIndex row : changed_) {
    const std::string& name = NameOf(nodes, row);
    if (!name.empty() && names_[row].empty()) Insert(row, name);
  }
  return true;
}

std::size_t NameRing::PositionAfter(std::string_view name) const {
  const auto at = std::upper_bound(order_.begin(), order_.end(), name,
                                   [this](std::string_view wanted, NodeIndex row) { return wanted < names_[row]; });
  return at == order_.end() ? 0 : static_cast<std::size_t>(at - order_.begin());
}

void NameRing::Rebuild(const NodeTable& nodes) {
  const std::span<const NodeIndex> rows = nodes.rows();
  names_.assign(nodes.row_count(), {});
  positions_.assign(nodes.row_count(), 0);
  for (const NodeIndex row : rows) names_[row] = nodes.Info(row).name();
  order_.assign(rows.begin(), rows.end());
  std::sort(order_.begin(), order_.end(), [this](NodeIndex a, NodeIndex b) { return names_[a] < names_[b]; });
  Renumber(0);
}

void NameRing::Remove(NodeIndex row) {
  const std::size_t position = positions_[row];
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(position));
  names_[row].clear();
  Renumber(position);
}

void NameRing::Insert(NodeIndex row, const std::string& name) {
  const auto at =
      std::lower_bound(order_.begin(), order_.end(), name,
                       [this](NodeIndex other, const std::string& wanted) { return names_[other] < wanted; });
  const auto position = static_cast<std::size_t>(at - order_.begin());
  names_[row] = name;
  order_.insert(at, row);
  Renumber(position);
}

void NameRing::Renumber(std::size_t from) {
  for (std::size_t position = from; position < order_.size(); ++position) positions_[order_[position]] = position;
}

}  // namespace berth::plugins
