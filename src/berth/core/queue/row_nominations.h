// SPDX-License-Identifier: Apache-2.0
// RowNominations: the nominator's pods by row of the node table, updated incrementally from the change logs of both.
// Within turns only.
#pragma once

#include <cstdint>

#include "berth/core/queue/nominator.h"
#include "berth/framework/node_table.h"
#include "berth/framework/nominated_rows.h"

namespace berth::queue {

class RowNominations {
 public:
  // Must always be called with the same two objects. A nomination for an unknown node takes effect when the node is
  // added. The cost depends on the number of changes since the last call.
  void Update(const Nominator& nominator, const framework::NodeTable& nodes);

  const framework::NominatedRows& rows() const { return rows_; }

 private:
  void Rebuild(const Nominator& nominator, const framework::NodeTable& nodes);

  framework::NominatedRows rows_;
  std::uint64_t nominator_version_ = 0;
  std::uint64_t table_version_ = 0;
  std::uint64_t nodes_version_ = 0;
};

}  // namespace berth::queue
