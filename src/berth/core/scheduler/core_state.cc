// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/core_state.h"

#include <string_view>
#include <utility>

#include "berth/core/instruments/pod_traces.h"

namespace berth::scheduler {
namespace {

SchedulerOptions For(const framework::Release& release, SchedulerOptions options) {
  options.queue.nominates_gated_pods = release.nominates_gated_pods;
  options.queue.wildcards_reach_gated_pods = release.wildcards_reach_gated_pods;
  options.queue.logs_moves = options.metrics != nullptr;
  return options;
}

}  // namespace

CoreState::CoreState(SchedulerOptions given, const framework::Release& followed, framework::Objects& objects_read,
                     ProfileSet::Owned owned)
    : options(For(followed, std::move(given))),
      unread_metrics(options.metrics == nullptr ? std::make_unique<UnreadMetrics>() : nullptr),
      metrics(options.metrics == nullptr ? unread_metrics->metrics : *options.metrics),
      stopwatch(options.stopwatch),
      objects(objects_read),
      pod_groups(followed.has_pod_groups || NamesPodGroups(owned)
                     ? std::make_unique<cache::PodGroupStates>(objects_read, followed.has_composite_pod_groups)
                     : nullptr),
      release(followed),
      classes(AnnotationsRead(owned), followed),
      profiles(std::move(owned), options.evaluator, metrics, stopwatch),
      queue(options.queue, profiles.queue_sort(), profiles.QueueHooks(!options.extenders.empty(), followed)),
      decisions(options.decisions_max) {
  queue.SetMetrics(metrics, stopwatch);
  if (metrics.traces != nullptr) metrics.traces->SetStopwatch(stopwatch);
  if (pod_groups == nullptr) return;
  cache.SetPodGroups(*pod_groups);
  queue.SetPodGroups(*pod_groups);
}

// The scheduler's name is stored in the pod's class; later lookups read it there.
framework::PodInfoPtr CoreState::MakePodInfo(const api::Pod& pod) {
  const std::string_view annotated = AnnotatedScheduler(options.pods, pod);
  const std::string* const named = named_groups.Find(pod.metadata.uid);
  const std::string& group = pod.spec.pod_group_name;
  const bool has_group = release.has_pod_groups || framework::IsNamedPodGroup(group);
  if (annotated.empty() && named == nullptr && (group.empty() || has_group)) return classes.MakePodInfo(pod);
  api::Pod renamed = pod;
  if (!annotated.empty()) renamed.spec.scheduler_name = annotated;
  if (!has_group) renamed.spec.pod_group_name.clear();
  if (named != nullptr) renamed.spec.pod_group_name = *named;
  return classes.MakePodInfo(renamed);
}

Decision& CoreState::BeginDecision(const queue::QueuedPodInfo& queued) {
  const framework::PodInfo& pod = *queued.pod;
  Decision& decision = decisions.Append();
  decision.cycle = counts.cycles;
  decision.time = now;
  decision.attempt = queued.attempts;
  decision.pod_namespace = pod.namespace_name();
  decision.pod_name = pod.name;
  decision.pod_uid = pod.uid;
  return decision;
}

}  // namespace berth::scheduler
