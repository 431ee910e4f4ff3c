// SPDX-License-Identifier: Apache-2.0
// OperationRunner: begins the steps of operations (framework/operation.h), those of binding cycles and those in the
// background, and keeps the operations that wait for a time. Within turns only. It does not know whose operation it
// is: whoever began a step gets its outcome and says what follows.
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
  // A write is moved out when it is posted, but for bindings, which may have to be posted again.
  std::vector<framework::ApiWrite> writes;
  std::size_t next_write = 0;  // the one that is under way
  framework::Operation::Next next;
  // Its only write is the binding that follows from the pod itself: moved out as well, and made anew if need be.
  bool is_plain_binding = false;

  // Whether the write under way was not the last one and the next may follow.
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
  // Posts the step's write `next_write`.
  void PostWrite(OperationStep& step, std::uint64_t number);

  // The operation that has waited longest past its time, of those numbered below `number_end`; nullopt: none is due.
  std::optional<std::uint64_t> TakeDue(Time now, std::uint64_t number_end);
  std::optional<Time> NextWake() const;

 private:
  Outputs& outputs_;
  std::set<std::pair<Time, std::uint64_t>> waiting_;  // until when, the operation's number
};

}  // namespace berth::scheduler
