// SPDX-License-Identifier: Apache-2.0
// NodeChooser: one way of finding the best node for a pod. The Evaluator asks its choosers in turn, the cheapest first;
// the first that can answer does, and all of them would find an equally good node. The scan (scan_chooser.h) can always
// answer and is the specification of the others. Within turns only.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

struct VerdictCounts {
  std::vector<std::size_t> by_verdict;  // nodes by verdict, as the class's StatusTable has them
  std::size_t absent = 0;               // nodes that no filter was asked about
};

class NodeChooser {
 public:
  virtual ~NodeChooser() = default;
  virtual std::string_view Name() const = 0;

  // Finds the node, that there is none, or an error, and puts it into cycle.outcome. False: this way cannot tell in
  // this cycle; another chooser may then write the outcome as if this one had not been asked.
  virtual bool Choose(EvaluationCycle& cycle) = 0;

  // Of the last cycle that it chose in: what the filters said of a row; success for a feasible one.
  virtual framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const = 0;
  // The same of all rows. `counts` is empty before.
  virtual void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const = 0;

  // How many structures it keeps for later pods.
  virtual std::size_t kept_count() const { return 0; }
  // Between cycles, when minutes have gone by: drops what was not used since the last call.
  virtual void DropIdle() {}
};

}  // namespace berth::runtime
