// SPDX-License-Identifier: Apache-2.0
// Builders of objects for tests. Objects are valid by default, so that a case shows only what matters to it.
//   MakePod("web").Request("cpu", "500m").Toleration("gpu", "Exists").Info()
//   MakeNode("n1").Label("zone", "a").Taint("gpu", "", api::TaintEffect::kNoSchedule).Build()
// Text that does not parse ends the test with a BERTH_CHECK.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/framework/pod_info.h"

namespace berth::testing {

using Amounts = std::vector<std::pair<std::string, std::string>>;

// A resource list such as {{"cpu", "1"}, {"memory", "1Gi"}}.
api::ResourceList Resources(const Amounts& amounts);

api::Requirement In(std::string key, std::vector<std::string> values);
api::Requirement NotIn(std::string key, std::vector<std::string> values);
api::Requirement Exists(std::string key);
api::Requirement DoesNotExist(std::string key);
api::Requirement Gt(std::string key, std::string value);
api::Requirement Lt(std::string key, std::string value);
api::NodeSelectorTerm Term(std::vector<api::Requirement> expressions, std::vector<api::Requirement> fields = {});

// A selector with these matchLabels.
api::LabelSelector Labels(std::vector<std::pair<std::string, std::string>> labels);
// A pod affinity term for the pod's own namespace.
api::PodAffinityTerm AffinityTerm(std::string topology_key, std::optional<api::LabelSelector> selector);
// A constraint with the API's defaults.
api::TopologySpreadConstraint SpreadConstraint(
    std::int32_t max_skew, std::string topology_key, std::optional<api::LabelSelector> selector,
    api::UnsatisfiableConstraintAction action = api::UnsatisfiableConstraintAction::kDoNotSchedule);

// The pod with a class of its own, including all derived fields and annotations. Ids are unique in the process.
framework::PodInfoPtr MakePodInfo(const api::Pod& pod);

// Defaults: namespace "default", uid "uid-NAMESPACE-NAME", the default scheduler, one container without requests.
class PodBuilder {
 public:
  explicit PodBuilder(std::string name);

  PodBuilder& Namespace(std::string name);
  PodBuilder& Uid(std::string uid);
  PodBuilder& Label(std::string_view key, std::string_view value);
  PodBuilder& Annotation(std::string_view key, std::string_view value);
  PodBuilder& Node(std::string name);
  PodBuilder& Nominated(std::string node_name);
  PodBuilder& Priority(std::int32_t priority);
  PodBuilder& NeverPreempts();
  PodBuilder& SchedulerName(std::string name);
  PodBuilder& Request(std::string_view resource, std::string_view amount);  // of the first container
  PodBuilder& Image(std::string image);                                     // of the first container
  PodBuilder& HostPort(std::int32_t port, std::string protocol = "", std::string ip = "");
  PodBuilder& Container(std::string image, const Amounts& requests = {});
  PodBuilder& InitContainer(std::string image, const Amounts& requests = {});
  PodBuilder& Sidecar(std::string image, const Amounts& requests = {});
  PodBuilder& ImageVolume(std::string reference);
  PodBuilder& Overhead(const Amounts& amounts);
  PodBuilder& PodLevelRequests(const Amounts& amounts);
  PodBuilder& NodeSelector(std::string_view key, std::string_view value);
  PodBuilder& RequiredTerms(std::vector<api::NodeSelectorTerm> terms);
  PodBuilder& Preferred(std::int32_t weight, api::NodeSelectorTerm term);
  PodBuilder& Toleration(std::string key, std::string op, std::string value = "",
                         api::TaintEffect effect = api::TaintEffect::kNone);
  PodBuilder& Gate(std::string name);
  PodBuilder& InGroup(std::string pod_group_name);
  PodBuilder& Affinity(api::PodAffinityTerm term);      // podAffinity, required
  PodBuilder& AntiAffinity(api::PodAffinityTerm term);  // podAntiAffinity, required
  PodBuilder& PreferredAffinity(std::int32_t weight, api::PodAffinityTerm term);
  PodBuilder& PreferredAntiAffinity(std::int32_t weight, api::PodAffinityTerm term);
  PodBuilder& Spread(api::TopologySpreadConstraint constraint);
  PodBuilder& Volume(api::Volume volume);
  PodBuilder& Claim(std::string claim_name);  // a volume of this PersistentVolumeClaim
  PodBuilder& ResourceClaim(api::PodResourceClaim claim);
  PodBuilder& Controller(std::string api_version, std::string kind, std::string name);
  PodBuilder& Created(Time time);
  PodBuilder& Started(Time time);
  PodBuilder& Deleted(Time time);
  PodBuilder& Condition(api::PodCondition condition);

  const api::Pod& Build() const { return pod_; }
  framework::PodInfoPtr Info() const { return MakePodInfo(pod_); }

 private:
  api::Pod pod_;
  bool has_uid_ = false;
};

inline PodBuilder MakePod(std::string name) { return PodBuilder(std::move(name)); }

// Defaults: 4 CPUs, 32 Gi of memory, 110 pods and the hostname label.
class NodeBuilder {
 public:
  explicit NodeBuilder(std::string name);

  NodeBuilder& Label(std::string_view key, std::string_view value);
  NodeBuilder& Annotation(std::string_view key, std::string_view value);
  NodeBuilder& Allocatable(std::string_view resource, std::string_view amount);
  NodeBuilder& WithoutAllocatable();
  NodeBuilder& Taint(std::string key, std::string value, api::TaintEffect effect);
  NodeBuilder& Unschedulable();
  NodeBuilder& Image(std::vector<std::string> names, std::int64_t size_bytes);

  std::shared_ptr<const api::Node> Build() const { return std::make_shared<const api::Node>(node_); }

 private:
  api::Node node_;
};

inline NodeBuilder MakeNode(std::string name) { return NodeBuilder(std::move(name)); }

}  // namespace berth::testing
