// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/workload.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kWorkloadRules = R"(
@apps
DaemonSet spec/
DaemonSetSpec @DaemonSetSelector template.metadata.labels<template.labels>@Labels @Template selector^ minReadySeconds>=0
  revisionHistoryLimit>=0
Deployment spec/ status/
DeploymentSpec replicas>=0 @DeploymentSelector template.metadata.labels<template.labels>@Labels @Template selector^
  strategy*@Strategy minReadySeconds>=0 revisionHistoryLimit>=0 progressDeadlineSeconds>=0*@ProgressDeadline
DeploymentStatus observedGeneration>=0 replicas>=0 updatedReplicas>=0 readyReplicas>=0 availableReplicas>=0
  unavailableReplicas>=0
ReplicaSet spec/ status/
ReplicaSetSpec replicas>=0 minReadySeconds>=0 @DeploymentSelector template.metadata.labels<template.labels>@Labels
  @Template selector^
ReplicaSetStatus replicas>=0 fullyLabeledReplicas>=0 readyReplicas>=0 availableReplicas>=0 observedGeneration>=0
StatefulSet metadata.name:label spec/
StatefulSetSpec podManagementPolicy@PodManagement replicas>=0 minReadySeconds>=0 serviceName?:label
  @StatefulSetSelector template.metadata.labels<template.labels>@Labels @StatefulSetTemplate @StatefulSetKept
@autoscaling
CrossVersionObjectReference kind! name!
HorizontalPodAutoscaler spec/
HorizontalPodAutoscalerSpec minReplicas*>=1 maxReplicas>0@MaxReplicas scaleTargetRef/
@autoscalingv2
CrossVersionObjectReference kind! name!
HorizontalPodAutoscaler spec/
HorizontalPodAutoscalerSpec minReplicas*>=1 maxReplicas>0@MaxReplicas scaleTargetRef/
@batch
CronJob spec/
CronJobSpec schedule!@Schedule concurrencyPolicy=Allow|Forbid|Replace startingDeadlineSeconds>=0
  successfulJobsHistoryLimit>=0 failedJobsHistoryLimit>=0 jobTemplate.spec/
Job spec.selector/ spec+/ @JobUpdate
JobSpec parallelism>=0 completions>=0 activeDeadlineSeconds>=0 backoffLimit>=0 backoffLimitPerIndex>=0
  maxFailedIndexes>=0 ttlSecondsAfterFinished>=0 completionMode=Indexed|NonIndexed template.spec/
  template.spec.restartPolicy@RestartPolicyOfJob
JobSpec.update parallelism>=0 activeDeadlineSeconds>=0 backoffLimit>=0 ttlSecondsAfterFinished>=0 completions^ selector^
  template^ completionMode^ podFailurePolicy^ backoffLimitPerIndex^ managedBy^
@core
ReplicationController spec/
ReplicationControllerSpec replicas>=0 minReadySeconds>=0 selector! selector@Labels template!@ControllerTemplate
@policy
PodDisruptionBudget spec/
PodDisruptionBudgetSpec @OneBudget minAvailable@Share@AtMostAll maxUnavailable@Share@AtMostAll
  unhealthyPodEvictionPolicy=AlwaysAllow|IfHealthyBudget selector/
)";

bool SelectorMatches(const json::object& selector, const json::object& labels) {
  for (const auto& [key, value] : Part(selector, "matchLabels")) {
    const json::value* own = labels.if_contains(key);
    if (own == nullptr || *own != value) return false;
  }
  for (const json::object* requirement : ObjectsOf(selector, "matchExpressions")) {
    const json::value* own = FindMember(labels, StringMember(*requirement, "key"));
    const json::array* values = ArrayMember(*requirement, "values");
    const bool is_listed =
        own != nullptr && values != nullptr && std::find(values->begin(), values->end(), *own) != values->end();
    const std::string_view op = StringMember(*requirement, "operator");
    if (op == "In" && !is_listed) return false;
    if (op == "NotIn" && is_listed) return false;
    if (op == "Exists" && own == nullptr) return false;
    if (op == "DoesNotExist" && own != nullptr) return false;
  }
  return true;
}

// --- The selector and the template, which all workloads have ---------------------------------------------------------

