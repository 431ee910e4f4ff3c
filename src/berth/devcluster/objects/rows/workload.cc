// SPDX-License-Identifier: Apache-2.0
// Rows of pods and of the kinds that make them or look after them, as kube-apiserver prints them.
#include "berth/devcluster/objects/rows/workload.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/cells.h"
#include "berth/devcluster/objects/rows/rows.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::objects::internal {
namespace {

std::string Fraction(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + "/" + std::to_string(whole);
}

// --- Pods ------------------------------------------------------------------------------------------------------------

bool HasCondition(const json::object& status, std::string_view type) {
  for (const json::object* condition : ObjectsOf(status, "conditions")) {
    if (StringMember(*condition, "type") == type) return StringMember(*condition, "status") == "True";
  }
  return false;
}

// What the Ready, Status and Restarts columns say of a pod, found out container by container.
struct PodSummary {
  std::string status;
  std::int64_t ready = 0;
  std::int64_t total = 0;
  std::int64_t restarts = 0;
  std::optional<std::int64_t> restarted_at;  // when a container last ended to be started again

  void AddRestarts(const json::object& container) {
    restarts += IntMember(container, "restartCount");
    const json::object* last = ObjectAt(container, {"lastState", "terminated"});
    if (last == nullptr) return;
    const std::optional<std::int64_t> at = SecondsOf(*last, "finishedAt");
    if (at && (!restarted_at || *restarted_at < *at)) restarted_at = at;
  }
};

std::string TerminationReason(const json::object& terminated) {
  if (const std::string_view reason = StringMember(terminated, "reason"); !reason.empty()) return std::string(reason);
  if (const std::int64_t signal = IntMember(terminated, "signal"); signal != 0) {
    return "Signal:" + std::to_string(signal);
  }
  return "ExitCode:" + std::to_string(IntMember(terminated, "exitCode"));
}

// True when an init container is still at work or has failed; `summary` then says which.
bool SummarizeInitContainers(const json::object& pod, PodSummary& summary, PodSummary& sidecars) {
  std::set<std::string> restartable;
  const std::vector<const json::object*> specs = ObjectsOf(Spec(pod), "initContainers");
  for (const json::object* container : specs) {
    if (StringMember(*container, "restartPolicy") == "Always") {
      restartable.insert(std::string(StringMember(*container, "name")));
      ++summary.total;
    }
  }
  std::size_t position = 0;
  for (const json::object* container : ObjectsOf(StatusOf(pod), "initContainerStatuses")) {
    const std::size_t index = position++;
    const bool is_sidecar = restartable.contains(std::string(StringMember(*container, "name")));
    summary.AddRestarts(*container);
    if (is_sidecar) sidecars.AddRestarts(*container);
    const json::object* terminated = ObjectAt(*container, {"state", "terminated"});
    const std::string_view waiting = StringAt(*container, {"state", "waiting", "reason"});
    if (terminated != nullptr && IntMember(*terminated, "exitCode") == 0) continue;
    if (is_sidecar && BoolMember(*container, "started")) {
      if (BoolMember(*container, "ready")) ++summary.ready;
      continue;
    }
    if (terminated != nullptr) {
      summary.status = "Init:" + TerminationReason(*terminated);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      summary.status = "Init:" + std::string(waiting);
    } else {
      summary.status = "Init:" + std::to_string(index) + "/" + std::to_string(specs.size());
    }
    return true;
  }
  return false;
}

void SummarizeContainers(const json::object& pod, PodSummary& summary) {
  bool has_running = false;
  std::string failure;
  std::vector<const json::object*> containers = ObjectsOf(StatusOf(pod), "containerStatuses");
  std::reverse(containers.begin(), containers.end());  // so that the first container has the last word
  for (const json::object* container : containers) {
    summary.AddRestarts(*container);
    const std::string_view waiting = StringAt(*container, {"state", "waiting", "reason"});
    const json::object* terminated = ObjectAt(*container, {"state", "terminated"});
    if (!waiting.empty()) {
      summary.status = waiting;
    } else if (terminated != nullptr) {
      summary.status = TerminationReason(*terminated);
      if (IntMember(*terminated, "exitCode") != 0) failure = summary.status;
    } else if (BoolMember(*container, "ready") && ObjectAt(*container, {"state", "running"}) != nullptr) {
      has_running = true;
      ++summary.ready;
    }
  }
  if (summary.status != "Completed") return;
  if (has_running && HasCondition(StatusOf(pod), "Ready")) {
    summary.status = "Running";
  } else if (!failure.empty()) {
    summary.status = failure;
  } else if (has_running) {
    summary.status = "NotReady";
  }
}

PodSummary Summarize(const json::object& pod) {
  const json::object& status = StatusOf(pod);
  const std::string phase(StringMember(status, "phase"));
  const std::string own_reason(StringMember(status, "reason"));
  PodSummary summary;
  summary.status = own_reason.empty() ? phase : own_reason;
  summary.total = static_cast<std::int64_t>(ObjectsOf(Spec(pod), "containers").size());
  for (const json::object* condition : ObjectsOf(status, "conditions")) {
    if (StringMember(*condition, "type") == "PodScheduled" && StringMember(*condition, "reason") == "SchedulingGated") {
      summary.status = "SchedulingGated";
    }
  }
  PodSummary sidecars;
  const bool is_initializing = SummarizeInitContainers(pod, summary, sidecars);
  if (!is_initializing || HasCondition(status, "Initialized")) {
    summary.restarts = sidecars.restarts;
    summary.restarted_at = sidecars.restarted_at;
    SummarizeContainers(pod, summary);
  }
  if (IsBeingDeleted(pod)) {
    if (own_reason == "NodeLost") {
      summary.status = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.status = "Terminating";
    }
  }
  return summary;
}

json::array PodRow(const json::object& pod, std::int64_t now_seconds) {
  const PodSummary summary = Summarize(pod);
  const json::object& status = StatusOf(pod);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && summary.restarted_at) {
    restarts += " (" + HumanDuration(now_seconds - *summary.restarted_at) + " ago)";
  }
  const std::vector<const json::object*> ips = ObjectsOf(status, "podIPs");
  const std::string_view ip = ips.empty() ? StringMember(status, "podIP") : StringMember(*ips.front(), "ip");
  std::string gates(kNone);
  if (const auto wanted = ObjectsOf(Spec(pod), "readinessGates"); !wanted.empty()) {
    const auto met = std::count_if(wanted.begin(), wanted.end(), [&](const json::object* gate) {
      return HasCondition(status, StringMember(*gate, "conditionType"));
    });
    gates = Fraction(met, static_cast<std::int64_t>(wanted.size()));
  }
  return {Name(pod),
          Text(Fraction(summary.ready, summary.total)),
          Text(summary.status),
          Text(restarts),
          Age(pod, now_seconds),
          Text(Or(ip, kNone)),
          Text(Or(StringMember(Spec(pod), "nodeName"), kNone)),
          Text(Or(StringMember(status, "nominatedNodeName"), kNone)),
          Text(gates)};
}

