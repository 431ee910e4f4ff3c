// SPDX-License-Identifier: Apache-2.0
#include "berth/testing/builders.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "berth/base/check.h"
#include "berth/framework/make_pod_info.h"

namespace berth::testing {
namespace {

api::Quantity ParseAmount(std::string_view amount) {
  auto quantity = api::Quantity::Parse(amount);
  BERTH_CHECK(quantity.ok(), amount);
  return *quantity;
}

void SetAmount(api::ResourceList& list, std::string_view name, std::string_view amount) {
  const auto it =
      std::lower_bound(list.begin(), list.end(), name, [](const auto& e, std::string_view n) { return e.first < n; });
  if (it != list.end() && it->first == name) {
    it->second = ParseAmount(amount);
  } else {
    list.emplace(it, std::string(name), ParseAmount(amount));
  }
}

api::Requirement Make(std::string key, api::SelectorOperator op, std::vector<std::string> values) {
  api::Requirement requirement;
  requirement.key = std::move(key);
  requirement.op = op;
  requirement.values = std::move(values);
  return requirement;
}

api::Container MakeContainer(std::string name, std::string image, const Amounts& requests) {
  api::Container container;
  container.name = std::move(name);
  container.image = std::move(image);
  container.requests = Resources(requests);
  return container;
}

}  // namespace

api::ResourceList Resources(const Amounts& amounts) {
  api::ResourceList list;
  for (const auto& [name, amount] : amounts) SetAmount(list, name, amount);
  return list;
}

api::Requirement In(std::string key, std::vector<std::string> values) {
  return Make(std::move(key), api::SelectorOperator::kIn, std::move(values));
}
api::Requirement NotIn(std::string key, std::vector<std::string> values) {
  return Make(std::move(key), api::SelectorOperator::kNotIn, std::move(values));
}
api::Requirement Exists(std::string key) { return Make(std::move(key), api::SelectorOperator::kExists, {}); }
api::Requirement DoesNotExist(std::string key) {
  return Make(std::move(key), api::SelectorOperator::kDoesNotExist, {});
}
api::Requirement Gt(std::string key, std::string value) {
  return Make(std::move(key), api::SelectorOperator::kGt, {std::move(value)});
}
api::Requirement Lt(std::string key, std::string value) {
  return Make(std::move(key), api::SelectorOperator::kLt, {std::move(value)});
}

api::LabelSelector Labels(std::vector<std::pair<std::string, std::string>> labels) {
  api::LabelSelector selector;
  for (auto& [key, value] : labels) selector.requirements.push_back(In(std::move(key), {std::move(value)}));
  return selector;
}

api::PodAffinityTerm AffinityTerm(std::string topology_key, std::optional<api::LabelSelector> selector) {
  return {std::move(selector), {}, {}, std::move(topology_key)};
}

api::TopologySpreadConstraint SpreadConstraint(std::int32_t max_skew, std::string topology_key,
                                               std::optional<api::LabelSelector> selector,
                                               api::UnsatisfiableConstraintAction action) {
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = max_skew;
  constraint.topology_key = std::move(topology_key);
  constraint.when_unsatisfiable = action;
  constraint.selector = std::move(selector);
  return constraint;
}

api::NodeSelectorTerm Term(std::vector<api::Requirement> expressions, std::vector<api::Requirement> fields) {
  api::NodeSelectorTerm term;
  term.match_expressions = std::move(expressions);
  term.match_fields = std::move(fields);
  return term;
}

framework::PodInfoPtr MakePodInfo(const api::Pod& pod) {
  static std::atomic<std::uint64_t> next_id{1};
  auto pod_class = framework::MakePodClass(pod, pod.metadata.annotations);
  pod_class->id = next_id++;
  return framework::MakePodInfo(pod, std::move(pod_class));
}

PodBuilder::PodBuilder(std::string name) {
  pod_.metadata.uid = "uid-default-" + name;
  pod_.metadata.name = std::move(name);
  pod_.metadata.namespace_name = "default";
  pod_.spec.scheduler_name = api::kDefaultSchedulerName;
  pod_.spec.containers.push_back(MakeContainer("c", "images.example/app:1", {}));
  pod_.status.phase = api::PodPhase::kPending;
}

PodBuilder& PodBuilder::Namespace(std::string name) {
  if (!has_uid_) pod_.metadata.uid = "uid-" + name + "-" + pod_.metadata.name;
  pod_.metadata.namespace_name = std::move(name);
  return *this;
}
PodBuilder& PodBuilder::Uid(std::string uid) {
  has_uid_ = true;
  pod_.metadata.uid = std::move(uid);
  return *this;
}
PodBuilder& PodBuilder::Label(std::string_view key, std::string_view value) {
  pod_.metadata.labels.Set(key, value);
  return *this;
}
PodBuilder& PodBuilder::Annotation(std::string_view key, std::string_view value) {
  pod_.metadata.annotations.Set(key, value);
  return *this;
}
PodBuilder& PodBuilder::Node(std::string name) {
  pod_.spec.node_name = std::move(name);
  return *this;
}
PodBuilder& PodBuilder::Nominated(std::string node_name) {
  pod_.status.nominated_node_name = std::move(node_name);
  return *this;
}
PodBuilder& PodBuilder::Priority(std::int32_t priority) {
  pod_.spec.priority = priority;
  return *this;
}
PodBuilder& PodBuilder::NeverPreempts() {
  pod_.spec.preemption_policy = api::PreemptionPolicy::kNever;
  return *this;
}
PodBuilder& PodBuilder::SchedulerName(std::string name) {
  pod_.spec.scheduler_name = std::move(name);
  return *this;
}
PodBuilder& PodBuilder::Request(std::string_view resource, std::string_view amount) {
  SetAmount(pod_.spec.containers.front().requests, resource, amount);
  return *this;
}
PodBuilder& PodBuilder::Image(std::string image) {
  pod_.spec.containers.front().image = std::move(image);
  return *this;
}
PodBuilder& PodBuilder::HostPort(std::int32_t port, std::string protocol, std::string ip) {
  pod_.spec.containers.front().ports.push_back({port, std::move(ip), std::move(protocol)});
  return *this;
}
PodBuilder& PodBuilder::Container(std::string image, const Amounts& requests) {
  pod_.spec.containers.push_back(
      MakeContainer("c" + std::to_string(pod_.spec.containers.size()), std::move(image), requests));
  return *this;
}
PodBuilder& PodBuilder::InitContainer(std::string image, const Amounts& requests) {
  pod_.spec.init_containers.push_back(
      MakeContainer("i" + std::to_string(pod_.spec.init_containers.size()), std::move(image), requests));
  return *this;
}
PodBuilder& PodBuilder::Sidecar(std::string image, const Amounts& requests) {
  InitContainer(std::move(image), requests);
  pod_.spec.init_containers.back().restart_always = true;
  return *this;
}
PodBuilder& PodBuilder::ImageVolume(std::string reference) {
  pod_.spec.image_volumes.push_back(std::move(reference));
  return *this;
}
PodBuilder& PodBuilder::Overhead(const Amounts& amounts) {
  pod_.spec.overhead = Resources(amounts);
  return *this;
}
PodBuilder& PodBuilder::PodLevelRequests(const Amounts& amounts) {
  pod_.spec.requests = Resources(amounts);
  return *this;
}
PodBuilder& PodBuilder::NodeSelector(std::string_view key, std::string_view value) {
  pod_.spec.node_selector.Set(key, value);
  return *this;
}
PodBuilder& PodBuilder::RequiredTerms(std::vector<api::NodeSelectorTerm> terms) {
  if (!pod_.spec.node_affinity) pod_.spec.node_affinity.emplace();
  pod_.spec.node_affinity->required = std::move(terms);
  return *this;
}
PodBuilder& PodBuilder::Preferred(std::int32_t weight, api::NodeSelectorTerm term) {
  if (!pod_.spec.node_affinity) pod_.spec.node_affinity.emplace();
  pod_.spec.node_affinity->preferred.push_back({weight, std::move(term)});
  return *this;
}
PodBuilder& PodBuilder::Toleration(std::string key, std::string op, std::string value, api::TaintEffect effect) {
  pod_.spec.tolerations.push_back({std::move(key), std::move(op), std::move(value), effect});
  return *this;
}
PodBuilder& PodBuilder::Gate(std::string name) {
  pod_.spec.scheduling_gates.push_back(std::move(name));
  return *this;
}

PodBuilder& PodBuilder::InGroup(std::string pod_group_name) {
  pod_.spec.pod_group_name = std::move(pod_group_name);
  return *this;
}
PodBuilder& PodBuilder::Affinity(api::PodAffinityTerm term) {
  pod_.spec.pod_affinity.required.push_back(std::move(term));
  return *this;
}

PodBuilder& PodBuilder::AntiAffinity(api::PodAffinityTerm term) {
  pod_.spec.pod_anti_affinity.required.push_back(std::move(term));
  return *this;
}

PodBuilder& PodBuilder::PreferredAffinity(std::int32_t weight, api::PodAffinityTerm term) {
  pod_.spec.pod_affinity.preferred.push_back({weight, std::move(term)});
  return *this;
}

PodBuilder& PodBuilder::PreferredAntiAffinity(std::int32_t weight, api::PodAffinityTerm term) {
  pod_.spec.pod_anti_affinity.preferred.push_back({weight, std::move(term)});
  return *this;
}

PodBuilder& PodBuilder::Spread(api::TopologySpreadConstraint constraint) {
  pod_.spec.topology_spread_constraints.push_back(std::move(constraint));
  return *this;
}

PodBuilder& PodBuilder::Volume(api::Volume volume) {
  pod_.spec.volumes.push_back(std::move(volume));
  return *this;
}

PodBuilder& PodBuilder::Claim(std::string claim_name) {
  std::string name = "volume-" + std::to_string(pod_.spec.volumes.size());
  return Volume({std::move(name), {api::VolumeKind::kPersistentVolumeClaim, std::move(claim_name), {}, {}, {}, false}});
}

PodBuilder& PodBuilder::ResourceClaim(api::PodResourceClaim claim) {
  pod_.spec.resource_claims.push_back(std::move(claim));
  return *this;
}

PodBuilder& PodBuilder::Controller(std::string api_version, std::string kind, std::string name) {
  std::string uid = "uid-" + name;
  pod_.metadata.controller =
      api::OwnerReference{std::move(api_version), std::move(kind), std::move(name), std::move(uid)};
  return *this;
}

PodBuilder& PodBuilder::Created(Time time) {
  pod_.metadata.creation_time = time;
  return *this;
}
PodBuilder& PodBuilder::Started(Time time) {
  pod_.status.start_time = time;
  return *this;
}
PodBuilder& PodBuilder::Deleted(Time time) {
  pod_.metadata.deletion_time = time;
  return *this;
}
PodBuilder& PodBuilder::Condition(api::PodCondition condition) {
  pod_.status.conditions.push_back(std::move(condition));
  return *this;
}

NodeBuilder::NodeBuilder(std::string name) {
  node_.metadata.uid = "uid-" + name;
  node_.metadata.labels.Set("kubernetes.io/hostname", name);
  node_.metadata.name = std::move(name);
  node_.allocatable = Resources({{"cpu", "4"}, {"memory", "32Gi"}, {"pods", "110"}});
}

NodeBuilder& NodeBuilder::Label(std::string_view key, std::string_view value) {
  node_.metadata.labels.Set(key, value);
  return *this;
}
NodeBuilder& NodeBuilder::Annotation(std::string_view key, std::string_view value) {
  node_.metadata.annotations.Set(key, value);
  return *this;
}
NodeBuilder& NodeBuilder::Allocatable(std::string_view resource, std::string_view amount) {
  SetAmount(node_.allocatable, resource, amount);
  return *this;
}
NodeBuilder& NodeBuilder::WithoutAllocatable() {
  node_.allocatable.clear();
  return *this;
}
NodeBuilder& NodeBuilder::Taint(std::string key, std::string value, api::TaintEffect effect) {
  node_.taints.push_back({std::move(key), std::move(value), effect});
  return *this;
}
NodeBuilder& NodeBuilder::Unschedulable() {
  node_.unschedulable = true;
  return *this;
}
NodeBuilder& NodeBuilder::Image(std::vector<std::string> names, std::int64_t size_bytes) {
  node_.images.push_back({std::move(names), size_bytes});
  return *this;
}

}  // namespace berth::testing