void ReportMismatch(const Place& labels) { labels.Invalid("`selector` does not match template `labels`"); }

// The selector is a good one, not empty, and matches the template's labels.
void CheckSelector(const Place& spec, const std::string& kind, bool is_required) {
  const Place selector = spec["selector"];
  const Place labels = spec["template.metadata.labels"];
  if (!selector.is_set()) {
    if (is_required) selector.Required();
    return ReportMismatch(labels);
  }
  const std::size_t before = spec.errors().size();
  selector.Walk();
  if (spec.errors().size() != before) return selector.Invalid("invalid label selector");
  if (Part(selector.object(), "matchLabels").empty() && ObjectsOf(selector.object(), "matchExpressions").empty()) {
    return selector.Invalid("empty selector is invalid for " + kind);
  }
  if (!SelectorMatches(selector.object(), labels.object())) ReportMismatch(labels);
}

void CheckDaemonSetSelector(const Place& spec) { CheckSelector(spec, "daemonset", false); }
void CheckDeploymentSelector(const Place& spec) { CheckSelector(spec, "deployment", true); }
void CheckStatefulSetSelector(const Place& spec) { CheckSelector(spec, "statefulset", true); }

void CheckPodTemplateSpec(const Place& spec) {
  spec.Walk();
  // The pods of every workload there is are made again whenever they end.
  const Place policy = spec["restartPolicy"];
  if (policy.text() == "Never" || policy.text() == "OnFailure") policy.NotSupported(policy.value(), {"Always"});
  if (spec.Has("activeDeadlineSeconds")) {
    spec["activeDeadlineSeconds"].Forbidden("activeDeadlineSeconds in ReplicaSet is not Supported");
  }
}

void CheckTemplate(const Place& spec) {
  const Place pod_template = spec["template"];
  // Scaling and status updates leave the template as it was found good.
  if (pod_template.old().is_object() && pod_template.IsSame()) return;
  CheckPodTemplateSpec(spec["template.spec"]);
}

// The pod spec of a StatefulSet with a volume for each claim that its pods get: containers may mount them.
json::object WithClaimVolumes(const json::object& pod_spec, const json::object& set_spec) {
  json::object copy = pod_spec;
  const std::vector<const json::object*> claims = ObjectsOf(set_spec, "volumeClaimTemplates");
  if (claims.empty()) return copy;
  json::value& volumes = copy["volumes"];
  if (!volumes.is_array()) volumes = json::array();
  for (const json::object* claim : claims) {
    const std::string_view name = StringMember(Part(*claim, "metadata"), "name");
    json::array& list = volumes.get_array();
    // One of the template's own of that name is replaced.
    list.erase(std::remove_if(list.begin(), list.end(),
                              [name](const json::value& each) {
                                return each.is_object() && StringMember(each.get_object(), "name") == name;
                              }),
               list.end());
    list.push_back(json::object{{"name", json::string(name)}, {"emptyDir", json::object()}});
  }
  return copy;
}

void CheckStatefulSetTemplate(const Place& spec) {
  if (spec["volumeClaimTemplates"].array().empty()) return CheckTemplate(spec);
  const Place pod_spec = spec["template.spec"];
  const json::object with_volumes = WithClaimVolumes(pod_spec.object(), spec.object());
  CheckPodTemplateSpec(pod_spec.WithObject(with_volumes));
}

void CheckPodManagement(const Place& policy) {
  if (policy.text() == "OrderedReady" || policy.text() == "Parallel") return;
  policy.Invalid(json::value(policy.text()), "must be 'OrderedReady' or 'Parallel'");
}

