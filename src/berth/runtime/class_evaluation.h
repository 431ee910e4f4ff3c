// ClassEvaluation: what one pod class found out about every node, kept while it holds. Rows that changed are evaluated
// again; the best total is found from the maxima of blocks of rows instead of a scan. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::runtime {

// The verdict of a row that holds no node.
inline constexpr framework::VerdictId kVerdictNoNode = UINT32_MAX;
inline constexpr std::int64_t kNoTotal = INT64_MIN;

// One score plugin's raw scores, where they are kept apart: because they are normalised, rest on the whole cluster, or
// because somebody wants to see them.
struct ScoreColumn {
  std::size_t score = 0;  // index into ProfilePlugins::score
  framework::Normalization normalization = framework::Normalization::kNone;
  bool is_cluster = false;
  std::int64_t weight = 1;
  std::vector<std::int64_t> raw;
  // Of the feasible rows, for normalisation: the largest raw score and how many have it.
  std::int64_t max = 0;
  std::size_t count_at_max = 0;
};

// Raw scores from 0 to this one are normalised without overflow, and to 0..100.
inline constexpr std::int64_t kRawScoreMax = INT64_MAX / framework::kNodeScoreMax;

// DefaultNormalizeScore for one score. Scores that are too large wrap around, as Go's do.
inline std::int64_t Normalized(framework::Normalization normalization, std::int64_t raw, std::int64_t max) {
  using framework::Normalization;
  if (normalization != Normalization::kMax && normalization != Normalization::kMaxReverse) return raw;
  const std::int64_t share =
      max == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) * framework::kNodeScoreMax) / max;
  return normalization == Normalization::kMax ? share : framework::WrappingSub(framework::kNodeScoreMax, share);
}

class ClassEvaluation {
 public:
  // From PreFilter and PreScore plugins whose answer rests on the class alone.
  framework::CycleState state;
  std::vector<std::optional<framework::PreFilterResult>> pre_filter;  // by plugin
  std::vector<std::optional<framework::Status>> pre_score;            // by plugin

  framework::StatusTable statuses;
  std::vector<framework::VerdictId> verdicts;  // of the kept filters, by row
  std::vector<std::int64_t> fixed;             // sum of weighted scores that need no normalisation, by row
  std::vector<ScoreColumn> columns;
  std::vector<std::int64_t> totals;  // fixed and columns together; kNoTotal where not feasible
  std::size_t feasible_count = 0;
  std::vector<std::uint32_t> verdict_counts;  // rows by verdict, kVerdictNoNode left out
  bool has_plan = false;                      // pre_score, columns and is_fixed_score are set
  std::vector<bool> is_fixed_score;           // by score plugin: summed up in `fixed`
  bool needs_cluster = false;                 // a kept filter or score rests on the whole cluster

  std::uint64_t version = 0;  // of the node table when last brought up to date; 0: never
  std::uint64_t nodes_version = 0;

  void Resize(std::size_t row_count);
  std::size_t Bytes() const;

  // The rows leave the sums, before their verdicts and scores change.
  void RemoveFromMaxima(std::span<const framework::NodeIndex> rows);
  // ... and come back with what they have now. Brings totals and block maxima up to date.
  void AddToMaxima(std::span<const framework::NodeIndex> rows);
  // Everything anew: counts, maxima and totals, from verdicts and scores.
  void Rebuild();

  struct Best {
    std::int64_t total = kNoTotal;
    std::size_t count = 0;
  };
  Best FindBest() const;
  // The nth of the rows whose total is best.total, ascending; n below best.count.
  framework::NodeIndex NthBest(const Best& best, std::size_t n) const;

 private:
  static constexpr std::size_t kBlockRows = 64;

  void RebuildTotals();
  void Count(framework::VerdictId verdict, int sign);
  void UpdateTotal(framework::NodeIndex row);
  void UpdateBlock(std::size_t block);
  bool RecountMaximum(ScoreColumn& column);

  std::vector<std::int64_t> block_best_;
  std::vector<std::uint32_t> block_count_;
};

}  // namespace berth::runtime
