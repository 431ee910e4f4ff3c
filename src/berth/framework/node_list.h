// SPDX-License-Identifier: Apache-2.0
// NodeList: the nodes of the cluster, by row and by name, as plugins read them; no plugin changes it. Within turns
// only. From PreFilter to Score it does not change; when Reserve is called, the pod is on its node already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/framework/node_info.h"

namespace berth::framework {

// The row of a node. A node keeps its row for life; the row of a node that is gone may be given to another one.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

class NodeList {
 public:
  virtual ~NodeList() = default;

  virtual std::size_t node_count() const = 0;
  // One more than the largest row in use: how long an array indexed by row has to be.
  virtual std::size_t row_count() const = 0;
  // The rows that hold a node, ascending.
  virtual std::span<const NodeIndex> rows() const = 0;
  // kNoNode when there is no node of that name.
  virtual NodeIndex Find(std::string_view node_name) const = 0;
  // Valid until the call that got this list returns.
  virtual const NodeInfo& Info(NodeIndex row) const = 0;
};

}  // namespace berth::framework
