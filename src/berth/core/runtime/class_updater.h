// SPDX-License-Identifier: Apache-2.0
// ClassUpdater: updates the kept results of a class for the current node table. This is memoisation with a change log:
// the table lists the rows that changed since the class was last evaluated, and only these are evaluated again. All
// rows are evaluated if the log does not reach back, or if a plugin that depends on the whole cluster may have changed
// its answers. Within turns only. docs/adr/0007-choosing-a-node.md lists the choosers that use it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

class ClassUpdater {
 public:
  // To be called before the choosers. Decides whether the class's verdicts include the nominations of this cycle: they
  // do if every active filter is kept and no active plugin has AddPod and RemovePod.
  void PlanNominations(EvaluationCycle& cycle);

  // Decides what the class keeps, in its first cycle. Returns false when a PreScore plugin fails; no scores are kept
  // then.
  bool Plan(EvaluationCycle& cycle);

  // Updates cycle.kept, once in a cycle. When a plugin fails, the results are dropped, and the next pod starts without
  // any.
  void Update(EvaluationCycle& cycle);

 private:
  // Rows are evaluated by all plugins in chunks of this size, so that the chunk's data stays in the CPU's caches.
  static constexpr std::size_t kRowsAtOnce = 4096;

  void KeepRows(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);
  bool KeepScores(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);
  void AddToFixed(KeptEvaluation& kept, std::span<const framework::NodeIndex> rows, std::int64_t weight) const;

  std::uint64_t rebuild_count_ = 0;  // number of full evaluations
  // Scratch.
  std::vector<framework::NodeIndex> changed_, rows_, live_, feasible_;
  std::vector<std::int64_t> scores_;
};

// Whether the kept verdicts and scores are complete for this cycle, so that only plugins whose answers are not kept
// have to be called. Only after Update().
bool IsKeptComplete(const EvaluationCycle& cycle);

}  // namespace berth::runtime
