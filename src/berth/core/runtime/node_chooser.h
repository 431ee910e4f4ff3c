// SPDX-License-Identifier: Apache-2.0
// NodeChooser: a method of finding the best node for a pod. The Evaluator tries its choosers in order, the cheapest
// first, until one answers; all of them find an equally good node. The scan (scan_chooser.h) always answers and is the
// specification of the others. Within turns only.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

struct VerdictCounts {
  std::vector<std::size_t> by_verdict;  // nodes by verdict, an index into the class's StatusTable
  std::size_t absent = 0;               // nodes that were not filtered
};

class NodeChooser {
 public:
  virtual ~NodeChooser() = default;
  virtual std::string_view Name() const = 0;

  // Writes a node, a refusal or an error into cycle.outcome. Returns false if this method does not apply in this cycle;
  // the next chooser then overwrites the outcome.
  virtual bool Choose(EvaluationCycle& cycle) = 0;

  // The filters' verdict on a row in the last cycle in which Choose() returned true; success if the row is feasible.
  virtual framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const = 0;
  // Counts the verdicts of all rows of that cycle. `counts` must be empty.
  virtual void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const = 0;

  // Number of structures that it keeps for later pods.
  virtual std::size_t kept_count() const { return 0; }
  // To be called between cycles every few minutes: drops what was not used since the last call.
  virtual void DropIdle() {}
};

}  // namespace berth::runtime
