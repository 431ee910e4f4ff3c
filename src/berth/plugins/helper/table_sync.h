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

  // Rows that changed, and parallel to them how many of their first pods did not (NodeTable::PodsKeptSince).
  struct Changes {
    std::span<const framework::NodeIndex> rows;
    std::span<const std::uint32_t> pods_kept;
  };

  // Looks at the table: what changed since the last time; nullopt when all rows are to be looked at.
  std::optional<Changes> Take(const framework::NodeTable& nodes) {
    std::optional<Changes> changes;
    if (IsSame(nodes)) {
      if (const auto rows = nodes.ChangedSince(version_)) changes = {*rows, nodes.PodsKeptSince(version_)};
    }
    table_ = &nodes;
    version_ = nodes.version();
    row_count_ = nodes.row_count();
    return changes;
  }

  // Takes the changes as Take() does, and calls look(row, pods_kept) for each row that changed.
  template <typename Look>
  void ForChanged(const framework::NodeTable& nodes, const Look& look) {
    if (const auto changes = Take(nodes)) {
      const std::uint32_t* pods_kept = changes->pods_kept.data();
      for (const framework::NodeIndex row : changes->rows) look(row, *pods_kept++);
    } else {
      for (framework::NodeIndex row = 0; row < row_count_; ++row) look(row, std::uint32_t{0});
    }
  }

 private:
  const framework::NodeTable* table_ = nullptr;
  std::uint64_t version_ = 0;
  std::size_t row_count_ = 0;
};

// Brings up to date what is kept of the pods of one row, a Kept each, in their order: the first `pods_kept` still hold,
// of the others keeps(kept, pod) tells whether what is kept holds for the pod in its place, make(pod) makes a new one,
// and count(kept, pods) is called for each that comes (+1) or goes (-1). Position by position: pods are appended, and
// the last one takes the place of one that goes. A pod that is not looked at costs no miss of the processor's cache. A
// row without a node object has no pods: upstream's snapshot does not know it, whatever pods name it.
template <typename Kept, typename Keeps, typename Make, typename Count>
void SyncPods(const framework::NodeInfo& info, std::size_t pods_kept, std::vector<Kept>& kept, const Keeps& keeps,
              const Make& make, const Count& count) {
  const std::vector<framework::PodInfoPtr>& pods = info.pods();
  const std::size_t pod_count = info.has_node() ? pods.size() : 0;
  const std::size_t common = std::min(kept.size(), pod_count);
  // Pointers, because a vector checks each access.
  const std::size_t first = std::min(pods_kept, common);
  Kept* at = kept.data() + first;
  for (const framework::PodInfoPtr *pod = pods.data() + first, *const end = pods.data() + common; pod != end;
       ++pod, ++at) {
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
