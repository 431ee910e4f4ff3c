// What happens to a pod that was not placed: condition, event, back into the queue (behaviour inventory 2.8).
#include <utility>

#include "berth/core/scheduler/binding.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;

void Scheduler::HandleFailure(Profile& profile, queue::QueuedPodInfo&& queued, Failure&& failure) {
  const PodInfoPtr pod = queued.pod;
  ++(failure.is_refusal ? counts_.unschedulable : counts_.errors);
  const std::string_view reason = failure.is_refusal ? "Unschedulable" : "SchedulerError";
  queue_->AddUnschedulable(std::move(queued), failure.unschedulable_plugins, failure.pending_plugins, now_);
  if (failure.nomination.is_set) {
    queue_->nominator().AddNominatedPod(pod, failure.nomination.node_name);
  } else if (!pod->nominated_node_name.empty()) {
    queue_->nominator().AddNominatedPod(pod);
  }

  framework::PodStatusWrite write;
  const api::PodCondition* old = pod->scheduled_condition.get();
  write.has_condition =
      old == nullptr || old->status != "False" || old->reason != reason || old->message != failure.message;
  write.has_nomination = failure.nomination.is_set && failure.nomination.node_name != pod->nominated_node_name;
  if (write.has_condition || write.has_nomination) {
    write.pod = {pod->namespace_name(), pod->name, pod->uid, pod->resource_version};
    if (write.has_condition) {
      write.condition_type = "PodScheduled";
      write.condition_status = "False";
      write.condition_reason = reason;
      write.condition_message = failure.message;
      write.is_transition = old == nullptr || old->status != "False";
      write.observed_generation = pod->generation;
    }
    write.nominated_node_name = failure.nomination.node_name;
    outputs_.emplace_back(Write{next_operation_++, std::move(write)});
  }
  Emit(profile, *pod, true, "FailedScheduling", "Scheduling", std::move(failure.message));
}

}  // namespace berth::scheduler
