// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/core_handle.h"

#include "berth/base/check.h"
#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/binding_cycles.h"
#include "berth/core/scheduler/core_state.h"

namespace berth::scheduler {

using framework::PodInfoPtr;

CoreHandle::CoreHandle(std::function<void(framework::PermitDecision)> decide, framework::Metrics& metrics,
                       std::function<Expected<framework::FileText>(const std::string&)> read_file)
    : decide_(std::move(decide)), metrics_(metrics), read_file_(std::move(read_file)) {}

CoreHandle::~CoreHandle() = default;

void CoreHandle::Join(const Core& core) {
  BERTH_CHECK(!core_, "the handle has a scheduler already");
  core_.emplace(core);
}

void CoreHandle::StartEarly() {
  for (framework::Operation& operation : std::exchange(early_operations_, {})) Start(std::move(operation));
  for (framework::PodEvent& event : std::exchange(early_events_, {})) Emit(std::move(event));
}

void CoreHandle::Start(framework::Operation operation) {
  if (core_) {
    core_->background.Start(std::move(operation), core_->state.now);
  } else if (early_operations_.size() < kEarlyMax) {
    early_operations_.push_back(std::move(operation));
  }
}

void CoreHandle::Emit(framework::PodEvent event) {
  if (core_) {
    core_->state.outputs.AddEvent(std::move(event));
  } else if (early_events_.size() < kEarlyMax) {
    early_events_.push_back(std::move(event));
  }
}

const framework::NodeTable* CoreHandle::node_table() const { return core_ ? &core_->state.cache.nodes() : nullptr; }

const framework::NominatedRows* CoreHandle::nominated_rows() const {
  return core_ ? &core_->state.nominations.rows() : nullptr;
}

framework::PodGroups* CoreHandle::pod_groups() const { return core_ ? core_->state.pod_groups.get() : nullptr; }

std::vector<PodInfoPtr> CoreHandle::NominatedPods(std::string_view node_name) const {
  if (!core_) return {};
  const auto pods = core_->state.queue.nominator().PodsForNode(node_name);
  return {pods.begin(), pods.end()};
}

std::string CoreHandle::NominatedNode(std::string_view uid) const {
  return core_ ? std::string(core_->state.queue.nominator().NominatedNode(uid)) : std::string();
}

PodInfoPtr CoreHandle::FindAssignedPod(std::string_view uid) const {
  const PodInfoPtr* pod = core_ ? core_->state.cache.FindPod(uid) : nullptr;
  return pod == nullptr ? nullptr : *pod;
}

void CoreHandle::ClearNomination(const framework::PodInfo& pod) {
  if (!core_) return;
  core_->state.queue.nominator().DeleteNominated(pod.uid);
  framework::PodStatusWrite write;
  write.pod = RefOf(pod);
  write.has_nomination = true;
  Outputs& outputs = core_->state.outputs;
  outputs.AddWrite(outputs.NewOperation(), std::move(write));
  // The pod has to look for another node: at once, or when its object no longer shows the nomination.
  if (pod.nominated_node_name.empty()) return Activate(pod.uid);
  if (queue::LastWrittenStatus* const last_written = core_->state.queue.FindLastWritten(pod.uid))
    last_written->has_lost_nomination = true;
}

bool CoreHandle::CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) {
  return core_ && core_->bindings.Cancel(uid, plugin, message);
}

void CoreHandle::Activate(std::string_view uid) {
  if (!core_) return;
  const std::string uids[] = {std::string(uid)};
  core_->state.queue.Activate(uids, core_->state.now);
}

}  // namespace berth::scheduler
