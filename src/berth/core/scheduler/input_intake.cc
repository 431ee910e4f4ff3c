// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/input_intake.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/base/log.h"
#include "berth/core/queue/large_pods.h"
#include "berth/core/queue/update_events.h"
#include "berth/core/scheduler/event_log.h"
#include "berth/core/scheduler/nomination_moves.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/object_kinds.h"

namespace berth::scheduler {

using framework::ClusterEvent;
using framework::EventResource;
using framework::PodInfo;
using framework::PodInfoPtr;
namespace action = framework::action;

namespace {

constexpr ClusterEvent kAssignedPodUpdate{EventResource::kAssignedPod, action::kUpdate};

// The resource of the events for this kind; nullopt: there are no events for it.
std::optional<EventResource> EventResourceOf(framework::ObjectKind kind) {
  using enum framework::ObjectKind;
  switch (kind) {
    case kPersistentVolume: return EventResource::kPersistentVolume;
    case kPersistentVolumeClaim: return EventResource::kPersistentVolumeClaim;
    case kStorageClass: return EventResource::kStorageClass;
    case kCsiNode: return EventResource::kCsiNode;
    case kCsiDriver: return EventResource::kCsiDriver;
    case kCsiStorageCapacity: return EventResource::kCsiStorageCapacity;
    case kVolumeAttachment: return EventResource::kVolumeAttachment;
    case kResourceSlice:
    // A rule changes the devices that it selects, so plugins see it as a change of their slices.
    case kDeviceTaintRule: return EventResource::kResourceSlice;
    case kDeviceClass: return EventResource::kDeviceClass;
    case kResourceClaim: return EventResource::kResourceClaim;
    case kPodGroup: return EventResource::kPodGroup;
    case kCompositePodGroup: return EventResource::kCompositePodGroup;
    case kNamespace: return EventResource::kNamespace;
    case kService: return EventResource::kService;
    case kReplicationController: return EventResource::kReplicationController;
    case kReplicaSet: return EventResource::kReplicaSet;
    case kStatefulSet: return EventResource::kStatefulSet;
    case kPodDisruptionBudget: return std::nullopt;
  }
  return std::nullopt;
}

// The status of a rule only counts evictions, which other components carry out.
bool ChangesNothing(const framework::AnyObject& before, const framework::AnyObject& after) {
  const auto* const from = std::get_if<std::shared_ptr<const api::DeviceTaintRule>>(&before);
  const auto* const to = std::get_if<std::shared_ptr<const api::DeviceTaintRule>>(&after);
  return from != nullptr && to != nullptr && *from != nullptr && *to != nullptr &&
         (*from)->selector == (*to)->selector && (*from)->taint == (*to)->taint;
}

// The event for a change of an object. Any change of a device taint rule is an update of existing slices.
framework::ActionType ActionOf(framework::ObjectKind kind, framework::ActionType of_object) {
  return kind == framework::ObjectKind::kDeviceTaintRule ? action::kUpdate : of_object;
}

}  // namespace

void InputIntake::Take(Input&& input) {
  began_ = state_.stopwatch.latest();
  std::visit([this](auto&& value) { On(std::move(value)); }, std::move(input));
}

// Called when an event has been handled completely, for the metrics.
void InputIntake::Handled(const ClusterEvent& event) {
  state_.metrics.ObserveEvent(event, state_.stopwatch.Read() - began_);
}

// Operations that begin during this call have to wait for the next one, so that an operation that continues forever
// cannot block the rest.
void InputIntake::TakeTime() {
  const std::uint64_t end = state_.outputs.next_operation();
  while (const std::optional<std::uint64_t> operation = state_.operations.TakeDue(state_.now, end)) {
    const framework::StepResult result{.now = state_.now, .wall_now = state_.WallNow()};
    if (!background_.StepEnded(*operation, result)) bindings_.StepEnded(*operation, result);
  }
  ReportUnclaimed();
}

// --- Pods ---

void InputIntake::On(PodSet&& input) {
  PodInfoPtr pod = state_.MakePodInfo(*input.pod);
  if (state_.bookings != nullptr) state_.bookings->NotePod(*input.pod);
  if (pod->is_terminal) {
    RemovePod(pod->uid);
    return;
  }
  const Expected<PodGroupIntake::Naming> naming = groups_.Name(*input.pod, *pod);
  if (!naming.ok()) {
    // A pod that already runs still counts on its node.
    if (pod->node_name.empty() && state_.options.pods.Serves(pod->namespace_name())) {
      ReportUnusable(*pod, naming.error().message);
      return;
    }
  } else {
    TakeNamed(naming->change);
    if (naming->is_new) pod = state_.MakePodInfo(*input.pod);
  }
  if (!pod->node_name.empty()) {
    SetAssignedPod(pod);
  } else {
    SetPendingPod(pod);
    if (state_.bookings != nullptr) state_.bookings->PodWaits(pod->uid);
  }
}

void InputIntake::SetAssignedPod(const PodInfoPtr& pod) {
  unclaimed_.Forget(pod->uid);
  using PodChange = cache::Cache::PodChange;
  scheduling_.PodChanged(pod);
  PodInfoPtr old;
  const PodChange change = state_.cache.SetPod(pod, &old);
  LogPodEvent(state_, change == PodChange::kUpdated ? ObjectEvent::kUpdate : ObjectEvent::kAdd, *pod, true);
  if (change == PodChange::kUpdated) {
    for (const ClusterEvent& event : queue::PodUpdateEvents(*old, *pod)) {
      state_.queue.Move(event, {.old_pod = old, .new_pod = pod}, state_.now);
      if (event != kAssignedPodUpdate) Handled(event);
    }
    Handled(kAssignedPodUpdate);
    if (state_.bookings != nullptr && old->pod_class->requests != pod->pod_class->requests)
      state_.bookings->NodeChanged(pod->node_name);
    return;
  }
  if (change == PodChange::kMoved) {
    log::Warning("scheduler", "Pod runs on another node than assumed",
                 {{"pod", pod->Key()}, {"assumed", old->node_name}, {"node", pod->node_name}});
    state_.queue.Move({EventResource::kAssignedPod, action::kDelete}, {.old_pod = old}, state_.now);
  }
  // An assumed pod is not in the queue. It was popped, and goes back only when the assumption ends.
  EndNomination(state_, *pod);
  if (change != PodChange::kConfirmed) state_.queue.Delete(pod->uid, state_.now);
  constexpr ClusterEvent kAdded{EventResource::kAssignedPod, action::kAdd};
  state_.queue.Move(kAdded, {.new_pod = pod}, state_.now);
  if (change != PodChange::kAdded) bindings_.PodAssigned(pod);
  if (state_.bookings != nullptr) {
    state_.bookings->PodAssigned(*pod);
    if (change != PodChange::kConfirmed) state_.bookings->NodeChanged(pod->node_name);
  }
  Handled(kAdded);
}

void InputIntake::SetPendingPod(const PodInfoPtr& pod) {
  if (state_.cache.FindPod(pod->uid) != nullptr) {
    bindings_.PodStillPending(pod);
    return;
  }
  scheduling_.PodChanged(pod);
  const bool is_ours = state_.profiles.Find(*pod) != nullptr;
  if (!is_ours || !state_.options.pods.Serves(pod->namespace_name())) {
    if (!is_ours) unclaimed_.Note(pod, state_.now);
    groups_.PodGone(pod->uid);
    const std::string nominated_node(state_.queue.nominator().NominatedNode(pod->uid));
    state_.queue.Delete(pod->uid, state_.now);
    if (!nominated_node.empty()) MoveForNomination(state_, *pod, nominated_node);
    return;
  }
  if (!state_.options.pods.set_aside.empty() && state_.options.pods.set_aside.contains(pod->uid)) {
    ReportSetAside(*pod);
    return;
  }
  groups_.PodPending(pod);
  const PodInfoPtr* const waiting = state_.queue.FindWaiting(pod->uid);
  if (waiting == nullptr) {
    LogPodEvent(state_, ObjectEvent::kAdd, *pod, false);
    state_.queue.Add(pod, state_.now);
    groups_.PodAdded(pod);
    Handled({EventResource::kUnschedulablePod, action::kAdd});
    return;
  }
  const PodInfoPtr old = *waiting;
  if (old->resource_version == pod->resource_version && !pod->resource_version.empty()) return;
  LogPodEvent(state_, ObjectEvent::kUpdate, *pod, false);
  state_.queue.Update(old, pod, state_.now);
  RepeatOverwrittenStatus(state_, *old, *pod);
  if (!old->nominated_node_name.empty() && old->nominated_node_name != pod->nominated_node_name) {
    MoveForNomination(state_, *old, old->nominated_node_name);
    queue::LastWrittenStatus* const last_written = state_.queue.FindLastWritten(pod->uid);
    if (last_written != nullptr && std::exchange(last_written->has_lost_nomination, false)) {
      const std::string uids[] = {pod->uid};
      state_.queue.Activate(uids, state_.now);
    }
  }
  Handled({EventResource::kUnschedulablePod, action::kUpdate});
}

void InputIntake::ReportSetAside(const framework::PodInfo& pod) {
  const bool is_news = ReportUnusable(
      pod,
      "the scheduler failed while it worked on this pod, and began anew without it; it is tried again after the next "
      "start (the scheduler's log says what failed)");
  if (is_news) {
    log::ErrorLine("scheduler", "A pod is set aside: an earlier failure happened while it was worked on",
                   {{"pod", pod.Key()}});
  }
}

// For a pod that cannot go into the queue: writes a condition and an event, unless the condition is there already.
// Returns whether it wrote them.
bool InputIntake::ReportUnusable(const framework::PodInfo& pod, const std::string& why) {
  if (!WriteSchedulerError(state_, pod, why)) return false;
  state_.outputs.AddEvent(state_.profiles.Find(pod)->scheduler_name(), pod, true, "FailedScheduling", "Scheduling",
                          why);
  return true;
}

void InputIntake::ReportUnclaimed() {
  for (UnclaimedPods::Notice& each : unclaimed_.TakeDue(state_.now)) {
    state_.outputs.AddEvent(each.nearest, *each.pod, true, "UnknownScheduler", "Scheduling", std::move(each.note));
  }
}

void InputIntake::On(PodGone&& input) { RemovePod(input.uid); }

// Applies a pod's change to the named group of its pod group namer.
void InputIntake::TakeNamed(const std::optional<cache::NamedPodGroups::Change>& change) {
  if (!change) return;
  if (change->object) {
    On(ObjectSet{change->object});
  } else {
    On(ObjectGone{framework::ObjectKind::kPodGroup, change->group.Text()});
  }
}

void InputIntake::RemovePod(std::string_view uid) {
  TakePodOut(uid);
  if (state_.bookings != nullptr) state_.bookings->PodGone(uid);
  TakeNamed(state_.named_groups.Forget(uid));
}

// The pod was deleted or has ended.
void InputIntake::TakePodOut(std::string_view uid) {
  unclaimed_.Forget(uid);
  scheduling_.PodDeleted(uid);
  bindings_.PodDeleted(uid);
  groups_.PodGone(uid);
  if (const PodInfoPtr* known = state_.cache.FindPod(uid)) {
    const PodInfoPtr pod = *known;
    RecordGone(*pod);
    LogPodEvent(state_, ObjectEvent::kDelete, *pod, true);
    state_.cache.RemovePod(uid);
    constexpr ClusterEvent kDeleted{EventResource::kAssignedPod, action::kDelete};
    state_.queue.Move(kDeleted, {.old_pod = pod}, state_.now);
    Handled(kDeleted);
    return;
  }
  // The pod may be in no queue: one that is being deleted is dropped when it is popped.
  const PodInfoPtr nominated = state_.queue.nominator().FindPod(uid);
  const std::string nominated_node(state_.queue.nominator().NominatedNode(uid));
  if (const PodInfoPtr* waiting = state_.queue.FindWaiting(uid)) {
    RecordGone(**waiting);
    LogPodEvent(state_, ObjectEvent::kDelete, **waiting, false);
  }
  state_.queue.Delete(uid, state_.now);
  if (nominated) MoveForNomination(state_, *nominated, nominated_node);
  Handled({EventResource::kUnschedulablePod, action::kDelete});
}

void InputIntake::RecordGone(const PodInfo& pod) {
  if (queue::IsLarge(*pod.pod_class)) idle_sweep_.RecordLargePod();
}

// --- Nodes and other objects ---

void InputIntake::On(NodeSet&& input) {
  const framework::NodeIndex row = state_.cache.nodes().Find(input.node->metadata.name);
  LogNodeEvent(state_, row == framework::kNoNode ? ObjectEvent::kAdd : ObjectEvent::kUpdate, input.node->metadata.name);
  if (row == framework::kNoNode) {
    state_.cache.SetNode(input.node);
    constexpr ClusterEvent kAdded{EventResource::kNode, action::kAdd};
    state_.queue.Move(kAdded, {.new_node = input.node}, state_.now);
    Handled(kAdded);
    return;
  }
  const std::shared_ptr<const api::Node> old = state_.cache.nodes().Info(row).node_ptr();
  state_.cache.SetNode(input.node);
  bool is_changed = false;
  for (const ClusterEvent& event : queue::NodeUpdateEvents(*old, *input.node)) {
    state_.queue.Move(event, {.old_node = old, .new_node = input.node}, state_.now);
    Handled(event);
    is_changed = true;
  }
  if (is_changed && state_.bookings != nullptr) state_.bookings->NodeChanged(input.node->metadata.name);
}

void InputIntake::On(NodeGone&& input) {
  const framework::NodeIndex row = state_.cache.nodes().Find(input.name);
  if (row == framework::kNoNode) return;
  LogNodeEvent(state_, ObjectEvent::kDelete, input.name);
  const framework::NodeInfo& info = state_.cache.nodes().Info(row);
  const queue::EventSource source{.old_node = info.node_ptr(),
                                  .old_node_pods = {info.pods().begin(), info.pods().end()}};
  state_.cache.RemoveNode(input.name);
  constexpr ClusterEvent kDeleted{EventResource::kNode, action::kDelete};
  state_.queue.Move(kDeleted, source, state_.now);
  // Pods nominated to the deleted node have to look for another one. No event would wake them.
  std::vector<std::string> homeless;
  for (const PodInfoPtr& pod : state_.queue.nominator().PodsForNode(input.name)) homeless.push_back(pod->uid);
  state_.queue.Activate(homeless, state_.now);
  if (state_.bookings != nullptr) state_.bookings->PodsLostNode(source.old_node_pods);
  Handled(kDeleted);
}

void InputIntake::On(ObjectSet&& input) {
  groups_.BeforeObject(input.object);
  const framework::AnyObject before = state_.objects.Set(input.object);
  groups_.AfterObject(before, input.object);
  const framework::ObjectKind kind = framework::KindOf(input.object);
  const auto resource = EventResourceOf(kind);
  if (!resource || ChangesNothing(before, input.object)) return;
  queue::EventSource source;
  if (!framework::IsNull(before)) source.old_object = before;
  source.new_object = std::move(input.object);
  const bool is_new = !source.old_object || PodGroupIntake::IsAnotherGroup(before, *source.new_object);
  const ClusterEvent event{*resource, ActionOf(kind, is_new ? action::kAdd : action::kUpdate)};
  state_.queue.Move(event, source, state_.now);
  Handled(event);
}

void InputIntake::On(ObjectGone&& input) {
  groups_.BeforeGone(input.kind, input.key);
  framework::AnyObject before = state_.objects.Remove(input.kind, input.key);
  groups_.AfterGone(before);
  const auto resource = EventResourceOf(input.kind);
  if (!resource || framework::IsNull(before)) return;
  queue::EventSource source;
  source.old_object = std::move(before);
  const ClusterEvent event{*resource, ActionOf(input.kind, action::kDelete)};
  state_.queue.Move(event, source, state_.now);
  Handled(event);
}

// --- Outcomes ---

void InputIntake::On(WriteDone&& input) {
  framework::StepResult result{std::move(input.error), framework::Status(), std::move(input.body), state_.now,
                               state_.WallNow()};
  if (!background_.StepEnded(input.operation, result)) bindings_.WriteEnded(input.operation, std::move(result));
}

void InputIntake::On(WorkDone&& input) {
  const framework::StepResult result{std::nullopt, std::move(input.status), {}, state_.now, state_.WallNow()};
  if (!background_.StepEnded(input.operation, result)) bindings_.StepEnded(input.operation, result);
}

void InputIntake::On(PodReadDone&& input) {
  if (const PodInfoPtr bound_elsewhere = bindings_.PodWasRead(std::move(input))) SetAssignedPod(bound_elsewhere);
}

void InputIntake::On(OutsideDone&& input) { outside_.TakeAnswer(std::move(input)); }

void InputIntake::On(framework::PermitDecision&& input) { bindings_.PermitDecided(input); }

void InputIntake::On(ExtenderDone&& input) {
  if (!scheduling_.TakeExtenderAnswer(input)) bindings_.TakeExtenderAnswer(std::move(input));
}

// --- Promised room ---

void InputIntake::On(BookingsKept&& input) {
  kept_rooms_.SetPodsMax(static_cast<std::size_t>(input.pods_max));
  state_.bookings = &kept_rooms_;
}

void InputIntake::On(BookingAsked&& input) {
  idle_sweep_.RecordCycle();
  kept_rooms_.Ask(std::move(input));
}

void InputIntake::On(BookingEnded&& input) { kept_rooms_.End(input); }

void InputIntake::TakeOwnWrites(std::vector<Output>& outputs) {
  for (std::vector<std::uint64_t> own = state_.bookings->TakeOwn(outputs); !own.empty();) {
    for (const std::uint64_t operation : own) Take(WriteDone{operation, std::nullopt});
    std::vector<Output> further;
    state_.outputs.TakeInto(further);
    own = state_.bookings->TakeOwn(further);
    std::move(further.begin(), further.end(), std::back_inserter(outputs));
  }
}

}  // namespace berth::scheduler
