// SPDX-License-Identifier: Apache-2.0
// KeptTotalsChooser: finds the best node from the class's kept totals, in one vectorised pass over two columns without
// calling any plugin: class reuse (class_updater.h, memoisation with a change log) has all answers. It is tried when
// the class has no order of rows, mostly for its first pod. It answers if no plugin has to be called in this cycle and
// no raw score needs normalisation.
//
// Measured with berth-bench at 5,000 nodes, CPU microseconds per pod with and without it: `basic` without groups 34 and
// 60, `unique` without blocks 135 and 163; no difference where groups and blocks answer
// (docs/adr/0007-choosing-a-node.md).
//
// Within turns only.
#pragma once

#include <string_view>

#include "berth/core/runtime/class_updater.h"
#include "berth/core/runtime/node_chooser.h"

namespace berth::runtime {

class KeptTotalsChooser final : public NodeChooser {
 public:
  // `updater` must outlive it.
  explicit KeptTotalsChooser(ClassUpdater& updater) : updater_(updater) {}

  std::string_view Name() const override { return "kept totals"; }
  bool Choose(EvaluationCycle& cycle) override;
  framework::Status StatusOf(const EvaluationCycle& cycle, framework::NodeIndex row) const override;
  void CountVerdicts(const EvaluationCycle& cycle, VerdictCounts& counts) const override;

 private:
  ClassUpdater& updater_;
};

}  // namespace berth::runtime
