// SPDX-License-Identifier: Apache-2.0
// TableSync: what has changed in a node table since it was looked at last, for what follows it row by row; and
// SyncPods, the same for the pods of one row. Within turns only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::plugins {

class TableSync {
 public:
  // The table that was looked at last; null: none yet, or it was forgotten.
  const framework::NodeTable* table() const { return table_; }
  // A table never gets shorter or older: one that seems to is another one at the same address.
  bool IsSame(const framework::NodeTable& nodes) const {
    return table_ == &nodes && version_ <= nodes.version() && row_count_ <= nodes.row_count();
  }
  bool IsUpToDate(const framework::NodeTable& nodes) const {
    return table_ == &nodes && version_ == nodes.version() && row_count_ <= nodes.row_count();
  }
  void Forget() { table_ = nullptr; }

  // Looks at the table: the rows that changed since the last time; nullopt when all are to be looked at.
  std::optional<std::span<const framework::NodeIndex>> Take(const framework::NodeTable& nodes) {
    const auto changed = IsSame(nodes) ? nodes.ChangedSince(version_) : std::nullopt;
    table_ = &nodes;
    version_ = nodes.version();
    row_count_ = nodes.row_count();
    return changed;
  }

  // The same, and calls look(row) for each of these rows.
  template <typename Look>
  void ForChanged(const framework::NodeTable& nodes, const Look& look) {
    if (const auto changed = Take(nodes)) {
      for (const framework::NodeIndex row : *changed) look(row);
    } else {
      for (framework::NodeIndex row = 0; row < row_count_; ++row) look(row);
    }
  }

 private:
  const framework::NodeTable* table_ = nullptr;
  std::uint64_t version_ = 0;
  std::size_t row_count_ = 0;
};

// Brings up to date what is kept of the pods of one row, a Kept each, in their order: keeps(kept, pod) tells whether
// what is kept still holds for the pod in its place, make(pod) makes a new one, count(kept, pods) is told of each that
// comes (+1) or goes (-1). Position by position: pods are appended, and the last one takes the place of one that goes.
// A row without a node object has no pods: upstream's snapshot does not know it, whatever pods name it.
template <typename Kept, typename Keeps, typename Make, typename Count>
void SyncPods(const framework::NodeInfo& info, std::vector<Kept>& kept, const Keeps& keeps, const Make& make,
              const Count& count) {
  const std::vector<framework::PodInfoPtr>& pods = info.pods();
  const std::size_t pod_count = info.has_node() ? pods.size() : 0;
  const std::size_t common = std::min(kept.size(), pod_count);
  // Every pod of a row that has changed is looked at: by pointers, without the checks of a vector.
  Kept* at = kept.data();
  for (const framework::PodInfoPtr *pod = pods.data(), *const end = pod + common; pod != end; ++pod, ++at) {
    if (keeps(*at, *pod)) continue;
    count(*at, -1);
    *at = make(*pod);
    count(*at, +1);
  }
  for (std::size_t i = common; i < kept.size(); ++i) count(kept[i], -1);
  kept.resize(common);
  for (std::size_t i = common; i < pod_count; ++i) {
    kept.push_back(make(pods[i]));
    count(kept.back(), +1);
  }
}

}  // namespace berth::plugins
