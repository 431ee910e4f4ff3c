// Operations that run beside scheduling, and what plugins ask of the core through their handle.
#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::ApiWrite;
using framework::Operation;
using framework::PodInfo;

namespace {

// What a plugin asks for beside this is a slip: a delay that time cannot be added to, or that ends before it begins.
constexpr Duration kDelayMax = std::chrono::hours(24);

}  // namespace

// Begins the operation's first step; its outcome comes back under `number`.
void Scheduler::EmitStep(Step& step, Operation&& operation, std::uint64_t number) {
  step.writes = std::move(operation.writes);
  step.next_write = 0;
  step.next = std::move(operation.next);
  if (operation.work) {
    outputs_.emplace_back(Work{number, std::move(operation.work)});
  } else if (!step.writes.empty()) {
    EmitWrite(step, number);
  } else {
    timers_.emplace(now_ + std::clamp(operation.delay, Duration{0}, kDelayMax), number);
  }
}

void Scheduler::EmitWrite(Step& step, std::uint64_t number) {
  ApiWrite& write = step.writes[step.next_write];
  if (std::holds_alternative<framework::BindWrite>(write) && !step.is_plain_binding) {
    outputs_.emplace_back(Write{number, write});
  } else {
    outputs_.emplace_back(std::in_place_type<Write>, number, std::move(write));
  }
}

void Scheduler::StartBackground(Operation&& operation) {
  if (const framework::Status wrong = framework::CheckOperation(operation); !wrong.IsSuccess()) {
    log::Warning("scheduler", "A plugin wants what cannot be done", {{"error", wrong.Message()}});
    return;
  }
  if (operation.is_done()) return;
  Step step;
  const std::uint64_t number = next_operation_++;
  EmitStep(step, std::move(operation), number);
  background_.emplace(number, std::move(step));
}

bool Scheduler::BackgroundEnded(std::uint64_t operation, const framework::StepResult& result) {
  if (background_.empty()) return false;
  auto node = background_.extract(operation);
  if (node.empty()) return false;
  Step step = std::move(node.mapped());
  if (!result.error && result.status.IsSuccess() && step.next_write + 1 < step.writes.size()) {
    ++step.next_write;
    const std::uint64_t number = next_operation_++;
    EmitWrite(step, number);
    background_.emplace(number, std::move(step));
    return true;
  }
  if (!step.next) {
    if (result.error) log::Warning("scheduler", "A background write failed", {{"error", result.error->message}});
    if (!result.status.IsSuccess())
      log::Warning("scheduler", "Background work failed", {{"error", result.status.Message()}});
    return true;
  }
  StartBackground(runtime::GuardedOperation([&] { return step.next(result); }));
  return true;
}

void Scheduler::ClearNomination(const PodInfo& pod) {
  queue_->nominator().DeleteNominated(pod.uid);
  framework::PodStatusWrite write;
  write.pod = {pod.namespace_name(), pod.name, pod.uid, pod.resource_version};
  write.has_nomination = true;
  outputs_.emplace_back(Write{next_operation_++, std::move(write)});
}

// What plugins began when they were made.
void Scheduler::StartEarly() {
  for (Operation& operation : std::exchange(handle_.early_operations_, {})) StartBackground(std::move(operation));
  for (framework::PodEvent& event : std::exchange(handle_.early_events_, {})) outputs_.emplace_back(std::move(event));
}

void CoreHandle::Start(Operation operation) {
  if (scheduler_ != nullptr) {
    scheduler_->StartBackground(std::move(operation));
  } else if (early_operations_.size() < kEarlyMax) {
    early_operations_.push_back(std::move(operation));
  }
}

void CoreHandle::Emit(framework::PodEvent event) {
  if (scheduler_ != nullptr) {
    scheduler_->outputs_.emplace_back(std::move(event));
  } else if (early_events_.size() < kEarlyMax) {
    early_events_.push_back(std::move(event));
  }
}

std::vector<framework::PodInfoPtr> CoreHandle::NominatedPods(std::string_view node_name) const {
  if (scheduler_ == nullptr) return {};
  const auto pods = scheduler_->queue_->nominator().PodsForNode(node_name);
  return {pods.begin(), pods.end()};
}

const framework::NodeTable* CoreHandle::node_table() const {
  return scheduler_ == nullptr ? nullptr : &scheduler_->cache_.nodes();
}

const framework::NominatedRows* CoreHandle::nominated_rows() const {
  return scheduler_ == nullptr ? nullptr : &scheduler_->nominations_.rows();
}

framework::PodInfoPtr CoreHandle::FindAssignedPod(std::string_view uid) const {
  const framework::PodInfoPtr* pod = scheduler_ == nullptr ? nullptr : scheduler_->cache_.FindPod(uid);
  return pod == nullptr ? nullptr : *pod;
}

void CoreHandle::ClearNomination(const PodInfo& pod) {
  if (scheduler_ != nullptr) scheduler_->ClearNomination(pod);
}

bool CoreHandle::CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) {
  return scheduler_ != nullptr && scheduler_->CancelBinding(uid, plugin, message);
}

void CoreHandle::Activate(std::string_view uid) {
  if (scheduler_ == nullptr) return;
  const std::string uids[] = {std::string(uid)};
  scheduler_->queue_->Activate(uids, scheduler_->now_);
}

}  // namespace berth::scheduler
