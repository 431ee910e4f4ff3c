// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/topology.h"

#include <algorithm>

namespace berth::plugins {

bool Topology::IsOvergrown() const {
  // Host names of nodes that came and went.
  const std::size_t ordinals_max = 2 * row_count_ + 4096;
  return keys_.size() > kKeysMax || std::any_of(keys_.begin(), keys_.end(), [ordinals_max](const Key& key) {
           return key.ordinals.size() > ordinals_max;
         });
}

Topology::Ordinal Topology::Intern(Key& key, std::string_view value) {
  const auto it = key.ordinals.find(value);
  if (it != key.ordinals.end()) return it->second;
  const auto ordinal = static_cast<Ordinal>(key.ordinals.size() + 1);
  key.ordinals.emplace(value, ordinal);
  return ordinal;
}

void Topology::MoveRow(Key& key, framework::NodeIndex row, Ordinal ordinal) {
  key.rows_of.resize(key.ordinals.size() + 1);
  key.latest_of.resize(key.ordinals.size() + 1, framework::kNoNode);
  const Ordinal before = key.by_row[row];
  if (before != 0 && --key.rows_of[before] == 1) --key.shared_count;
  if (ordinal != 0 && ++key.rows_of[ordinal] == 2) ++key.shared_count;
  key.by_row[row] = ordinal;
  if (ordinal != 0) key.latest_of[ordinal] = row;
}

framework::NodeIndex Topology::RowOf(KeyIndex key, Ordinal ordinal) const {
  const Key& of = keys_[key];
  if (ordinal >= of.latest_of.size()) return framework::kNoNode;
  const framework::NodeIndex row = of.latest_of[ordinal];
  return row != framework::kNoNode && of.by_row[row] == ordinal ? row : framework::kNoNode;
}

Topology::KeyIndex Topology::Follow(std::string_view key, const framework::NodeTable& nodes) {
  const auto it = indexes_.find(key);
  if (it != indexes_.end()) return it->second;
  const auto index = static_cast<KeyIndex>(keys_.size());
  Key& added = keys_.emplace_back(Key{std::string(key), std::vector<Ordinal>(nodes.row_count()), {}, {}, {}, 0});
  indexes_.emplace(key, index);
  const std::span<const framework::ValueId> column = nodes.LabelColumn(key);
  for (framework::NodeIndex row = 0; row < column.size(); ++row) {
    if (column[row] != 0) MoveRow(added, row, Intern(added, nodes.Value(column[row])));
  }
  return index;
}

Topology::KeyIndex Topology::Find(std::string_view key) const {
  const auto it = indexes_.find(key);
  return it == indexes_.end() ? kNoKey : it->second;
}

Topology::Ordinal Topology::FindOrdinal(KeyIndex key, std::string_view value) const {
  const auto it = keys_[key].ordinals.find(value);
  return it == keys_[key].ordinals.end() ? 0 : it->second;
}

}  // namespace berth::plugins
