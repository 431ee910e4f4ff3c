// What the API server's objects do to cache and queue (behaviour inventory 3.7, "Watch event").
#include <utility>

#include "berth/base/log.h"
#include "berth/core/queue/update_events.h"
#include "berth/core/scheduler/asking.h"
#include "berth/core/scheduler/binding.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::ClusterEvent;
using framework::EventResource;
using framework::PodInfoPtr;
namespace action = framework::action;

// Whoever asks for a pod's scheduler afterwards asks its class.
PodInfoPtr Scheduler::MakePodInfo(const api::Pod& pod) {
  const std::string_view annotated = AnnotatedScheduler(options_.pods, pod);
  if (annotated.empty()) return classes_.MakePodInfo(pod);
  api::Pod renamed = pod;
  renamed.spec.scheduler_name = annotated;
  return classes_.MakePodInfo(renamed);
}

void Scheduler::On(PodSet&& input) {
  const api::Pod& object = *input.pod;
  const PodInfoPtr pod = MakePodInfo(object);
  if (pod->is_terminal) {
    ForgetDeletedPod({object.metadata.namespace_name, object.metadata.name, object.metadata.uid});
  } else if (!pod->node_name.empty()) {
    SetAssignedPod(pod);
  } else {
    SetPendingPod(pod);
  }
}

void Scheduler::SetAssignedPod(PodInfoPtr pod) {
  NoteAskedPod(pod);
  PodInfoPtr old;
  const auto change = cache_.SetPod(pod, &old);
  if (change == cache::Cache::PodChange::kUpdated) {
    for (const ClusterEvent& event : queue::PodUpdateEvents(*old, *pod))
      queue_->Move(event, {.old_pod = old, .new_pod = pod}, now_);
    return;
  }
  if (change == cache::Cache::PodChange::kMoved) {
    log::Warning("scheduler", "Pod runs on another node than assumed",
                 {{"pod", pod->Key()}, {"assumed", old->node_name}, {"node", pod->node_name}});
  }
  // An assumed pod is in no queue: it was taken out to be decided, and is put back only when the assumption ends.
  if (change != cache::Cache::PodChange::kConfirmed) {
    queue_->Delete(pod->uid);
  } else if (!queue_->nominator().empty()) {
    queue_->nominator().DeleteNominated(pod->uid);
  }
  queue_->Move({EventResource::kAssignedPod, action::kAdd}, {.new_pod = pod}, now_);
  // The watch may be faster than the answer to the binding, or the only one of the two to arrive.
  if (bindings_.empty() || change == cache::Cache::PodChange::kAdded) return;
  const auto it = bindings_.find(pod->uid);
  if (it == bindings_.end()) return;
  Binding& binding = *it->second;
  if (binding.assumed->node_name != pod->node_name) {
    DropBinding(binding);
  } else if (binding.phase == Phase::kRead) {
    FinishBinding(binding);
  }
}

void Scheduler::SetPendingPod(PodInfoPtr pod) {
  if (cache_.FindPod(pod->uid) != nullptr) {
    const auto it = bindings_.find(pod->uid);
    // A watch that lags behind a binding of ours shows the pod without its node for a while.
    if (it == bindings_.end()) return;
    Binding& binding = *it->second;
    binding.queued.pod = pod;
    if (pod->deletion_time && binding.phase == Phase::kPermit) {
      FailBinding(binding, framework::Status::Unschedulable("pod is being deleted"), {},
                  binding.permits.front().plugin);
    }
    return;
  }
  NoteAskedPod(pod);
  if (ProfileOf(*pod) == nullptr || !options_.pods.Serves(pod->namespace_name())) {
    queue_->Delete(pod->uid);
    return;
  }
  const PodInfoPtr* const standing = queue_->FindWaiting(pod->uid);
  if (standing == nullptr) {
    queue_->Add(std::move(pod), now_);
    return;
  }
  const PodInfoPtr old = *standing;
  if (old->resource_version == pod->resource_version && !pod->resource_version.empty()) return;
  queue_->Update(old, pod, now_);
  if (!old->nominated_node_name.empty() && old->nominated_node_name != pod->nominated_node_name)
    MoveForNomination(*old, old);
}

