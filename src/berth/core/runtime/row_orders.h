// SPDX-License-Identifier: Apache-2.0
// RowOrders: an LRU cache, bounded in bytes, of the orders of feasible rows from which GroupChooser chooses. An order
// depends on its class's kept results and on the marks that plugins give rows (framework::GroupingPlugin). From cycle
// to cycle only changed rows are moved in it. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/base/lru_cache.h"
#include "berth/core/runtime/evaluation_cycle.h"
#include "berth/core/runtime/first_sights.h"
#include "berth/core/runtime/totals_order.h"

namespace berth::runtime {

using Groupers = std::vector<const framework::GroupingPlugin*>;

class RowOrders {
 public:
  // The updated order for this cycle; null when there is none. Only after ClassUpdater::Update(). `groupers` are the
  // plugins whose marks define its groups. Valid until the next Open(), Bound() or DropIdle().
  const TotalsOrder* Open(EvaluationCycle& cycle, const Groupers& groupers);
  // After Open(): rows whose marks are not enough, each a candidate by itself. May contain duplicates, and rows that
  // are not in the order.
  std::span<const framework::NodeIndex> special_rows() const { return special_rows_; }

  // Evicts orders; the one opened last stays.
  void Bound(std::size_t bytes_max) { orders_.Bound(bytes_max); }
  // Drops orders that were not used since the last call.
  void DropIdle() { orders_.DropIdle(); }
  std::size_t size() const { return orders_.size(); }

 private:
  // Limit on the groups of an order: kGroupsMin, or one for each kRowsPerGroup rows if that is more. With more groups
  // it is cheaper to evaluate each row.
  static constexpr std::size_t kGroupsMin = 64;
  static constexpr std::size_t kRowsPerGroup = 8;
  // An order that had too many groups is not tried again for this number of its classes' cycles.
  static constexpr std::uint32_t kCyclesToWait = 256;
  // An order that several classes share is used if at most kSpecialRowsMin rows are special. For each change of the
  // node table that the class's own order has missed, one more special row is accepted, up to kSpecialRowsExtra:
  // catching up with a change costs as much as evaluating a special row.
  static constexpr std::size_t kSpecialRowsMin = 64;
  static constexpr std::size_t kSpecialRowsExtra = 4096;
  // Limits on ids_ and own_versions_, which are cleared when they reach them.
  static constexpr std::size_t kIdsMax = 16384;
  static constexpr std::size_t kOwnVersionsMax = 65536;
  // Rows that are marked in one call of a plugin.
  static constexpr std::size_t kRowsAtOnce = 1024;

  using MarkScope = framework::GroupingPlugin::MarkScope;
  struct Order {
    TotalsOrder rows;
    std::vector<framework::GroupingPlugin::Marks> marks;  // the marks of each grouper that `rows` uses
    std::uint64_t rebuild = 0;                            // the KeptEvaluation::rebuild that it follows; 0: none
    std::uint64_t version = 0;                            // version of the node table
    std::uint64_t nominated_version = 0;
    std::uint32_t cycles_to_wait = 0;  // cycles until it is tried again after it had too many groups

    std::size_t Bytes() const { return sizeof(*this) + rows.Bytes(); }
  };

  bool Plan(EvaluationCycle& cycle);
  bool CollectMarks(EvaluationCycle& cycle, MarkScope scope, std::size_t special_max);
  std::uint64_t IdOf(const EvaluationCycle& cycle);
  std::size_t SpecialMax(const EvaluationCycle& cycle, std::uint64_t own_id);
  bool Update(EvaluationCycle& cycle);
  void PutRows(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);

  LruCache<Order> orders_;            // key: IdOf()
  StringHashMap<std::uint64_t> ids_;  // key: the bytes of everything that the order depends on
  std::uint64_t id_count_ = 0;
  FirstSights first_sights_;  // ids of orders of own marks that were requested once
  // The node table's version when an order of own marks could last have been used, by id.
  absl::flat_hash_map<std::uint64_t, std::uint64_t> own_versions_;

  // State of the last Open().
  const Groupers* groupers_ = nullptr;
  MarkScope mark_scope_ = MarkScope::kShared;
  std::vector<framework::GroupingPlugin::Marks> marks_;  // parallel to the groupers
  std::size_t marks_width_ = 0;
  std::vector<framework::NodeIndex> special_rows_;
  Order* order_ = nullptr;

  // Scratch.
  std::string id_bytes_;
  std::vector<framework::NodeIndex> changed_, rows_;
  std::vector<std::uint32_t> row_marks_;
};

}  // namespace berth::runtime
