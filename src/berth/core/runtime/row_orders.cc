// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/row_orders.h"

#include <algorithm>
#include <optional>

#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;

namespace {

// The number of marks that a raw score takes.
constexpr std::size_t kMarksPerScore = sizeof(std::int64_t) / sizeof(std::uint32_t);

}  // namespace

const TotalsOrder* RowOrders::Open(EvaluationCycle& cycle, const Groupers& groupers) {
  groupers_ = &groupers;
  return Plan(cycle) && Update(cycle) ? &order_->rows : nullptr;
}

bool RowOrders::CollectMarks(EvaluationCycle& cycle, MarkScope scope, std::size_t special_max) {
  const framework::Cycle for_plugins = cycle.ForPlugins();
  mark_scope_ = scope;
  special_rows_.clear();
  marks_.clear();
  marks_width_ = 0;
  for (const framework::GroupingPlugin* plugin : *groupers_) {
    std::optional<framework::GroupingPlugin::Marks> marks;
    const Status failed = GuardedCall([&] {
      marks = scope == MarkScope::kOwn ? plugin->MarksOf(for_plugins, cycle.pod())
                                       : plugin->SharedMarksOf(for_plugins, cycle.pod(), special_max, special_rows_);
      if (marks) plugin->SingleOut(for_plugins, cycle.pod(), special_rows_);
    });
    if (!failed.IsSuccess() || !marks) return false;
    std::erase_if(special_rows_, [&](NodeIndex row) { return row >= cycle.nodes().row_count(); });
    marks_.push_back(*marks);
    marks_width_ += marks->width;
  }
  for (const ScoreColumn& column : cycle.kept->columns) marks_width_ += column.is_zero ? 0 : kMarksPerScore;
  return true;
}

// A shared order costs each class an evaluation of its special rows in every cycle; an order of own marks costs an
// update of the rows that changed since it was last used. The first is cheaper when many classes alternate, the second
// for one class of many pods and for classes with equal own marks. Returns how many special rows are acceptable for a
// class whose order of own marks is `own_id`.
std::size_t RowOrders::SpecialMax(const EvaluationCycle& cycle, std::uint64_t own_id) {
  if (own_versions_.size() > kOwnVersionsMax) own_versions_.clear();
  std::uint64_t& last = own_versions_[own_id];
  const std::uint64_t missed = cycle.nodes().version() - last;
  last = cycle.nodes().version();
  return kSpecialRowsMin + static_cast<std::size_t>(std::min<std::uint64_t>(missed, kSpecialRowsExtra));
}

// Chooses between the shared and the own order, and collects the plugins' marks.
bool RowOrders::Plan(EvaluationCycle& cycle) {
  const bool is_shared = CollectMarks(cycle, MarkScope::kShared, groupers_->empty() ? 0 : kSpecialRowsMin);
  std::uint64_t id = is_shared ? IdOf(cycle) : 0;
  if (!is_shared) {
    if (groupers_->empty() || !CollectMarks(cycle, MarkScope::kOwn, 0)) return false;
    id = IdOf(cycle);
    const std::size_t special_max = SpecialMax(cycle, id);
    if (special_max > kSpecialRowsMin && CollectMarks(cycle, MarkScope::kShared, special_max)) {
      id = IdOf(cycle);
    } else if (!CollectMarks(cycle, MarkScope::kOwn, 0) || (orders_.Find(id) == nullptr && first_sights_.Note(id))) {
      return false;
    }
  }
  order_ = orders_.Find(id);
  if (order_ == nullptr) order_ = &orders_.Add(id);
  return true;
}