// The room that was kept for a nominated pod is free for pods of no higher priority.
void Scheduler::MoveForNomination(const framework::PodInfo& pod, const PodInfoPtr& source) {
  queue_->Move({EventResource::kAssignedPod, action::kDelete}, {.old_pod = source}, now_, {pod.priority(), {}});
}

void Scheduler::On(PodGone&& input) { ForgetDeletedPod(input); }

void Scheduler::ForgetDeletedPod(const PodGone& gone) {
  if (asking_ && asking_->queued.pod->uid == gone.uid) CancelAsking("the pod was deleted while extenders were asked");
  if (const auto it = bindings_.find(gone.uid); it != bindings_.end()) {
    DropBinding(*it->second);
    // A confirmed pod is not assumed any more: DropBinding left it in the cache.
  }
  if (const PodInfoPtr* known = cache_.FindPod(gone.uid)) {
    const PodInfoPtr pod = *known;
    cache_.RemovePod(gone.uid);
    queue_->Move({EventResource::kAssignedPod, action::kDelete}, {.old_pod = pod}, now_);
    return;
  }
  // It may be in no queue any more: one that is being deleted is dropped when its turn comes.
  const PodInfoPtr nominated = queue_->nominator().FindPod(gone.uid);
  queue_->Delete(gone.uid);
  if (nominated) MoveForNomination(*nominated, nominated);
}

void Scheduler::On(NodeSet&& input) {
  const framework::NodeIndex row = cache_.nodes().Find(input.node->metadata.name);
  if (row == framework::kNoNode) {
    cache_.SetNode(input.node);
    queue_->Move({EventResource::kNode, action::kAdd}, {.new_node = input.node}, now_);
    return;
  }
  const std::shared_ptr<const api::Node> old = cache_.nodes().Info(row).node_ptr();
  cache_.SetNode(input.node);
  for (const ClusterEvent& event : queue::NodeUpdateEvents(*old, *input.node)) {
    queue_->Move(event, {.old_node = old, .new_node = input.node}, now_);
  }
}

namespace {

// The resource under which plugins register for events of a kind; nullopt for kinds that no event tells of.
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
    case kResourceSlice: return EventResource::kResourceSlice;
    case kDeviceClass: return EventResource::kDeviceClass;
    case kResourceClaim: return EventResource::kResourceClaim;
    case kPodDisruptionBudget:
    case kNamespace:
    case kService:
    case kReplicationController:
    case kReplicaSet:
    case kStatefulSet: return std::nullopt;
  }
  return std::nullopt;
}

bool IsNull(const framework::AnyObject& object) {
  return std::visit([](const auto& value) { return value == nullptr; }, object);
}

}  // namespace

void Scheduler::On(ObjectSet&& input) {
  const framework::AnyObject before = handle_.objects_.Set(input.object);
  const auto resource = EventResourceOf(framework::KindOf(input.object));
  if (!resource) return;
  queue::EventSource source;
  if (!IsNull(before)) source.old_object = before;
  source.new_object = std::move(input.object);
  queue_->Move({*resource, source.old_object ? action::kUpdate : action::kAdd}, source, now_);
}

void Scheduler::On(ObjectGone&& input) {
  framework::AnyObject before = handle_.objects_.Remove(input.kind, input.key);
  const auto resource = EventResourceOf(input.kind);
  if (!resource || IsNull(before)) return;
  queue::EventSource source;
  source.old_object = std::move(before);
  queue_->Move({*resource, action::kDelete}, source, now_);
}

void Scheduler::On(NodeGone&& input) {
  const framework::NodeIndex row = cache_.nodes().Find(input.name);
  if (row == framework::kNoNode) return;
  const std::shared_ptr<const api::Node> old = cache_.nodes().Info(row).node_ptr();
  cache_.RemoveNode(input.name);
  queue_->Move({EventResource::kNode, action::kDelete}, {.old_node = old}, now_);
}

}  // namespace berth::scheduler
