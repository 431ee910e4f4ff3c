// SPDX-License-Identifier: Apache-2.0
// NominatedRows: the pods nominated for each row of the node table, with a log of changed rows, so that a cycle
// processes changes instead of all nominations. Part of the fast path. Within turns only.
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

// The pods nominated for one row, in order of nomination.
struct NominatedOnRow {
  NodeIndex row = kNoNode;
  std::span<const PodInfoPtr> pods;
};

class NominatedRows {
 public:
  NominatedRows() = default;
  NominatedRows(const NominatedRows&) = delete;
  NominatedRows& operator=(const NominatedRows&) = delete;

  // Replaces the pods nominated for the row. Nothing is logged if they are the same objects as before. A pod is on one
  // row at a time, except between the two calls that move it.
  void Set(NodeIndex row, std::span<const PodInfoPtr> pods);

  // The rows with nominated pods, in an order that depends on the calls of Set() only. Valid until the next Set().
  std::span<const NominatedOnRow> rows() const { return rows_; }
  // Valid until the next Set().
  std::span<const PodInfoPtr> PodsOn(NodeIndex row) const;
  // The row for which a pod of this uid is nominated; kNoNode: none.
  NodeIndex RowOf(std::string_view uid) const;

  // Whether any nomination affects an evaluation of `pod`: another pod of at least its priority is nominated.
  // Logarithmic in the number of distinct priorities.
  bool MatterTo(const PodInfo& pod) const;
  // The same for the nominations to one row.
  bool MatterTo(const PodInfo& pod, NodeIndex row) const;

  // As in NodeTable: the version grows with every change of a row. ChangedSince() lists the rows that changed after
  // `version`, each at least once; nullopt: the log does not reach back.
  std::uint64_t version() const { return log_base_ + log_.size(); }
  std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const;

 private:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  void Count(std::span<const PodInfoPtr> pods, NodeIndex row);
  void Discount(std::span<const PodInfoPtr> pods, NodeIndex row);
  void Touch(NodeIndex row);

  std::vector<NominatedOnRow> rows_;                            // none has an empty list
  std::vector<std::vector<PodInfoPtr>> pods_;                   // backing storage of rows_, parallel to it
  std::vector<std::uint32_t> slots_;                            // by row: index in rows_
  std::map<std::int32_t, std::size_t, std::greater<>> counts_;  // number of pods by priority
  StringHashMap<NodeIndex> row_by_uid_;

  // The newest changes, oldest first: entry i made version log_base_ + i + 1.
  std::vector<NodeIndex> log_;
  std::uint64_t log_base_ = 0;
};

}  // namespace berth::framework
