// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/kept_evaluation.h"

#include <utility>

#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

void KeptEvaluation::Clear() {
  KeptEvaluation empty;
  empty.pre_filter = std::move(pre_filter);
  empty.pre_filter.clear();
  empty.is_pre_filter_skipped = std::move(is_pre_filter_skipped);
  empty.pre_score = std::move(pre_score);
  empty.pre_score.clear();
  empty.is_fixed_score = std::move(is_fixed_score);
  empty.verdicts = std::move(verdicts);
  empty.fixed = std::move(fixed);
  empty.verdict_counts = std::move(verdict_counts);
  empty.verdict_counts.clear();
  empty.spare = std::move(spare);
  for (ScoreColumn& column : columns) empty.spare.push_back(std::move(column.raw));
  *this = std::move(empty);
}

void KeptEvaluation::Resize(std::size_t row_count) {
  verdicts.resize(row_count, kVerdictNoNode);
  fixed.resize(row_count, 0);
  for (ScoreColumn& column : columns) column.raw.resize(row_count, 0);
}

bool KeptEvaluation::HasError() const {
  for (framework::VerdictId id = 1; id < verdict_counts.size(); ++id) {
    if (verdict_counts[id] > 0 && !statuses.Get(id).IsRejected()) return true;
  }
  return false;
}

std::size_t KeptEvaluation::Bytes() const {
  std::size_t reason_bytes = 0;
  for (framework::VerdictId id = 1; id < statuses.size(); ++id) {
    for (const std::string& reason : statuses.Get(id).reasons()) reason_bytes += sizeof(reason) + reason.capacity();
  }
  return sizeof(*this) + reason_bytes + verdicts.capacity() * sizeof(verdicts[0]) +
         (1 + columns.size()) * fixed.capacity() * sizeof(fixed[0]);
}

void KeptEvaluation::Count(framework::VerdictId verdict, int sign) {
  if (verdict == kVerdictNoNode) return;
  if (verdict >= verdict_counts.size()) verdict_counts.resize(verdict + 1, 0);
  verdict_counts[verdict] += static_cast<std::uint32_t>(sign);
  if (verdict == framework::kVerdictOk) feasible_count += static_cast<std::size_t>(sign);
}

void KeptEvaluation::Recount() {
  verdict_counts.clear();
  feasible_count = CountOf(verdicts, framework::kVerdictOk);
  if (feasible_count == verdicts.size()) {
    verdict_counts.assign(1, static_cast<std::uint32_t>(feasible_count));
    return;
  }
  feasible_count = 0;
  for (const framework::VerdictId verdict : verdicts) Count(verdict, +1);
}

}  // namespace berth::runtime
