// SPDX-License-Identifier: Apache-2.0
// NominatedRows: the pods nominated for each row of the node table, with a log of the rows that changed, so that a
// cycle looks at changes instead of all nominations. Part of the fast path. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

// Pods nominated for one row, in the order of their nominations.
struct NominatedOnRow {
  NodeIndex row = kNoNode;
  std::span<const PodInfoPtr> pods;
};

class NominatedRows {
 public:
  NominatedRows() = default;
  NominatedRows(const NominatedRows&) = delete;
  NominatedRows& operator=(const NominatedRows&) = delete;

  // Replaces the pods nominated for the row. No change is logged when they are the same objects as before. A pod is on
  // one row at a time, except between the two calls that move it.
  void Set(NodeIndex row, std::span<const PodInfoPtr> pods);

  // The rows with nominated pods, in an order that the calls of Set() alone determine. Valid until the next Set().
  std::span<const NominatedOnRow> rows() const { return rows_; }
  // Valid until the next Set().
  std::span<const PodInfoPtr> PodsOn(NodeIndex row) const;
  // The row that a pod of this uid is nominated for; kNoNode: none.
  NodeIndex RowOf(std::string_view uid) const;

  // Whether an evaluation of `pod` has to respect a nomination: another pod of at least its priority has one.
  // Logarithmic in the number of distinct priorities.
  bool MatterTo(const PodInfo& pod) const;
  // The same for one row.
  bool MatterTo(const PodInfo& pod, NodeIndex row) const;

  // As in NodeTable: version() grows with every change of a row; ChangedSince() lists the rows that changed after it
  // was `version`, each at least once, or is nullopt when that is too long ago.
  std::uint64_t version() const { return log_base_ + log_.size(); }
  std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const;

 private:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  void Count(std::span<const PodInfoPtr> pods, NodeIndex row);
  void Discount(std::span<const PodInfoPtr> pods, NodeIndex row);
  void Touch(NodeIndex row);

  std::vector<NominatedOnRow> rows_;                            // none is empty
  std::vector<std::vector<PodInfoPtr>> pods_;                   // what rows_ shows, parallel to it
  std::vector<std::uint32_t> slots_;                            // by row: index into rows_
  std::map<std::int32_t, std::size_t, std::greater<>> counts_;  // pods by priority
  StringHashMap<NodeIndex> row_by_uid_;

  // The newest changes, oldest first; the entry at i brought the object to version log_base_ + i + 1.
  std::vector<NodeIndex> log_;
  std::uint64_t log_base_ = 0;
};

}  // namespace berth::framework