void CheckStatefulSetKept(const Place& spec) {
  if (!spec.is_update() ||
      !spec.DiffersBeyond({"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                           "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})) {
    return;
  }
  spec.Forbidden(
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
      "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

void CheckControllerTemplate(const Place& pod_template) {
  const json::object selector{{"matchLabels", Part(pod_template.up().object(), "selector")}};
  const Place labels = pod_template["metadata.labels"];
  if (!SelectorMatches(selector, labels.object())) ReportMismatch(labels);
  CheckPodTemplateSpec(pod_template["spec"]);
}

// --- Strategies and budgets ------------------------------------------------------------------------------------------

std::int64_t PercentOf(std::string_view text) {
  if (text.empty() || text.size() > 10 || !api::NotPercent(text).empty()) return 0;
  return std::stoll(std::string(text.substr(0, text.size() - 1)));
}

// An integer or a percentage that is not negative.
void CheckShare(const Place& share) {
  if (share.value().is_string()) {
    share.AddInvalid(share.text(), api::NotPercent(share.text()));
  } else if (share.number() < 0) {
    share.Invalid("must be greater than or equal to 0");
  }
}

void CheckAtMostAll(const Place& share) {
  if (PercentOf(share.text()) > 100) share.Invalid("must not be greater than 100%");
}

bool IsZeroShare(const Place& share) { return share.number() == 0 && PercentOf(share.text()) == 0; }

void CheckStrategy(const Place& strategy) {
  const std::string_view type = strategy["type"].text();
  const Place rolling = strategy["rollingUpdate"];
  if (type == "Recreate") {
    if (rolling.is_set()) rolling.Forbidden("may not be specified when strategy `type` is 'Recreate'");
  } else if (type != "RollingUpdate") {
    strategy.NotSupported(strategy.value(), {"Recreate", "RollingUpdate"});
  } else if (rolling.is_set()) {
    const Place unavailable = rolling["maxUnavailable"];
    const Place surge = rolling["maxSurge"];
    CheckShare(unavailable);
    CheckShare(surge);
    if (IsZeroShare(unavailable) && IsZeroShare(surge)) unavailable.Invalid("may not be 0 when `maxSurge` is 0");
    CheckAtMostAll(unavailable);
  }
}

void CheckProgressDeadline(const Place& deadline) {
  const std::int64_t min_ready = deadline.up()["minReadySeconds"].number();
  if (min_ready >= 0 && deadline.number() <= min_ready) deadline.Invalid("must be greater than minReadySeconds");
}

void CheckOneBudget(const Place& spec) {
  if (spec.Has("minAvailable") && spec.Has("maxUnavailable")) {
    spec.Invalid("minAvailable and maxUnavailable cannot be both set");
  }
}

void CheckMaxReplicas(const Place& most) {
  const Place least = most.up()["minReplicas"];
  if (most.number() >= 1 && most.number() < (least.is_set() ? least.number() : 1)) {
    most.Invalid("must be greater than or equal to `minReplicas`");
  }
}

// --- Jobs ------------------------------------------------------------------------------------------------------------

void CheckJobUpdate(const Place& job) {
  if (job.is_update()) job["spec"].Walk("JobSpec.update");
}

// The default, "Always", would never end.
void CheckRestartPolicyOfJob(const Place& policy) {
  if (policy.text() == "Always" || policy.text().empty()) policy.Required(R"(valid values: "OnFailure", "Never")");
}

void CheckSchedule(const Place& schedule) {
  const std::string text(schedule.text());
  std::size_t words = 0;
  bool is_inside = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space && !is_inside) ++words;
    is_inside = !is_space;
  }
  if (text.front() == '@' || words == 5) return;
  schedule.Invalid("expected exactly 5 fields, found " + std::to_string(words) + ": [" + text + ']');
}

}  // namespace

RuleSet WorkloadRules() {
  return {kWorkloadRules,
          {{"AtMostAll", CheckAtMostAll},
           {"ControllerTemplate", CheckControllerTemplate},
           {"DaemonSetSelector", CheckDaemonSetSelector},
           {"DeploymentSelector", CheckDeploymentSelector},
           {"JobUpdate", CheckJobUpdate},
           {"MaxReplicas", CheckMaxReplicas},
           {"OneBudget", CheckOneBudget},
           {"PodManagement", CheckPodManagement},
           {"ProgressDeadline", CheckProgressDeadline},
           {"RestartPolicyOfJob", CheckRestartPolicyOfJob},
           {"Schedule", CheckSchedule},
           {"Share", CheckShare},
           {"StatefulSetKept", CheckStatefulSetKept},
           {"StatefulSetSelector", CheckStatefulSetSelector},
           {"StatefulSetTemplate", CheckStatefulSetTemplate},
           {"Strategy", CheckStrategy},
           {"Template", CheckTemplate}}};
}

}  // namespace berth::objects::internal