// --- Workloads -------------------------------------------------------------------------------------------------------

json::array DeploymentRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = ContainersOf(Spec(object));
  const json::object& status = StatusOf(object);
  return {Name(object),
          Text(Fraction(IntMember(status, "readyReplicas"), IntMember(Spec(object), "replicas"))),
          IntMember(status, "updatedReplicas"),
          IntMember(status, "availableReplicas"),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(SelectorText(Spec(object)))};
}

json::array ReplicaSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = ContainersOf(Spec(object));
  const json::object& status = StatusOf(object);
  // A ReplicationController's selector is a plain map.
  const bool is_plain = StringMember(object, "kind") == "ReplicationController";
  return {Name(object),
          IntMember(Spec(object), "replicas"),
          IntMember(status, "replicas"),
          IntMember(status, "readyReplicas"),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(is_plain ? Pairs(Part(Spec(object), "selector")) : SelectorText(Spec(object)))};
}

json::array StatefulSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = ContainersOf(Spec(object));
  return {Name(object),
          Text(Fraction(IntMember(StatusOf(object), "readyReplicas"), IntMember(Spec(object), "replicas"))),
          Age(object, now_seconds), Text(names), Text(images)};
}

json::array DaemonSetRow(const json::object& object, std::int64_t now_seconds) {
  const auto [names, images] = ContainersOf(Spec(object));
  const json::object& status = StatusOf(object);
  const json::object& pod_spec = Part(Part(Spec(object), "template"), "spec");
  return {Name(object),
          IntMember(status, "desiredNumberScheduled"),
          IntMember(status, "currentNumberScheduled"),
          IntMember(status, "numberReady"),
          IntMember(status, "updatedNumberScheduled"),
          IntMember(status, "numberAvailable"),
          Text(Pairs(Part(pod_spec, "nodeSelector"))),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(SelectorText(Spec(object)))};
}

