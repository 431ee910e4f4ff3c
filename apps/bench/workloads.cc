#include "workloads.h"

#include <algorithm>
#include <map>

namespace berth::bench {
namespace {

constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr const char* kZone = "topology.kubernetes.io/zone";

api::Quantity Parse(const char* text) { return api::Quantity::Parse(text).value(); }

api::LabelSelector Color(const char* color) { return {{{"color", api::SelectorOperator::kIn, {color}, {}}}}; }

api::PodAffinityTerm Term(const char* color, const char* key) {
  return {Color(color), {kMeasuredNamespace, kExistingNamespace}, {}, key};
}

void Plain(api::Pod&) {}

void AntiAffinity(api::Pod& pod) {
  pod.metadata.labels.Set("color", "green");
  pod.spec.pod_anti_affinity.required.push_back(Term("green", kHostname));
}

void Affinity(api::Pod& pod) {
  pod.metadata.labels.Set("color", "blue");
  pod.spec.pod_affinity.required.push_back(Term("blue", kZone));
}

void PreferredAffinity(api::Pod& pod) {
  pod.metadata.labels.Set("color", "red");
  pod.spec.pod_affinity.preferred.push_back({1, Term("red", kHostname)});
}

void PreferredAntiAffinity(api::Pod& pod) {
  pod.metadata.labels.Set("color", "yellow");
  pod.spec.pod_anti_affinity.preferred.push_back({1, Term("yellow", kHostname)});
}

void NodeAffinity(api::Pod& pod) {
  api::NodeSelectorTerm term;
  term.match_expressions.push_back({kZone, api::SelectorOperator::kIn, {"zone1", "zone2"}, {}});
  pod.spec.node_affinity.emplace().required = {term};
}

void Spread(api::Pod& pod, api::UnsatisfiableConstraintAction action) {
  pod.metadata.labels.Set("color", "blue");
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = 5;
  constraint.topology_key = kZone;
  constraint.when_unsatisfiable = action;
  constraint.selector = Color("blue");
  pod.spec.topology_spread_constraints.push_back(std::move(constraint));
}

void HardSpread(api::Pod& pod) { Spread(pod, api::UnsatisfiableConstraintAction::kDoNotSchedule); }
void SoftSpread(api::Pod& pod) { Spread(pod, api::UnsatisfiableConstraintAction::kScheduleAnyway); }

int ZoneOf(const std::string& node_name) { return std::stoi(node_name.substr(5)) % kZoneCount; }

std::string VerifyOnePerNode(const std::vector<std::string>& node_names) {
  std::map<std::string, int> pods;
  for (const std::string& name : node_names) {
    if (++pods[name] > 1) return "two pods that repel each other are on " + name;
  }
  return {};
}

std::string VerifySpread(const std::vector<std::string>& node_names) {
  std::vector<int> pods(kZoneCount, 0);
  for (const std::string& name : node_names) ++pods[static_cast<std::size_t>(ZoneOf(name))];
  const auto [min, max] = std::minmax_element(pods.begin(), pods.end());
  return *max - *min > 5 ? "zones differ by " + std::to_string(*max - *min) + " pods" : std::string();
}

std::string VerifyNodeAffinity(const std::vector<std::string>& node_names) {
  for (const std::string& name : node_names) {
    if (ZoneOf(name) == 0) return "a pod is on " + name + ", in zone0";
  }
  return {};
}

}  // namespace

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> kWorkloads{
      {"basic", "0.1 CPU / 500 MiB pods", Plain, Plain, nullptr},
      {"topologyspreading", "hard spread over 3 zones, maxSkew 5", Plain, HardSpread, VerifySpread},
      {"preferredtopologyspreading", "soft spread over 3 zones, maxSkew 5", Plain, SoftSpread, nullptr},
      {"podantiaffinity", "required anti-affinity by hostname, all pods repel each other", AntiAffinity, AntiAffinity,
       VerifyOnePerNode},
      {"podaffinity", "required affinity by zone", Affinity, Affinity, nullptr},
      {"preferredaffinity", "preferred affinity by hostname", PreferredAffinity, PreferredAffinity, nullptr},
      {"preferredantiaffinity", "preferred anti-affinity by hostname", PreferredAntiAffinity, PreferredAntiAffinity,
       nullptr},
      {"nodeaffinity", "required node affinity by zone label", Plain, NodeAffinity, VerifyNodeAffinity},
  };
  return kWorkloads;
}

std::shared_ptr<const api::Node> MakeNode(int i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "node-" + std::to_string(i);
  node->metadata.uid = "uid-" + node->metadata.name;
  node->metadata.labels = api::StringMap({{kHostname, node->metadata.name},
                                          {"topology.kubernetes.io/region", "region1"},
                                          {kZone, "zone" + std::to_string(i % kZoneCount)}});
  node->allocatable = {{"cpu", Parse("4")}, {"memory", Parse("32Gi")}, {"pods", Parse("110")}};
  return node;
}

std::shared_ptr<api::Pod> MakePod(const std::string& name_space, int i) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = "pod-" + std::to_string(i);
  pod->metadata.namespace_name = name_space;
  // As long as a real one: uids are hashed and compared.
  pod->metadata.uid = "00000000-0000-4000-8000-" + name_space + "-" + std::to_string(1'000'000 + i);
  pod->metadata.resource_version = std::to_string(i + 1);
  pod->metadata.labels = api::StringMap(std::vector<api::StringMap::Entry>{{"app", "bench"}});
  pod->spec.scheduler_name = api::kDefaultSchedulerName;
  api::Container container;
  container.name = "pause";
  container.image = "pause";
  container.ports.emplace_back();
  container.requests = {{"cpu", Parse("100m")}, {"memory", Parse("500Mi")}};
  pod->spec.containers.push_back(container);
  pod->status.phase = api::PodPhase::kPending;
  return pod;
}

}  // namespace berth::bench
