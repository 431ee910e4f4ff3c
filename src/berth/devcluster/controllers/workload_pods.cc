// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/workload_pods.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::controllers {
namespace {

struct Toleration {
  std::string_view key;
  std::string_view effect;
};

constexpr std::array kDaemonTolerations = {Toleration{"node.kubernetes.io/not-ready", "NoExecute"},
                                           Toleration{"node.kubernetes.io/unreachable", "NoExecute"},
                                           Toleration{"node.kubernetes.io/disk-pressure", "NoSchedule"},
                                           Toleration{"node.kubernetes.io/memory-pressure", "NoSchedule"},
                                           Toleration{"node.kubernetes.io/pid-pressure", "NoSchedule"},
                                           Toleration{"node.kubernetes.io/unschedulable", "NoSchedule"}};
constexpr Toleration kHostNetworkToleration{"node.kubernetes.io/network-unavailable", "NoSchedule"};

bool IsTrue(const json::object& object, std::string_view name) {
  const json::value* value = Member(object, name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

json::object& LabelsOf(json::object& pod_template) { return ObjectIn(ObjectIn(pod_template, "metadata"), "labels"); }

void Tolerate(const Toleration& toleration, json::array& all) {
  json::object added{{"key", toleration.key}, {"operator", "Exists"}, {"effect", toleration.effect}};
  if (std::find(all.begin(), all.end(), added) == all.end()) all.push_back(std::move(added));
}

void AddDaemonTolerations(json::object& spec) {
  json::value& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations.emplace_array();
  for (const Toleration& each : kDaemonTolerations) Tolerate(each, tolerations.as_array());
  if (IsTrue(spec, "hostNetwork")) Tolerate(kHostNetworkToleration, tolerations.as_array());
}

// As the API server does when a Job is created: its pods are known by these.
void AddJobLabels(const WorkloadView& job, json::object& labels) {
  if (IsTrue(job.spec, "manualSelector")) return;
  for (const std::string prefix : {"", "batch.kubernetes.io/"}) {
    labels[prefix + "controller-uid"] = job.uid;
    labels[prefix + "job-name"] = job.name;
  }
}

std::vector<const json::object*> ClaimTemplates(const WorkloadView& set) {
  std::vector<const json::object*> all;
  const json::value* list = Member(set.spec, "volumeClaimTemplates");
  if (list == nullptr || !list->is_array()) return all;
  for (const json::value& each : list->get_array()) {
    if (each.is_object()) all.push_back(&each.get_object());
  }
  return all;
}

std::string ClaimTemplateName(const json::object& claim) {
  const json::object* metadata = ObjectOf(claim, "metadata");
  return metadata == nullptr ? std::string() : std::string(StringOf(*metadata, "name"));
}

PodDecision::New ClaimOf(const WorkloadView& set, const json::object& from, const std::string& pod_name) {
  const std::string name = ClaimTemplateName(from) + '-' + pod_name;
  json::object claim = from;
  claim["apiVersion"] = "v1";
  claim["kind"] = "PersistentVolumeClaim";
  claim.erase("status");
  json::object& metadata = ObjectIn(claim, "metadata");
  metadata["name"] = name;
  metadata["namespace"] = set.namespace_name;
  if (const json::object* selector = ObjectOf(set.spec, "selector")) {
    if (const json::object* labels = ObjectOf(*selector, "matchLabels")) {
      json::object& own = ObjectIn(metadata, "labels");
      for (const auto& [key, value] : *labels) own[key] = value;
    }
  }
  return {name, std::move(claim)};
}

// A claim takes the place of the template's volume of its name.
void UseClaims(const std::vector<const json::object*>& claims, const std::string& pod_name, json::object& spec) {
  if (claims.empty()) return;
  json::array volumes;
  for (const json::object* claim : claims) {
    const std::string own = ClaimTemplateName(*claim);
    volumes.push_back(
        json::object{{"name", own}, {"persistentVolumeClaim", json::object{{"claimName", own + '-' + pod_name}}}});
  }
  if (const json::value* given = Member(spec, "volumes"); given != nullptr && given->is_array()) {
    for (const json::value& each : given->get_array()) {
      const bool is_replaced = std::any_of(claims.begin(), claims.end(), [&each](const json::object* claim) {
        return each.is_object() && StringOf(each.get_object(), "name") == ClaimTemplateName(*claim);
      });
      if (!is_replaced) volumes.push_back(each);
    }
  }
  spec["volumes"] = std::move(volumes);
}

json::object NodeAffinityTo(const std::string& node) {
  json::object field{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{json::string(node)}}};
  json::object term{{"matchFields", json::array{std::move(field)}}};
  return {{"nodeSelectorTerms", json::array{std::move(term)}}};
}

// Owned by `owner`; `base` is its generateName.
json::object PodFromTemplate(const ObjectView& owner, std::string_view kind, const json::object& pod_template,
                             const std::string& name, const std::string& base) {
  json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
  json::object metadata;
  if (const json::object* given = ObjectOf(pod_template, "metadata")) {
    for (const char* each : {"labels", "annotations", "finalizers"}) {
      if (const json::value* value = Member(*given, each)) metadata[each] = *value;
    }
  }
  metadata["name"] = name;
  metadata["generateName"] = base;
  metadata["namespace"] = owner.namespace_name;
  metadata["ownerReferences"] = json::array{OwnerReferenceTo(owner, kind)};
  pod["metadata"] = std::move(metadata);
  const json::object* spec = ObjectOf(pod_template, "spec");
  pod["spec"] = spec == nullptr ? json::object() : *spec;
  return pod;
}

}  // namespace

json::object ReplicaSetTemplate(const WorkloadView& deployment, const std::string& hash) {
  json::object pod_template = deployment.Template();
  LabelsOf(pod_template)[kTemplateHashLabel] = hash;
  return pod_template;
}

PodMaker::PodMaker(std::string_view kind, const WorkloadView& workload)
    : kind_(kind), workload_(workload), template_(workload.Template()) {
  if (kind == "StatefulSet") {
    revision_ = workload.name + '-' + TemplateHash(template_, 0);
  } else if (kind == "DaemonSet") {
    revision_ = TemplateHash(template_, 0);
    AddDaemonTolerations(ObjectIn(template_, "spec"));
    LabelsOf(template_)["pod-template-generation"] = std::to_string(workload.generation);
  } else if (kind == "Job") {
    AddJobLabels(workload, LabelsOf(template_));
  }
  if (!revision_.empty()) LabelsOf(template_)[kRevisionHashLabel] = revision_;
}

json::object PodMaker::Make(const std::string& name, std::int64_t number) const {
  // The names of all pods but those of a StatefulSet end in five letters.
  constexpr std::size_t kSuffix = 5;
  const bool is_stateful = kind_ == "StatefulSet";
  const std::string base =
      is_stateful ? workload_.name + '-' : name.substr(0, name.size() - std::min(kSuffix, name.size()));
  json::object pod = PodFromTemplate(workload_, kind_, template_, name, base);
  if (number < 0) return pod;
  if (is_stateful) {
    NumberStatefulPod(name, number, pod);
    return pod;
  }
  json::object& metadata = pod["metadata"].as_object();
  for (const char* map : {"labels", "annotations"}) {
    ObjectIn(metadata, map)[kCompletionIndexKey] = std::to_string(number);
  }
  json::object& spec = pod["spec"].as_object();
  if (StringOf(spec, "hostname").empty()) spec["hostname"] = workload_.name + '-' + std::to_string(number);
  return pod;
}

void PodMaker::NumberStatefulPod(const std::string& name, std::int64_t ordinal, json::object& pod) const {
  json::object& labels = ObjectIn(pod["metadata"].as_object(), "labels");
  labels["statefulset.kubernetes.io/pod-name"] = name;
  labels["apps.kubernetes.io/pod-index"] = std::to_string(ordinal);
  json::object& spec = pod["spec"].as_object();
  spec["hostname"] = name;
  if (const std::string_view service = StringOf(workload_.spec, "serviceName"); !service.empty())
    spec["subdomain"] = View(service);
  UseClaims(ClaimTemplates(workload_), name, spec);
}

json::object PodMaker::MakeFor(const std::string& node, const std::string& name) const {
  json::object pod = Make(name);
  // Upstream, too, replaces what the template requires: it has been answered for this node.
  json::object& of_node = ObjectIn(ObjectIn(pod["spec"].as_object(), "affinity"), "nodeAffinity");
  of_node["requiredDuringSchedulingIgnoredDuringExecution"] = NodeAffinityTo(node);
  return pod;
}

std::vector<PodDecision::New> PodMaker::Claims(std::int64_t ordinal) const {
  std::vector<PodDecision::New> claims;
  for (const json::object* claim : ClaimTemplates(workload_)) {
    claims.push_back(ClaimOf(workload_, *claim, workload_.name + '-' + std::to_string(ordinal)));
  }
  return claims;
}

}  // namespace berth::controllers
