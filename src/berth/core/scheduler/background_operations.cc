// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/background_operations.h"

#include <utility>

#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"

namespace berth::scheduler {

void BackgroundOperations::Start(framework::Operation&& operation, Time now) {
  if (const framework::Status wrong = framework::CheckOperation(operation); !wrong.IsSuccess()) {
    log::Warning("scheduler", "A plugin wants what cannot be done", {{"error", wrong.Message()}});
    return;
  }
  if (operation.is_done()) return;
  OperationStep step;
  const std::uint64_t number = outputs_.NewOperation();
  runner_.Begin(step, std::move(operation), number, now);
  under_way_.emplace(number, std::move(step));
}

bool BackgroundOperations::StepEnded(std::uint64_t number, const framework::StepResult& result) {
  if (under_way_.empty()) return false;
  auto node = under_way_.extract(number);
  if (node.empty()) return false;
  OperationStep step = std::move(node.mapped());
  outputs_.SetAddsSequels(!step.writes.empty());
  GoOn(std::move(step), result);
  outputs_.SetAddsSequels(false);
  return true;
}

void BackgroundOperations::GoOn(OperationStep&& step, const framework::StepResult& result) {
  if (step.HasNextWrite(result)) {
    ++step.next_write;
    const std::uint64_t next_number = outputs_.NewOperation();
    runner_.PostWrite(step, next_number);
    under_way_.emplace(next_number, std::move(step));
    return;
  }
  if (!step.next) {
    if (result.error) log::Warning("scheduler", "A background write failed", {{"error", result.error->message}});
    if (!result.status.IsSuccess())
      log::Warning("scheduler", "Background work failed", {{"error", result.status.Message()}});
    return;
  }
  Start(runtime::GuardedOperation([&] { return step.next(result); }), result.now);
}

}  // namespace berth::scheduler
