// Operations that run beside scheduling, and what plugins ask of the core through their handle.
#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/runtime/guarded.h"
#include "berth/scheduler/core_handle.h"
#include "berth/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::ApiWrite;
using framework::Operation;
using framework::PodInfo;

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
    timers_.emplace(now_ + operation.delay, number);
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

void CoreHandle::Start(Operation operation) {
  BERTH_CHECK(scheduler_ != nullptr, "a plugin works before its scheduler is there");
  scheduler_->StartBackground(std::move(operation));
}

void CoreHandle::Emit(framework::PodEvent event) {
  BERTH_CHECK(scheduler_ != nullptr, "a plugin works before its scheduler is there");
  scheduler_->outputs_.emplace_back(std::move(event));
}

std::vector<framework::PodInfoPtr> CoreHandle::NominatedPods(std::string_view node_name) const {
  if (scheduler_ == nullptr) return {};
  const auto pods = scheduler_->queue_->nominator().PodsForNode(node_name);
  return {pods.begin(), pods.end()};
}

const framework::NodeTable* CoreHandle::nodes() const {
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
