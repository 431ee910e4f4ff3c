// SPDX-License-Identifier: Apache-2.0
// NameRing: the rows of a node table in the order of the nodes' names, kept up to date. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::plugins {

class NameRing {
 public:
  // Follows the table. True when nodes have come or gone since the last call, so that positions are others.
  bool Update(const framework::NodeTable& nodes);

  std::size_t size() const { return order_.size(); }
  // Positions are below size(), and ascend with the names.
  framework::NodeIndex RowAt(std::size_t position) const { return order_[position]; }
  std::size_t PositionOf(framework::NodeIndex row) const { return positions_[row]; }
  // The position of the first node whose name comes after `name`; 0 when none does. There must be a node.
  std::size_t PositionAfter(std::string_view name) const;

 private:
  // A change costs a pass over what comes after it, sorting anew as much as a few tens of such passes.
  static constexpr std::size_t kChangesMax = 32;

  void Rebuild(const framework::NodeTable& nodes);
  void Remove(framework::NodeIndex row);
  void Insert(framework::NodeIndex row, const std::string& name);
  void Renumber(std::size_t from);

  const framework::NodeTable* table_ = nullptr;
  std::uint64_t version_ = 0;
  std::vector<framework::NodeIndex> order_;
  std::vector<std::size_t> positions_;         // by row; of rows in order_
  std::vector<std::string> names_;             // by row; empty: not in order_
  std::vector<framework::NodeIndex> changed_;  // scratch
};

}  // namespace berth::plugins
