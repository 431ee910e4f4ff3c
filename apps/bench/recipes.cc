// SPDX-License-Identifier: Apache-2.0
#include "recipes.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"

namespace berth::bench {
namespace {

using Action = api::UnsatisfiableConstraintAction;

void Color(api::Pod& pod, const std::string& color) { pod.metadata.labels.Set("color", color); }

}  // namespace

api::Quantity Amount(const char* text) {
  const auto parsed = api::Quantity::Parse(text);
  BERTH_CHECK(parsed.ok(), text);
  return *parsed;
}

api::LabelSelector Selecting(std::string key, std::string value) {
  return {{{std::move(key), api::SelectorOperator::kIn, {std::move(value)}, {}}}};
}

api::PodAffinityTerm Term(const std::string& color, const char* key) {
  return {Selecting("color", color), {kMeasuredNamespace, kExistingNamespace}, {}, key};
}

void Request(api::Pod& pod, const char* cpu, const char* memory) {
  pod.spec.containers.front().requests = {{"cpu", Amount(cpu)}, {"memory", Amount(memory)}};
}

void Basic(api::Pod& pod) { Request(pod, "100m", "500Mi"); }
void Light(api::Pod& pod) { pod.spec.containers.front().requests.clear(); }

void AntiAffinity(api::Pod& pod) {
  Basic(pod);
  Color(pod, "green");
  pod.spec.pod_anti_affinity.required.push_back(Term("green", kHostname));
}

void MatchingAnti(api::Pod& pod) {
  Basic(pod);
  Color(pod, "green");
}

void Affinity(api::Pod& pod) {
  Basic(pod);
  Color(pod, "blue");
  pod.spec.pod_affinity.required.push_back(Term("blue", kZone));
}

void PreferredAffinity(api::Pod& pod) {
  Basic(pod);
  Color(pod, "red");
  pod.spec.pod_affinity.preferred.push_back({1, Term("red", kHostname)});
}

void PreferredAntiAffinity(api::Pod& pod) {
  Basic(pod);
  Color(pod, "yellow");
  pod.spec.pod_anti_affinity.preferred.push_back({1, Term("yellow", kHostname)});
}

void NodeAffinity(api::Pod& pod) {
  Basic(pod);
  api::NodeSelectorTerm term;
  term.match_expressions.push_back({kZone, api::SelectorOperator::kIn, {"zone1", "zone2"}, {}});
  pod.spec.node_affinity.emplace().required = {term};
}

void PinTo(api::Pod& pod, const std::string& node_name) {
  api::NodeSelectorTerm term;
  term.match_fields.push_back({"metadata.name", api::SelectorOperator::kIn, {node_name}, {}});
  pod.spec.node_affinity.emplace().required = {term};
}

void Spread(api::Pod& pod, const char* key, int skew, Action action, const char* color) {
  Basic(pod);
  Color(pod, color);
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = skew;
  constraint.topology_key = key;
  constraint.when_unsatisfiable = action;
  constraint.selector = Selecting("color", color);
  pod.spec.topology_spread_constraints.push_back(std::move(constraint));
}

void HardSpread(api::Pod& pod) { Spread(pod, kZone, 5, Action::kDoNotSchedule, "blue"); }
void SoftSpread(api::Pod& pod) { Spread(pod, kZone, 5, Action::kScheduleAnyway, "blue"); }
void HostnameSpread(api::Pod& pod) { Spread(pod, kHostname, 1, Action::kDoNotSchedule, "blue"); }

void LowPriority(api::Pod& pod) {
  Request(pod, "900m", "500Mi");
  pod.spec.priority = 0;
}

void HighPriority(api::Pod& pod) {
  Request(pod, "3", "500Mi");
  pod.spec.priority = 10;
}

void TooBig(api::Pod& pod) {
  Request(pod, "9", "500Mi");
  pod.spec.priority = 10;
}

void Gate(api::Pod& pod) { pod.spec.scheduling_gates = {"bench.test/hold"}; }

Recipe Kinds(std::initializer_list<Dress> dresses) {
  Recipe recipe;
  recipe.kinds = static_cast<int>(dresses.size());
  recipe.dress = [all = std::vector<Dress>(dresses)](api::Pod& pod, int kind) {
    all[static_cast<std::size_t>(kind)](pod);
  };
  return recipe;
}

std::string DeploymentName(int i) { return "web-" + std::to_string(i); }
std::string ReplicaSetName(int i) { return DeploymentName(i) + "-7c5ddbdf54"; }

Recipe DeploymentPods(int count, int pods, bool interleaved) {
  Recipe recipe;
  recipe.kinds = count;
  if (!interleaved) {
    const int each = std::max(1, (pods + count - 1) / count);
    recipe.kind_of = [=](int i) { return std::min(i / each, count - 1); };
  }
  recipe.dress = [](api::Pod& pod, int kind) {
    Basic(pod);
    pod.metadata.namespace_name = kMeasuredNamespace;
    pod.metadata.labels.Set("app", DeploymentName(kind));
    pod.metadata.labels.Set("pod-template-hash", "7c5ddbdf54");
    pod.metadata.controller =
        api::OwnerReference{"apps/v1", "ReplicaSet", ReplicaSetName(kind), "uid-" + ReplicaSetName(kind)};
  };
  return recipe;
}

framework::AnyObject MakeReplicaSet(int i) {
  auto set = std::make_shared<api::ReplicaSet>();
  set->metadata.namespace_name = kMeasuredNamespace;
  set->metadata.name = ReplicaSetName(i);
  set->metadata.uid = "uid-" + set->metadata.name;
  set->selector = Selecting("app", DeploymentName(i));
  set->selector->requirements.push_back({"pod-template-hash", api::SelectorOperator::kIn, {"7c5ddbdf54"}, {}});
  return std::shared_ptr<const api::ReplicaSet>(std::move(set));
}

framework::AnyObject MakeService(int i) {
  auto service = std::make_shared<api::Service>();
  service->metadata.namespace_name = kMeasuredNamespace;
  service->metadata.name = DeploymentName(i);
  service->metadata.uid = "uid-service-" + service->metadata.name;
  service->selector = api::StringMap({api::StringMap::Entry{"app", DeploymentName(i)}});
  return std::shared_ptr<const api::Service>(std::move(service));
}

framework::AnyObject MakeNamespace(const std::string& name, const api::StringMap& labels) {
  auto object = std::make_shared<api::Namespace>();
  object->metadata.name = name;
  object->metadata.uid = "uid-" + name;
  object->metadata.labels = labels;
  return std::shared_ptr<const api::Namespace>(std::move(object));
}

}  // namespace berth::bench