// The id of an order, which depends on what is kept and on the collected marks.
std::uint64_t RowOrders::IdOf(const EvaluationCycle& cycle) {
  const auto add = [this](std::uint64_t number) {
    id_bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  id_bytes_.clear();
  add(cycle.kept_key);
  add(static_cast<std::uint64_t>(mark_scope_));
  for (std::size_t g = 0; g < groupers_->size(); ++g) {
    add(reinterpret_cast<std::uintptr_t>((*groupers_)[g]));
    add(marks_[g].version);
  }
  if (ids_.size() > kIdsMax) ids_.clear();
  const auto [it, is_new] = ids_.try_emplace(id_bytes_, id_count_);
  if (is_new) ++id_count_;
  return it->second;
}

// Updates the order from the kept verdicts, the kept scores and the plugins' marks.
bool RowOrders::Update(EvaluationCycle& cycle) {
  const KeptEvaluation& kept = *cycle.kept;
  Order& order = *order_;
  if (order.cycles_to_wait > 0 && --order.cycles_to_wait > 0) return false;
  const bool has_other_marks = order.marks != marks_ || order.rows.width() != marks_width_;
  const auto changed = order.rebuild != kept.rebuild || has_other_marks
                           ? std::nullopt
                           : cycle.ChangedSince(order.version, order.nominated_version, changed_);
  const Status failed = GuardedCall([&] {
    rows_.clear();
    if (changed) {
      // Sorted, so that the order of equal rows does not depend on rows that a "what if" question changed and changed
      // back.
      rows_.assign(changed->begin(), changed->end());
      std::sort(rows_.begin(), rows_.end());
      rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
      std::erase_if(rows_, [&](NodeIndex row) {
        const bool is_out = kept.verdicts[row] != kVerdictOk;
        if (is_out) order.rows.Remove(row);
        return is_out;
      });
    } else {
      // With unchanged marks, rows whose total is the same keep their position, for the same reason.
      if (has_other_marks) order.rows.Reset(marks_width_);
      order.marks = marks_;
      order.rebuild = kept.rebuild;
      for (std::size_t i = 0; i < kept.verdicts.size(); ++i) {
        const auto row = static_cast<NodeIndex>(i);
        if (kept.verdicts[row] == kVerdictOk) {
          rows_.push_back(row);
        } else {
          order.rows.Remove(row);
        }
      }
    }
    PutRows(cycle, rows_);
  });
  // If a plugin cannot mark the rows, it is called for all of them instead.
  if (!failed.IsSuccess()) order.cycles_to_wait = kCyclesToWait;
  order.version = cycle.nodes().version();
  if (kept.respects_nominations) order.nominated_version = cycle.request.nominated->version();
  if (order.cycles_to_wait == 0) return true;
  order.rows.Reset(0);
  order.rebuild = 0;
  return false;
}

void RowOrders::PutRows(EvaluationCycle& cycle, std::span<const NodeIndex> rows) {
  const KeptEvaluation& kept = *cycle.kept;
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const std::size_t groups_max = std::max(kGroupsMin, cycle.nodes().row_count() / kRowsPerGroup);
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsAtOnce) {
    const auto some = rows.subspan(begin, std::min(kRowsAtOnce, rows.size() - begin));
    row_marks_.resize(some.size() * marks_width_);
    std::size_t offset = 0;
    for (std::size_t g = 0; g < groupers_->size(); ++g) {
      if (marks_[g].width == 0) continue;
      (*groupers_)[g]->MarkRows(for_plugins, cycle.pod(), mark_scope_, some, std::span(row_marks_).subspan(offset),
                                marks_width_);
      offset += marks_[g].width;
    }
    for (const ScoreColumn& column : kept.columns) {
      if (column.is_zero) continue;
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto raw = static_cast<std::uint64_t>(column.raw[some[i]]);
        row_marks_[i * marks_width_ + offset] = static_cast<std::uint32_t>(raw);
        row_marks_[i * marks_width_ + offset + 1] = static_cast<std::uint32_t>(raw >> 32);
      }
      offset += kMarksPerScore;
    }
    std::span<const std::uint32_t> left(row_marks_);
    for (const NodeIndex row : some) {
      order_->rows.Put(row, kept.fixed[row], left.first(marks_width_));
      left = left.subspan(marks_width_);
    }
    if (order_->rows.groups().size() > groups_max) {
      order_->cycles_to_wait = kCyclesToWait;
      return;
    }
  }
}

}  // namespace berth::runtime
