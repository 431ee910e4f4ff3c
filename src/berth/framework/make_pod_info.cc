// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/make_pod_info.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/framework/pod_requests.h"

namespace berth::framework {
namespace {

// Types and reasons of pod conditions.
constexpr std::string_view kDisruptionTarget = "DisruptionTarget";
constexpr std::string_view kPreempted = "PreemptionByScheduler";
constexpr std::string_view kPodResizePending = "PodResizePending";
constexpr std::string_view kInfeasible = "Infeasible";

}  // namespace

bool IsResizeInfeasible(const api::Pod& pod) {
  const api::PodCondition* resize = pod.status.FindCondition(kPodResizePending);
  return resize != nullptr && resize->reason == kInfeasible;
}

std::shared_ptr<PodClass> MakePodClass(const api::Pod& pod, api::StringMap annotations, const Release& release) {
  auto made = std::make_shared<PodClass>();
  made->namespace_name = pod.metadata.namespace_name;
  made->labels = pod.metadata.labels;
  made->annotations = std::move(annotations);
  made->controller = pod.metadata.controller;
  made->spec = pod.spec;
  made->spec.node_name.clear();
  made->spec.pod_group_name.clear();
  made->container_statuses = pod.status.container_statuses;
  if (release.counts_pod_level_status) made->pod_resources = pod.status.pod_resources;
  made->is_resize_infeasible = IsResizeInfeasible(pod);
  made->sums_requests_by_source = release.sums_requests_by_source;
  DerivePodClass(*made);
  return made;
}

PodInfoPtr MakePodInfo(const api::Pod& pod, std::shared_ptr<const PodClass> pod_class) {
  auto info = std::make_shared<PodInfo>();
  info->name = pod.metadata.name;
  info->uid = pod.metadata.uid;
  info->resource_version = pod.metadata.resource_version;
  if (!pod.spec.node_name.empty()) info->node_name = pod.spec.node_name;
  if (!pod.status.nominated_node_name.empty()) info->nominated_node_name = pod.status.nominated_node_name;
  if (!pod.spec.pod_group_name.empty()) info->pod_group_name = pod.spec.pod_group_name;
  info->generation = pod.metadata.generation;
  info->creation_time = pod.metadata.creation_time;
  info->start_time = pod.status.start_time;
  info->deletion_time = pod.metadata.deletion_time;
  info->is_terminal = pod.status.phase == api::PodPhase::kSucceeded || pod.status.phase == api::PodPhase::kFailed;
  if (const api::PodCondition* disruption = pod.status.FindCondition(kDisruptionTarget)) {
    info->is_preempted = disruption->status == "True" && disruption->reason == kPreempted;
  }
  // The condition of a bound pod is never read.
  if (const api::PodCondition* scheduled = pod.status.FindCondition("PodScheduled");
      scheduled && info->node_name.empty()) {
    info->scheduled_condition = std::make_shared<const api::PodCondition>(*scheduled);
  }
  if (!pod.status.resource_claim_statuses.empty() || pod.status.extended_resource_claim_status) {
    info->claim_status = std::make_shared<const PodClaimStatus>(
        PodClaimStatus{pod.status.resource_claim_statuses, pod.status.extended_resource_claim_status});
  }
  info->pod_class = std::move(pod_class);
  return info;
}

api::Pod PodOf(const PodInfo& info) {
  const PodClass& of = *info.pod_class;
  api::Pod pod;
  pod.metadata.name = info.name;
  pod.metadata.namespace_name = of.namespace_name;
  pod.metadata.uid = info.uid;
  pod.metadata.resource_version = info.resource_version;
  pod.metadata.generation = info.generation;
  pod.metadata.labels = of.labels;
  pod.metadata.annotations = of.annotations;
  pod.metadata.controller = of.controller;
  pod.metadata.creation_time = info.creation_time;
  pod.metadata.deletion_time = info.deletion_time;
  pod.spec = of.spec;
  pod.spec.node_name = info.node_name;
  pod.spec.pod_group_name = info.pod_group_name;
  pod.status.phase = info.is_terminal ? api::PodPhase::kFailed : api::PodPhase::kPending;
  pod.status.nominated_node_name = info.nominated_node_name;
  pod.status.start_time = info.start_time;
  if (info.scheduled_condition) pod.status.conditions.push_back(*info.scheduled_condition);
  if (info.is_preempted)
    pod.status.conditions.push_back({std::string(kDisruptionTarget), "True", std::string(kPreempted), ""});
  if (of.is_resize_infeasible)
    pod.status.conditions.push_back({std::string(kPodResizePending), "True", std::string(kInfeasible), ""});
  pod.status.container_statuses = of.container_statuses;
  pod.status.pod_resources = of.pod_resources;
  if (info.claim_status) {
    pod.status.resource_claim_statuses = info.claim_status->resource_claims;
    pod.status.extended_resource_claim_status = info.claim_status->extended_resource_claim;
  }
  return pod;
}

}  // namespace berth::framework
