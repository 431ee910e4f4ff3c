// SPDX-License-Identifier: Apache-2.0
// RowOrders: the orders of feasible rows that GroupChooser chooses from, kept between pods within bounds in bytes,
// those not used for longest go first (an LRU cache). An order follows what its class keeps, and the marks that plugins
// put on rows (framework::GroupingPlugin); from cycle to cycle only rows that changed are put in their new place.
// Within turns only.
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
  // After ClassUpdater::Update(): the order for this cycle, brought up to date; null when there is none. `groupers` are
  // the plugins whose marks tell its groups apart. Valid until the next Open(), Bound() or DropIdle().
  const TotalsOrder* Open(EvaluationCycle& cycle, const Groupers& groupers);
  // Of the last Open(): rows about which the marks do not tell everything, each a group of its own. Some may be there
  // twice, or not be in the order.
  std::span<const framework::NodeIndex> special_rows() const { return special_rows_; }

  // Makes room; what was opened last always stays.
  void Bound(std::size_t bytes_max) { orders_.Bound(bytes_max); }
  // Drops what was not used since the last call.
  void DropIdle() { orders_.DropIdle(); }
  std::size_t size() const { return orders_.size(); }

 private:
  // An order has at most so many groups, or one for so many rows, whichever is more: with more groups it costs less to
  // ask about each row.
  static constexpr std::size_t kGroupsMin = 64;
  static constexpr std::size_t kRowsPerGroup = 8;
  // An order that had too many groups is not tried again for so many cycles of its classes.
  static constexpr std::uint32_t kCyclesToWait = 256;
  // An order that several classes share is chosen where at most kSpecialRowsMin rows are special. It is also chosen
  // with up to kSpecialRowsExtra more, one for each change of the node table that the class's own order has missed:
  // catching up with these changes would cost as much as looking at so many special rows.
  static constexpr std::size_t kSpecialRowsMin = 64;
  static constexpr std::size_t kSpecialRowsExtra = 4096;
  // Bounds on ids_ and on own_versions_, which are then forgotten as a whole.
  static constexpr std::size_t kIdsMax = 16384;
  static constexpr std::size_t kOwnVersionsMax = 65536;
  // Rows that are marked at once.
  static constexpr std::size_t kRowsAtOnce = 1024;

  using MarkScope = framework::GroupingPlugin::MarkScope;
  struct Order {
    TotalsOrder rows;
    std::vector<framework::GroupingPlugin::Marks> marks;  // of each grouper, as `rows` has them
    std::uint64_t rebuild = 0;                            // KeptEvaluation::rebuild that it follows; 0: none yet
    std::uint64_t version = 0;                            // of the node table
    std::uint64_t nominated_version = 0;
    std::uint32_t cycles_to_wait = 0;  // it had too many groups; until then it is not tried

    std::size_t Bytes() const { return sizeof(*this) + rows.Bytes(); }
  };

  bool Plan(EvaluationCycle& cycle);
  bool CollectMarks(EvaluationCycle& cycle, MarkScope scope, std::size_t special_max);
  std::uint64_t IdOf(const EvaluationCycle& cycle);
  std::size_t SpecialMax(const EvaluationCycle& cycle, std::uint64_t own_id);
  bool Update(EvaluationCycle& cycle);
  void PutRows(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);

  LruCache<Order> orders_;            // by IdOf()
  StringHashMap<std::uint64_t> ids_;  // by the bytes of what the order rests on
  std::uint64_t id_count_ = 0;
  FirstSights first_sights_;  // ids of orders of own marks that were wanted once
  // Of the node table, when an order of own marks could last have been used, by id.
  absl::flat_hash_map<std::uint64_t, std::uint64_t> own_versions_;

  // Of the last Open().
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
