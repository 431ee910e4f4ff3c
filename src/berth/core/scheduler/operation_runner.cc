// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/operation_runner.h"

#include <algorithm>
#include <chrono>
#include <variant>

namespace berth::scheduler {

namespace {

// Longer delays are cut, because adding them to a time could overflow; negative ones become 0.
constexpr Duration kDelayMax = std::chrono::hours(24);

}  // namespace

void OperationRunner::Begin(OperationStep& step, framework::Operation&& operation, std::uint64_t number, Time now) {
  step.writes = std::move(operation.writes);
  step.next_write = 0;
  step.next = std::move(operation.next);
  if (operation.work) {
    outputs_.AddWork(number, std::move(operation.work));
  } else if (!step.writes.empty()) {
    PostWrite(step, number);
  } else {
    waiting_.emplace(now + std::clamp(operation.delay, Duration{0}, kDelayMax), number);
  }
}

void OperationRunner::PostWrite(OperationStep& step, std::uint64_t number) {
  framework::ApiWrite& write = step.writes[step.next_write];
  if (std::holds_alternative<framework::BindWrite>(write) && !step.is_plain_binding) {
    outputs_.AddWrite(number, write);
  } else {
    outputs_.AddWrite(number, std::move(write));
  }
}

std::optional<std::uint64_t> OperationRunner::TakeDue(Time now, std::uint64_t number_end) {
  const std::pair<Time, std::uint64_t> end{now, number_end};
  if (waiting_.empty() || !(*waiting_.begin() < end)) return std::nullopt;
  return waiting_.extract(waiting_.begin()).value().second;
}

std::optional<Time> OperationRunner::NextWake() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

}  // namespace berth::scheduler
