// KeptEvaluation: what is known of every node for the pod classes of one placement, kept while it holds: verdicts and
// scores of the plugins whose answers rest on the nodes. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/runtime/totals_order.h"
#include "berth/framework/plugin.h"

namespace berth::runtime {

// The verdict of a row that holds no node.
inline constexpr framework::VerdictId kVerdictNoNode = UINT32_MAX;

// One score plugin's raw scores, which are normalised over the nodes that are feasible in a cycle.
struct ScoreColumn {
  std::size_t score = 0;  // index into ProfilePlugins::score
  framework::Normalization normalization = framework::Normalization::kNone;
  std::vector<std::int64_t> raw;
  bool is_zero = true;  // no raw score was other than 0 since all rows were last looked at
};

// What scores are normalised with: of kLowestFirst the smallest, and the largest other than kNoRawScore; of the others
// the largest, and at least 0.
struct RawRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
RawRange RawRangeOf(framework::Normalization normalization, std::span<const std::int64_t> raw);

// One score normalised. kMax and kMaxReverse: upstream's DefaultNormalizeScore; scores that are too large wrap around,
// as Go's do.
std::int64_t Normalized(framework::Normalization normalization, std::int64_t raw, const RawRange& range);

struct KeptEvaluation {
  // From PreFilter and PreScore plugins whose answer rests on the class alone.
  framework::CycleState state;
  std::vector<std::optional<framework::PreFilterResult>> pre_filter;  // by plugin
  std::vector<std::optional<framework::Status>> pre_score;            // by plugin

  framework::StatusTable statuses;
  std::vector<framework::VerdictId> verdicts;  // of the kept filters, by row
  std::vector<std::int64_t> fixed;             // sum of weighted scores that need no normalisation, by row
  std::vector<ScoreColumn> columns;
  std::vector<std::vector<std::int64_t>> spare;  // room of columns that were
  std::size_t feasible_count = 0;
  std::vector<std::uint32_t> verdict_counts;  // rows by verdict, kVerdictNoNode left out
  bool has_plan = false;                      // pre_score, columns and is_fixed_score are set
  std::vector<bool> is_fixed_score;           // by score plugin: summed up in `fixed`
  bool needs_cluster = false;                 // a kept filter or score rests on the whole cluster

  std::uint64_t epoch = 0;    // of all plugins together, when it began
  std::uint64_t version = 0;  // of the node table when last brought up to date; 0: never
  std::uint64_t nodes_version = 0;
  std::uint64_t rebuild = 0;  // which looking at all rows it was, of the evaluator's
  // The verdicts respect other pods' nominations, as of this version of them.
  bool folds_nominations = false;
  std::uint64_t nominated_version = 0;

  // Forgets everything, but not the room it took.
  void Clear();
  void Resize(std::size_t row_count);
  void Count(framework::VerdictId verdict, int sign);
  void Recount();
  std::size_t Bytes() const;
};

// The order that one pod class, or all classes of a placement, choose from.
struct KeptOrder {
  TotalsOrder order;
  std::vector<framework::GroupingPlugin::Marks> marks;  // of each plugin that groups, as the order has them
  std::uint64_t rebuild = 0;                            // of the evaluation that it follows; 0: of none yet
  std::uint64_t version = 0;                            // of the node table
  std::uint64_t nominated_version = 0;
  // Rows fell in too many groups; until then no order is tried.
  std::uint32_t cycles_to_wait = 0;

  std::size_t Bytes() const { return sizeof(*this) + order.Bytes(); }
};

}  // namespace berth::runtime
