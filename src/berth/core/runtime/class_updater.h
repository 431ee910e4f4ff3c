// SPDX-License-Identifier: Apache-2.0
// ClassUpdater: brings what is kept of a class up to date with the node table. Memoisation with a change log: the table
// tells which rows changed since the class was last evaluated, and only these are asked about again; all of them where
// the log does not reach back, or where a plugin that looks at the whole cluster may have changed its mind. Within
// turns only. docs/adr/0007-choosing-a-node.md says which choosers stand on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

class ClassUpdater {
 public:
  // Before the choosers: decides whether the class's verdicts respect the nominations of this cycle. They do only if
  // every active filter is kept and no active plugin has AddPod and RemovePod.
  void PlanNominations(EvaluationCycle& cycle);

  // Decides what the class keeps, when it is first met. False when a PreScore plugin fails: no scores are kept then.
  bool Plan(EvaluationCycle& cycle);

  // Brings cycle.kept up to date, once in a cycle. What plugins fail at is not kept: the next pod begins anew.
  void Update(EvaluationCycle& cycle);

 private:
  // Rows that all plugins are asked about before the next rows, so that what they read and write stays in the
  // processor's cache.
  static constexpr std::size_t kRowsAtOnce = 4096;

  void KeepRows(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);
  bool KeepScores(EvaluationCycle& cycle, std::span<const framework::NodeIndex> rows);
  void AddToFixed(KeptEvaluation& kept, std::span<const framework::NodeIndex> rows, std::int64_t weight) const;

  std::uint64_t rebuild_count_ = 0;  // how often all rows of a class were looked at
  // Scratch.
  std::vector<framework::NodeIndex> changed_, rows_, live_, feasible_;
  std::vector<std::int64_t> scores_;
};

// After Update(): whether the kept verdicts and scores are complete for this cycle, so that only plugins whose answers
// are not kept have to be asked.
bool IsKeptComplete(const EvaluationCycle& cycle);

}  // namespace berth::runtime
