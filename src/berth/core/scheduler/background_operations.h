// SPDX-License-Identifier: Apache-2.0
// BackgroundOperations: operations that no pod's binding cycle waits for, started by PostBind plugins, by preemption
// and by other plugins through their handle. Within turns only. It never touches cache or queue: an operation's
// continuation handles its outcome.
#pragma once

#include <cstddef>
#include <cstdint>

#include <absl/container/flat_hash_map.h>

#include "berth/base/time.h"
#include "berth/core/scheduler/operation_runner.h"
#include "berth/core/scheduler/outputs.h"
#include "berth/framework/operation.h"

namespace berth::scheduler {

class BackgroundOperations {
 public:
  // `outputs` and `runner` must outlive it.
  BackgroundOperations(Outputs& outputs, OperationRunner& runner) : outputs_(outputs), runner_(runner) {}

  // An operation that cannot be carried out is logged and dropped.
  void Start(framework::Operation&& operation, Time now);

  // A step has ended, at result.now. Returns false when `number` is not one of these operations.
  bool StepEnded(std::uint64_t number, const framework::StepResult& result);

  bool empty() const { return under_way_.empty(); }
  std::size_t size() const { return under_way_.size(); }

 private:
  void GoOn(OperationStep&& step, const framework::StepResult& result);

  Outputs& outputs_;
  OperationRunner& runner_;
  // By number. The callers bound their number: each pod that preempts has at most one.
  absl::flat_hash_map<std::uint64_t, OperationStep> under_way_;
};

}  // namespace berth::scheduler
