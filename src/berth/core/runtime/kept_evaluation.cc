#include "berth/core/runtime/kept_evaluation.h"

#include <algorithm>
#include <utility>

#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::kNodeScoreMax;
using framework::kNoRawScore;
using framework::Normalization;

RawRange RawRangeOf(Normalization normalization, std::span<const std::int64_t> raw) {
  if (normalization == Normalization::kNone || raw.empty()) return {};
  if (normalization != Normalization::kLowestFirst) return {0, std::max(std::int64_t{0}, MinMaxOf(raw).max)};
  RawRange range{kNoRawScore, 0};
  for (const std::int64_t value : raw) {
    range.min = std::min(range.min, value);
    if (value < kNoRawScore) range.max = std::max(range.max, value);
  }
  return range;
}

std::int64_t Normalized(Normalization normalization, std::int64_t raw, const RawRange& range) {
  switch (normalization) {
    case Normalization::kLowestFirst:
      if (raw <= range.min) return kNodeScoreMax;
      if (raw >= kNoRawScore) return 0;
      // From 1 for the highest to 99.
      return 1 + (range.max - raw) * (kNodeScoreMax - 2) / (range.max - range.min);
    case Normalization::kMax:
    case Normalization::kMaxReverse: break;
    case Normalization::kNone:
    case Normalization::kCustom: return raw;
  }
  const std::int64_t share =
      range.max == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) * kNodeScoreMax) / range.max;
  return normalization == Normalization::kMax ? share : framework::WrappingSub(kNodeScoreMax, share);
}

void KeptEvaluation::Clear() {
  KeptEvaluation empty;
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

std::size_t KeptEvaluation::Bytes() const {
  return sizeof(*this) + verdicts.capacity() * sizeof(verdicts[0]) +
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
