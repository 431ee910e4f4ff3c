// SPDX-License-Identifier: Apache-2.0
// OperationRunner: begins the steps of operations (framework/operation.h), for binding cycles and in the background,
// and holds the timers of operations that wait. Within turns only. It does not know the owner of an operation: whoever
// began a step receives its outcome and continues the operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/scheduler/outputs.h"
#include "berth/framework/operation.h"

namespace berth::scheduler {

// The step of an operation that is under way: writes one by one, work on a worker thread, or a wait.
struct OperationStep {
  // A write is moved out when it is posted, except bindings, which may have to be posted again.
  std::vector<framework::ApiWrite> writes;
  std::size_t next_write = 0;  // index of the write that is under way
  framework::Operation::Next next;
  // The only write is the binding of the pod to its assumed node. It is moved out as well, and built again when it must
  // be posted again.
  bool is_plain_binding = false;

  // Whether the write under way succeeded and another one follows.
  bool HasNextWrite(const framework::StepResult& result) const {
    return !result.error && result.status.IsSuccess() && next_write + 1 < writes.size();
  }
};

class OperationRunner {
 public:
  // `outputs` must outlive it.
  explicit OperationRunner(Outputs& outputs) : outputs_(outputs) {}

  // Begins the operation's first step; its outcome comes back under `number`.
  void Begin(OperationStep& step, framework::Operation&& operation, std::uint64_t number, Time now);
  // Posts the write `next_write` of the step.
  void PostWrite(OperationStep& step, std::uint64_t number);

  // Takes the wait that is longest past, among operations numbered below `number_end`. nullopt: none is due.
  std::optional<std::uint64_t> TakeDue(Time now, std::uint64_t number_end);
  std::optional<Time> NextWake() const;

 private:
  Outputs& outputs_;
  std::set<std::pair<Time, std::uint64_t>> waiting_;  // end of the wait, number of the operation
};

}  // namespace berth::scheduler
