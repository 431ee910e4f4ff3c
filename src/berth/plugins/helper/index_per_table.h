// SPDX-License-Identifier: Apache-2.0
// IndexPerTable: a plugin's index of the pods in each node table that it is asked about. Production has one table; tests
// ask about several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::plugins {

// An Index has `table()`, null before the first Sync, and `Sync(table)`, which brings it up to date.
template <typename Index>
class IndexPerTable {
 public:
  // The table's index, brought up to date; `make()` returns a new one.
  template <typename Make>
  const std::shared_ptr<Index>& For(const framework::NodeTable& table, const Make& make) {
    is_used_ = true;
    const auto it =
        std::find_if(indexes_.begin(), indexes_.end(), [&](const auto& index) { return index->table() == &table; });
    if (it == indexes_.end()) {
      if (indexes_.size() == kTablesMax) indexes_.pop_back();
      indexes_.insert(indexes_.begin(), make());
    } else if (it != indexes_.begin()) {
      std::rotate(indexes_.begin(), it, it + 1);
    }
    indexes_.front()->Sync(table);
    return indexes_.front();
  }

  // Frees all indexes that no call has asked for since the last DropIdle: making one anew is cheaper then than to hold
  // every running pod.
  void DropIdle() {
    if (!is_used_) indexes_.clear();
    is_used_ = false;
  }

  // The index of the table that was asked about last comes first.
  std::vector<std::shared_ptr<Index>>& all() { return indexes_; }

 private:
  static constexpr std::size_t kTablesMax = 4;

  std::vector<std::shared_ptr<Index>> indexes_;
  bool is_used_ = false;
};

}  // namespace berth::plugins
