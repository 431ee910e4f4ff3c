// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/topology.h"

#include <algorithm>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

bool Topology::IsOvergrown() const {
  // Host names of nodes that came and went.
  const std::size_t ordinals_max = 2 * row_count_ + 4096;
  return keys_.size() > kKeysMax || missing_keys_.size() > kMissingKeysMax ||
         std::any_of(keys_.begin(), keys_.end(),
                     [ordinals_max](const Key& key) { return key.ordinals.size() > ordinals_max; });
}

Topology::Ordinal Topology::Intern(Key& key, std::string_view value) {
  const auto it = key.ordinals.find(value);
  if (it != key.ordinals.end()) return it->second;
  const auto ordinal = static_cast<Ordinal>(key.ordinals.size() + 1);
  key.ordinals.emplace(value, ordinal);
  return ordinal;
}

void Topology::MoveRow(Key& key, NodeIndex row, Ordinal ordinal) {
  key.rows_of.resize(key.ordinals.size() + 1);
  key.latest_of.resize(key.ordinals.size() + 1, kNoNode);
  const Ordinal before = key.by_row[row];
  if (before != 0 && --key.rows_of[before] == 1) --key.shared_count;
  if (ordinal != 0 && ++key.rows_of[ordinal] == 2) ++key.shared_count;
  key.by_row[row] = ordinal;
  if (ordinal != 0) key.latest_of[ordinal] = row;
}

NodeIndex Topology::RowOf(KeyIndex key, Ordinal ordinal) const {
  const Key& of = keys_[key];
  if (ordinal >= of.latest_of.size()) return kNoNode;
  const NodeIndex row = of.latest_of[ordinal];
  return row != kNoNode && of.by_row[row] == ordinal ? row : kNoNode;
}

Topology::KeyIndex Topology::AddKey(std::string_view name) {
  keys_.push_back(Key{std::string(name), std::vector<Ordinal>(row_count_), {}, {}, {}, 0});
  return static_cast<KeyIndex>(keys_.size() - 1);
}

Topology::KeyIndex Topology::Follow(std::string_view key, const NodeTable& nodes) {
  const auto it = indexes_.find(key);
  if (it != indexes_.end()) return it->second;
  row_count_ = nodes.row_count();
  const std::span<const framework::ValueId> column = nodes.LabelColumn(key);
  // The table has one column for all keys that no node has, but some of its own for keys that none has any more.
  if (column.data() == nodes.LabelColumn({}).data() ||
      std::all_of(column.begin(), column.end(), [](framework::ValueId value) { return value == 0; })) {
    missing_keys_.emplace(key);
    if (missing_ == kNoKey) missing_ = AddKey({});
    return missing_;
  }
  const KeyIndex index = AddKey(key);
  indexes_.emplace(key, index);
  for (NodeIndex row = 0; row < column.size(); ++row) {
    if (column[row] != 0) MoveRow(keys_[index], row, Intern(keys_[index], nodes.Value(column[row])));
  }
  return index;
}

void Topology::LookForMissingKeys(const NodeTable& nodes, std::span<const NodeIndex> rows) {
  if (missing_keys_.empty()) return;
  for (const NodeIndex row : rows) {
    if (!nodes.Info(row).has_node()) continue;
    for (const auto& [key, value] : nodes.Info(row).node().metadata.labels) {
      has_met_missing_key_ |= missing_keys_.contains(key);
    }
  }
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
