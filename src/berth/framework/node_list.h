// SPDX-License-Identifier: Apache-2.0
// NodeList: the nodes of the cluster by row and by name, for plugins, which cannot change it. Within turns only. It
// does not change from PreFilter to Score; when Reserve is called, the pod is on its node already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/framework/node_info.h"

namespace berth::framework {

// The row of a node. A node keeps its row for life; a row may be reused after its node was deleted.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

class NodeList {
 public:
  virtual ~NodeList() = default;

  virtual std::size_t node_count() const = 0;
  // The size of an array indexed by row: one more than the largest row in use.
  virtual std::size_t row_count() const = 0;
  // The rows with a node, ascending.
  virtual std::span<const NodeIndex> rows() const = 0;
  // kNoNode when there is no node of this name.
  virtual NodeIndex Find(std::string_view node_name) const = 0;
  // Valid until the call that received this list returns.
  virtual const NodeInfo& Info(NodeIndex row) const = 0;
};

}  // namespace berth::framework