json::array BudgetRow(const json::object& object, std::int64_t now_seconds) {
  const std::string least = Plain(FindMember(Spec(object), "minAvailable"));
  const std::string most = Plain(FindMember(Spec(object), "maxUnavailable"));
  return {Name(object), Text(Or(least, "N/A")), Text(Or(most, "N/A")),
          IntMember(StatusOf(object), "disruptionsAllowed"), Age(object, now_seconds)};
}

std::vector<TableColumn> ReplicaColumns() {
  return {NameColumn(),
          Column("Desired", "integer", "Replicas asked for."),
          Column("Current", "integer", "Replicas there are."),
          Column("Ready", "integer", "Replicas that are ready."),
          AgeColumn(),
          ContainersColumn(),
          ImagesColumn(),
          SelectorColumn()};
}

}  // namespace

std::vector<KindPrinting> WorkloadPrintings() {
  return {{"Pod",
           {{NameColumn(), Column("Ready", "string", "Ready containers of all."),
             Column("Status", "string", "Phase, or the most telling reason of the containers."),
             Column("Restarts", "string", "How often containers were restarted, and when last."), AgeColumn(),
             Column("IP", "string", "The pod's address.", 1), Column("Node", "string", "The node it is bound to.", 1),
             Column("Nominated Node", "string", "The node that preemption makes room on.", 1),
             Column("Readiness Gates", "string", "Readiness gates that are met.", 1)},
            PodRow}},
          {"Deployment",
           {{NameColumn(), Column("Ready", "string", "Ready replicas of those asked for."),
             Column("Up-to-date", "string", "Replicas of the newest template."),
             Column("Available", "string", "Replicas that have been ready long enough."), AgeColumn(),
             ContainersColumn(), ImagesColumn(), SelectorColumn()},
            DeploymentRow}},
          {"ReplicaSet", {ReplicaColumns(), ReplicaSetRow}},
          {"ReplicationController", {ReplicaColumns(), ReplicaSetRow}},
          {"StatefulSet",
           {{NameColumn(), Column("Ready", "string", "Ready replicas of those asked for."), AgeColumn(),
             ContainersColumn(), ImagesColumn()},
            StatefulSetRow}},
          {"DaemonSet",
           {{NameColumn(), Column("Desired", "integer", "Nodes that should run the pod."),
             Column("Current", "integer", "Nodes that run the pod."), Column("Ready", "integer", "Ready pods."),
             Column("Up-to-date", "integer", "Pods of the newest template."),
             Column("Available", "integer", "Pods that have been ready long enough."),
             Column("Node Selector", "string", "The template's node selector."), AgeColumn(), ContainersColumn(),
             ImagesColumn(), SelectorColumn()},
            DaemonSetRow}},
          {"PodDisruptionBudget",
           {{NameColumn(), Column("Min Available", "string", "Pods that must stay."),
             Column("Max Unavailable", "string", "Pods that may be missing."),
             Column("Allowed Disruptions", "integer", "Pods that may be evicted now."), AgeColumn()},
            BudgetRow}}};
}

}  // namespace berth::objects::internal
