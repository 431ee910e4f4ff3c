// SPDX-License-Identifier: Apache-2.0
// RowNominations: the nominator's pods by row of the node table, kept up to date from what changed in either. Within
// turns only.
#pragma once

#include <cstdint>

#include "berth/core/queue/nominator.h"
#include "berth/framework/node_table.h"
#include "berth/framework/nominated_rows.h"

namespace berth::queue {

class RowNominations {
 public:
  // Follows both to where they are now: always the same two. What names a node that is not known counts when the node
  // comes. Costs what changed since the last call.
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
