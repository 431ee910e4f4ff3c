// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/metric_list.h"

#include <algorithm>
#include <array>
#include <string>

#include "berth/base/check.h"

namespace berth::instruments {
namespace {

using enum MetricType;

constexpr InReleases kUntil36{.last = 36};
constexpr InReleases kSince37{.first = 37};
constexpr InReleases kPodGroups{.feature = Feature::kPodGroups};
constexpr InReleases kPodGroups37{.first = 37, .feature = Feature::kPodGroups};
constexpr InReleases kPlacements37{.first = 37, .feature = Feature::kPlacements};

// The names, and the help texts that a scrape shows, are upstream's.
constexpr auto kList = std::to_array<ListedMetric>({
    {"dynamic_resource_allocation_resourceclaim_creates_total", kCounter, "ALPHA",
     "Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning API group "
     "and kind (either Pod or scheduling.k8s.io/PodGroup)",
     "status admin_access owner_api_group owner_api_kind", {}, kSince37},
    {"scheduler_async_api_call_execution_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration in seconds for executing API call in the async dispatcher.",
     "call_type result",
     {0.001, 2, 15}},
    {"scheduler_async_api_call_execution_total", kCounter, "ALPHA",
     "Total number of API calls executed by the async dispatcher.", "call_type result"},
    {"scheduler_batch_attempts_total", kCounter, "ALPHA", "Counts of results when we attempt to use batching.",
     "profile result"},
    {"scheduler_batch_cache_flushed_total", kCounter, "ALPHA", "Counts of cache flushes by reason.", "profile reason"},
    {"scheduler_batch_rescore_attempts_total", kCounter, "ALPHA",
     "Counts of rescore attempts during opportunistic batching.", "profile", {}, kSince37},
    {"scheduler_batch_rescore_duration_seconds",
     kHistogram,
     "ALPHA",
     "Latency for rescoring a node during opportunistic batching.",
     "profile",
     {0.00001, 2, 12},
     kSince37},
    {"scheduler_cache_size", kGauge, "ALPHA", "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
     "type"},
    {"scheduler_dra_bindingconditions_allocations_total", kCounter, "ALPHA",
     "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
     "profile driver status"},
    {"scheduler_dra_bindingconditions_wait_duration_seconds",
     kHistogram,
     "ALPHA",
     "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
     "profile driver status",
     {0.1, 2, 14}},
    {"scheduler_event_handling_duration_seconds",
     kHistogram,
     "ALPHA",
     "Event handling latency in seconds.",
     "event",
     {0.0001, 2, 12}},
    {"scheduler_framework_extension_point_duration_seconds",
     kHistogram,
     "STABLE",
     "Latency for running all plugins of a specific extension point.",
     "extension_point status profile",
     {0.0001, 2, 12}},
    {"scheduler_generated_placements_total", kCounter, "ALPHA",
     "Number of candidate placements generated when scheduling pod groups.", "profile", {}, kPlacements37},
    {"scheduler_get_node_hint_duration_seconds",
     kHistogram,
     "ALPHA",
     "Latency for getting a node hint.",
     "hinted profile",
     {0.00001, 2, 12}},
    {"scheduler_goroutines", kGauge, "BETA", "Number of running goroutines split by the work they do such as binding.",
     "operation"},
    {"scheduler_inflight_events", kGauge, "ALPHA", "Number of events currently tracked in the scheduling queue.",
     "event"},
    {"scheduler_pending_async_api_calls", kGauge, "ALPHA", "Number of API calls currently pending in the async queue.",
     "call_type"},
    {"scheduler_pending_pods", kGauge, "STABLE",
     "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of "
     "pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to "
     "schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule "
     "because they are gated.",
     "queue", {}, kUntil36},
    {"scheduler_pending_pods", kGauge, "STABLE",
     "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of "
     "pods in backoffQ; 'unschedulable' means number of pods in unschedulableEntities that the scheduler attempted to "
     "schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule "
     "because they are gated; 'incomplete' means number of pods in incompletePodGroupPods; 'pending' means number of "
     "pods in pendingPodGroupPods.",
     "queue", {}, kSince37},
    {"scheduler_permit_wait_duration_seconds",
     kHistogram,
     "BETA",
     "Duration of waiting on permit.",
     "result",
     {0.001, 2, 15}},
    {"scheduler_placement_evaluation_duration_seconds",
     kHistogram,
     "ALPHA",
     "Latency in seconds of evaluating a single candidate placement when scheduling pod groups, by result. 'feasible' "
     "means the pod group fit into the placement, while 'infeasible' means it did not.",
     "result profile",
     {0.001, 2, 15},
     kPlacements37},
    {"scheduler_placement_evaluations_total", kCounter, "ALPHA",
     "Number of candidate placements evaluated when scheduling pod groups, by result. 'feasible' means the pod group "
     "fit into the placement, while 'infeasible' means it did not.",
     "result profile", {}, kPlacements37},
    {"scheduler_plugin_evaluation_total", kCounter, "BETA",
     "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, "
     "PreScore, and Score).",
     "plugin extension_point profile"},
    {"scheduler_plugin_execution_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration for running a plugin at a specific extension point.",
     "plugin extension_point status",
     {0.00001, 1.5, 20},
     kUntil36},
    {"scheduler_plugin_execution_duration_seconds",
     kHistogram,
     "BETA",
     "Duration for running a plugin at a specific extension point.",
     "plugin extension_point status",
     {0.00001, 1.5, 20},
     kSince37},
    {"scheduler_pod_scheduled_after_flush_total", kCounter, "ALPHA",
     "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. This "
     "metric helps detect potential queueing hint misconfigurations or event handling issues.",
     "", {}, kUntil36},
    {"scheduler_pod_scheduled_after_flush_total", kCounter, "ALPHA",
     "Number of pods that were successfully scheduled after being flushed from unschedulableEntities due to timeout. "
     "This metric helps detect potential queueing hint misconfigurations or event handling issues.",
     "", {}, kSince37},
    {"scheduler_pod_scheduling_attempts",
     kHistogram,
     "STABLE",
     "Number of attempts to successfully schedule a pod.",
     "",
     {1, 2, 5}},
    {"scheduler_pod_scheduling_sli_duration_seconds",
     kHistogram,
     "BETA",
     "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve "
     "multiple scheduling attempts.",
     "attempts",
     {0.01, 2, 20}},
    {"scheduler_podgroup_schedule_attempts_total", kCounter, "ALPHA",
     "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be "
     "scheduled, while 'error' means an internal scheduler problem.",
     "result profile", {}, kPodGroups},
    {"scheduler_podgroup_scheduling_algorithm_duration_seconds",
     kHistogram,
     "ALPHA",
     "Pod group scheduling algorithm latency in seconds",
     "",
     {0.001, 2, 15},
     kPodGroups},
    {"scheduler_podgroup_scheduling_attempt_duration_seconds",
     kHistogram,
     "ALPHA",
     "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)",
     "result profile",
     {0.001, 2, 15},
     kUntil36},
    {"scheduler_podgroup_scheduling_attempt_duration_seconds",
     kHistogram,
     "ALPHA",
     "Pod group scheduling attempt latency in seconds",
     "result profile",
     {0.001, 2, 15},
     kPodGroups37},
    {"scheduler_pre_queueing_hint_evaluations_total", kCounter, "ALPHA",
     "Number of PreQueueingHint evaluations, labeled by plugin and result (all_pods or narrowed).", "plugin result", {},
     kSince37},
    {"scheduler_preemption_attempts_total", kCounter, "STABLE", "Total preemption attempts in the cluster till now",
     ""},
    {"scheduler_preemption_evaluation_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration in seconds for identifying the target preemption victims.",
     "preemptor result",
     {0.001, 2, 16},
     kPodGroups37},
    {"scheduler_preemption_execution_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration in seconds for preempting the target preemption victims. With async preemption enabled, preemption "
     "execution does not block the scheduling of other pods.",
     "preemptor result",
     {0.001, 2, 16},
     kPodGroups37},
    {"scheduler_preemption_goroutines_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration in seconds for running goroutines for the preemption.",
     "result",
     {0.01, 2, 20},
     kUntil36},
    {"scheduler_preemption_goroutines_duration_seconds",
     kHistogram,
     "ALPHA",
     "(Deprecated since 1.37.0) Duration in seconds for running goroutines for the preemption.",
     "result",
     {0.01, 2, 20},
     kSince37},
    {"scheduler_preemption_goroutines_execution_total", kCounter, "ALPHA", "Number of preemption goroutines executed.",
     "result"},
    {"scheduler_preemption_pdb_violations_total", kCounter, "ALPHA",
     "Total number of pod disruption budget violations caused by preemption.", "preemptor", {}, kPodGroups37},
    {"scheduler_preemption_victims",
     kHistogram,
     "STABLE",
     "Number of selected preemption victims",
     "",
     {1, 2, 7},
     kUntil36},
    {"scheduler_preemption_victims",
     kHistogram,
     "STABLE",
     "Number of selected preemption victims for preemption initiated by a single pod",
     "",
     {1, 2, 7},
     kSince37},
    {"scheduler_preemption_workload_disruptions",
     kHistogram,
     "ALPHA",
     "Number of workload preemption units being preempted. A single preemption unit can be all pods in a pod group (in "
     "case of DisruptionMode=all), or a single pod (in case of DisruptionMode=single).",
     "preemptor",
     {1, 2, 11},
     kPodGroups37},
    {"scheduler_queue_incoming_entities_total", kCounter, "ALPHA",
     "Number of scheduling entities added to scheduling queues by event, queue type, and entity type. Entity types are "
     "either 'pod' (for individual pods that are not members of any podgroup) or 'podgroup'.",
     "queue event type", {}, kSince37},
    {"scheduler_queue_incoming_pods_total", kCounter, "STABLE",
     "Number of pods added to scheduling queues by event and queue type.", "queue event"},
    {"scheduler_queued_entities", kGauge, "ALPHA",
     "Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for individual pods that are not members "
     "of any podgroup) by the queue type. 'active' means number of entities in activeQ; 'backoff' means number of "
     "entities in backoffQ; 'unschedulable' means number of entities in unschedulableEntities that the scheduler "
     "attempted to schedule and failed; 'gated' is the number of unschedulable entities that the scheduler never "
     "attempted to schedule because they are gated.",
     "queue type", {}, kSince37},
    {"scheduler_queueing_hint_execution_duration_seconds",
     kHistogram,
     "ALPHA",
     "Duration for running a queueing hint function of a plugin.",
     "plugin event hint",
     {0.00001, 1.5, 20}},
    {"scheduler_resourceclaim_creates_total", kCounter, "ALPHA",
     "Number of ResourceClaims creation requests within scheduler", "status", {}, kUntil36},
    {"scheduler_schedule_attempts_total", kCounter, "STABLE",
     "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
     "'error' means an internal scheduler problem.",
     "result profile"},
    {"scheduler_scheduling_algorithm_duration_seconds",
     kHistogram,
     "ALPHA",
     "Scheduling algorithm latency in seconds",
     "",
     {0.001, 2, 15},
     kUntil36},
    {"scheduler_scheduling_algorithm_duration_seconds",
     kHistogram,
     "BETA",
     "Scheduling algorithm latency in seconds",
     "",
     {0.001, 2, 15},
     kSince37},
    {"scheduler_scheduling_attempt_duration_seconds",
     kHistogram,
     "STABLE",
     "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
     "result profile",
     {0.001, 2, 15}},
    {"scheduler_store_schedule_results_duration_seconds",
     kHistogram,
     "ALPHA",
     "Latency for getting a no.",
     "profile",
     {0.00001, 2, 12},
     kUntil36},
    {"scheduler_store_schedule_results_duration_seconds",
     kHistogram,
     "ALPHA",
     "Latency for storing scheduling results.",
     "profile",
     {0.00001, 2, 12},
     kSince37},
    {"scheduler_unschedulable_pods", kGauge, "BETA",
     "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that "
     "caused it to not schedule and so this metric have meaning only when broken down by plugin.",
     "plugin profile"},
    {"scheduler_volume_binder_cache_requests_total", kCounter, "ALPHA", "Total number for request volume binding cache",
     "operation"},
    {"scheduler_volume_scheduling_stage_error_total", kCounter, "ALPHA", "Volume scheduling stage error count",
     "operation"},
    {"scheduler_workload_preemption_attempts_total", kCounter, "ALPHA",
     "Total preemption attempts initiated by workload (including pod groups) in the cluster till now.", "result", {},
     kPodGroups37},
    {"scheduler_workload_preemption_victims",
     kHistogram,
     "ALPHA",
     "Number of pod preemption victims caused by workload preemption.",
     "",
     {1, 2, 11},
     kPodGroups37},
});

}  // namespace

std::span<const ListedMetric> SchedulerMetricList() { return kList; }

MetricDescription DescriptionOf(const ListedMetric& metric) {
  MetricDescription description;
  description.name = metric.name;
  description.help.append("[").append(metric.stability).append("] ").append(metric.help);
  for (std::size_t begin = 0; begin < metric.labels.size();) {
    const std::size_t end = std::min(metric.labels.find(' ', begin), metric.labels.size());
    description.labels.emplace_back(metric.labels.substr(begin, end - begin));
    begin = end + 1;
  }
  description.buckets = ExponentialBuckets(metric.buckets.start, metric.buckets.factor, metric.buckets.count);
  return description;
}

MetricDescription DescriptionOf(std::string_view name) {
  const auto* const found = std::find_if(kList.begin(), kList.end(), [&](const auto& one) { return one.name == name; });
  BERTH_CHECK(found != kList.end(), name);
  return DescriptionOf(*found);
}

}  // namespace berth::instruments
