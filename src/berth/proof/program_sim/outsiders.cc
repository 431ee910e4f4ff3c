// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/outsiders.h"

#include <algorithm>
#include <array>

#include "berth/base/check.h"
#include "berth/codec/json.h"

namespace berth::program_sim {
namespace {

namespace json = codec::json;

constexpr Duration kTick = std::chrono::milliseconds(500);
constexpr std::array<const char*, 3> kNamespaces = {"a", "b", "tenant"};
constexpr int kNodesMax = 12;

std::string PodPath(const LedgerPod& pod) { return "/api/v1/namespaces/" + pod.namespace_name + "/pods/" + pod.name; }

// Nodes of the same name have the same size.
bool IsLarge(int number) { return number % 3 == 0; }

json::object Amounts(int cpu, int pods) {
  return {{"cpu", std::to_string(cpu)},
          {"memory", std::to_string(2 * cpu) + "Gi"},
          {"pods", std::to_string(pods)},
          {"ephemeral-storage", "100Gi"}};
}

// A random one of those that the condition holds for; null: there is none.
template <typename Map, typename Condition>
const typename Map::mapped_type* Any(const Map& map, Random& random, const Condition& condition) {
  std::vector<const typename Map::mapped_type*> candidates;
  for (const auto& [key, value] : map) {
    if (condition(value)) candidates.push_back(&value);
  }
  return candidates.empty() ? nullptr : candidates[random.Below(candidates.size())];
}

}  // namespace

Outsiders::Outsiders(Agenda& agenda, SimServer& server, const Ledger& ledger, int roomy_cpu)
    : agenda_(agenda), server_(server), ledger_(ledger), roomy_cpu_(roomy_cpu) {
  const auto made = server_.Do(
      "POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
      codec::WriteJson(json::object{{"metadata", json::object{{"name", "high"}}}, {"value", kHighPriority}}));
  BERTH_CHECK(made.status == 201, made.body);
  agenda_.After(kTick, this, [this] { Tick(); });
}

Outsiders::~Outsiders() { agenda_.Forget(this); }

void Outsiders::Do(const Item& item) {
  Random random(item.dice);
  switch (item.kind) {
    case ItemKind::kAddNode: AddNode(random); break;
    case ItemKind::kDeleteNode:
    case ItemKind::kCordon:
    case ItemKind::kTaint:
    case ItemKind::kRelabel:
    case ItemKind::kShrink:
    case ItemKind::kGrow: ChangeNode(item.kind, random); break;
    case ItemKind::kAddPods: {
      const std::string namespace_name = kNamespaces[random.Below(kNamespaces.size())];
      const bool is_crowd = roomy_cpu_ > 0 && namespace_name == "tenant";
      for (std::uint64_t i = is_crowd ? 12 : 1 + random.Below(3); i > 0; --i) AddPod(random, namespace_name);
      break;
    }
    case ItemKind::kAddCrowd: {
      const std::string namespace_name =
          random.Below(2) == 0 ? "tenant" : kNamespaces[random.Below(kNamespaces.size())];
      for (std::uint64_t i = 20 + random.Below(60); i > 0; --i) AddPod(random, namespace_name);
      break;
    }
    case ItemKind::kDeletePod:
    case ItemKind::kFinishPod:
    case ItemKind::kUngate:
    case ItemKind::kTouchPod:
    case ItemKind::kOutsideBind: ChangePod(item.kind, random); break;
    case ItemKind::kBudget: ChangeBudget(random); break;
    default: break;
  }
}

void Outsiders::AddNode(Random& random) {
  const int number = static_cast<int>(random.Below(kNodesMax));
  const std::string name = "n" + std::to_string(number);
  const bool is_roomy = roomy_cpu_ > 0;
  const int cpu = is_roomy ? roomy_cpu_ : (IsLarge(number) ? 8 : 4);
  const json::object amounts = Amounts(cpu, is_roomy ? std::max(200, cpu) : cpu + 2);
  json::object labels{{"kubernetes.io/hostname", name}};
  if (random.Below(2) == 0) labels["disk"] = "ssd";
  json::object spec;
  if (random.Below(4) == 0) spec["taints"] = json::array{json::object{{"key", "gpu"}, {"effect", "NoSchedule"}}};
  const json::object node{{"metadata", json::object{{"name", name}, {"labels", std::move(labels)}}},
                          {"spec", std::move(spec)},
                          {"status", json::object{{"allocatable", amounts}, {"capacity", amounts}}}};
  server_.Do("POST", "/api/v1/nodes", codec::WriteJson(node));  // there may be one of that name
}

void Outsiders::ChangeNode(ItemKind kind, Random& random) {
  const LedgerNode* node = Any(ledger_.nodes(), random, [](const LedgerNode&) { return true; });
  if (node == nullptr) return;
  const std::string path = "/api/v1/nodes/" + node->name;
  switch (kind) {
    case ItemKind::kDeleteNode: server_.Do("DELETE", path); break;
    case ItemKind::kCordon:
      server_.Do("PATCH", path,
                 codec::WriteJson(json::object{{"spec", json::object{{"unschedulable", !node->is_unschedulable}}}}));
      break;
    case ItemKind::kTaint: {
      json::value taints = nullptr;
      if (!node->is_tainted) taints = json::array{json::object{{"key", "gpu"}, {"effect", "NoSchedule"}}};
      server_.Do("PATCH", path, codec::WriteJson(json::object{{"spec", json::object{{"taints", std::move(taints)}}}}));
      break;
    }
    case ItemKind::kRelabel: {
      json::value disk = nullptr;
      if (!node->is_ssd) disk = "ssd";
      const json::object labels{{"labels", json::object{{"disk", std::move(disk)}}}};
      server_.Do("PATCH", path, codec::WriteJson(json::object{{"metadata", labels}}));
      break;
    }
    default: {
      const int cpu = static_cast<int>(node->cpu_milli / 1000) + (kind == ItemKind::kGrow ? 2 : -1);
      if (cpu < 1) return;
      const json::object amounts = Amounts(cpu, cpu + 2);
      const json::object status{{"allocatable", amounts}, {"capacity", amounts}};
      server_.Do("PATCH", path + "/status", codec::WriteJson(json::object{{"status", status}}));
    }
  }
}

void Outsiders::AddPod(Random& random, const std::string& namespace_name) {
  const std::string name = "p" + std::to_string(next_pod_++);
  const std::string app = "app" + std::to_string(random.Below(4));
  json::object container{{"name", "c"}, {"image", "i"}};
  container["resources"] =
      json::object{{"requests", json::object{{"cpu", std::to_string(1 + random.Below(3))},
                                             {"memory", std::to_string(1 + random.Below(4)) + "Gi"}}}};
  if (random.Below(8) == 0) container["ports"] = json::array{json::object{{"containerPort", 80}, {"hostPort", 8080}}};
  json::object spec{{"schedulerName", random.Below(12) == 0 ? kOtherName : kOurName},
                    {"containers", json::array{std::move(container)}}};
  if (random.Below(5) == 0) spec["nodeSelector"] = json::object{{"disk", "ssd"}};
  if (random.Below(3) == 0) spec["tolerations"] = json::array{json::object{{"key", "gpu"}, {"operator", "Exists"}}};
  if (random.Below(4) == 0) spec["priorityClassName"] = "high";
  if (random.Below(10) == 0) spec["schedulingGates"] = json::array{json::object{{"name", "example.com/wait"}}};
  if (random.Below(8) == 0) {
    const json::object term{{"labelSelector", json::object{{"matchLabels", json::object{{"app", app}}}}},
                            {"topologyKey", "kubernetes.io/hostname"}};
    const json::object required{{"requiredDuringSchedulingIgnoredDuringExecution", json::array{term}}};
    spec["affinity"] = json::object{{"podAntiAffinity", required}};
  }
  const json::object pod{{"metadata", json::object{{"name", name}, {"labels", json::object{{"app", app}}}}},
                         {"spec", std::move(spec)}};
  const auto made = server_.Do("POST", "/api/v1/namespaces/" + namespace_name + "/pods", codec::WriteJson(pod));
  BERTH_CHECK(made.status == 201, made.body);
  new_pods_.push_back(namespace_name + "/" + name);
}

void Outsiders::ChangePod(ItemKind kind, Random& random) {
  const LedgerPod* pod = Any(ledger_.pods(), random, [kind](const LedgerPod& each) {
    switch (kind) {
      case ItemKind::kFinishPod: return !each.node.empty() && !each.is_finished;
      case ItemKind::kUngate: return each.is_gated;
      case ItemKind::kOutsideBind: return each.node.empty() && !each.is_gated && !each.is_terminating;
      default: return !each.is_terminating;
    }
  });
  if (pod == nullptr) return;
  const std::string path = PodPath(*pod);
  switch (kind) {
    case ItemKind::kDeletePod: Delete(*pod, random.Below(2) == 0); break;
    case ItemKind::kFinishPod: {
      const json::object status{{"phase", random.Below(2) == 0 ? "Succeeded" : "Failed"}};
      server_.Do("PATCH", path + "/status", codec::WriteJson(json::object{{"status", status}}));
      break;
    }
    case ItemKind::kUngate: server_.Do("PATCH", path, R"({"spec":{"schedulingGates":null}})"); break;
    case ItemKind::kTouchPod: {
      const json::object labels{{"labels", json::object{{"touched", std::to_string(random.Below(9))}}}};
      server_.Do("PATCH", path, codec::WriteJson(json::object{{"metadata", labels}}));
      break;
    }
    default: {
      const LedgerNode* node = Any(ledger_.nodes(), random, [](const LedgerNode&) { return true; });
      if (node == nullptr) return;
      const json::object binding{{"metadata", json::object{{"name", pod->name}}},
                                 {"target", json::object{{"kind", "Node"}, {"name", node->name}}}};
      server_.Do("POST", path + "/binding", codec::WriteJson(binding));
    }
  }
}

void Outsiders::Delete(const LedgerPod& pod, bool at_once) {
  server_.Do("DELETE", PodPath(pod) + (at_once ? "?gracePeriodSeconds=0" : ""));
}

void Outsiders::DeleteAllPods() {
  std::vector<LedgerPod> pods;
  for (const auto& [key, pod] : ledger_.pods()) pods.push_back(pod);
  for (const LedgerPod& pod : pods) Delete(pod, true);
}

// ---- Kubelets, the garbage collector, the disruption controller ----

void Outsiders::Tick() {
  ++ticks_;
  std::vector<LedgerPod> gone;
  std::uint64_t number = 0;
  for (const auto& [key, pod] : ledger_.pods()) {
    const bool is_orphan = !pod.node.empty() && !ledger_.nodes().contains(pod.node);
    // Deletions take different times.
    if ((pod.is_terminating || is_orphan) && (ticks_ + number++) % 4 == 0) gone.push_back(pod);
  }
  for (const LedgerPod& pod : gone) Delete(pod, true);
  UpdateBudgets();
  agenda_.After(kTick, this, [this] { Tick(); });
}

void Outsiders::ChangeBudget(Random& random) {
  const std::string namespace_name = kNamespaces[random.Below(kNamespaces.size())];
  const std::string folder = "/apis/policy/v1/namespaces/" + namespace_name + "/poddisruptionbudgets";
  const std::string name = "budget" + std::to_string(next_budget_++);
  Budget budget{namespace_name, "app" + std::to_string(random.Below(4)), 1 + static_cast<int>(random.Below(2)), -1};
  const json::object selector{{"matchLabels", json::object{{"app", budget.app}}}};
  const json::object spec{{"minAvailable", budget.min_available}, {"selector", selector}};
  const auto made = server_.Do(
      "POST", folder, codec::WriteJson(json::object{{"metadata", json::object{{"name", name}}}, {"spec", spec}}));
  BERTH_CHECK(made.status == 201, made.body);
  budgets_.emplace(name, std::move(budget));
}

void Outsiders::UpdateBudgets() {
  for (auto& [name, budget] : budgets_) {
    int healthy = 0;
    for (const auto& [key, pod] : ledger_.pods()) {
      if (pod.namespace_name == budget.namespace_name && pod.app == budget.app && !pod.node.empty() &&
          !pod.is_finished && !pod.is_terminating)
        ++healthy;
    }
    const int allowed = std::max(0, healthy - budget.min_available);
    if (allowed == budget.allowed) continue;
    budget.allowed = allowed;
    const json::object status{{"observedGeneration", 1},
                              {"disruptionsAllowed", allowed},
                              {"currentHealthy", healthy},
                              {"desiredHealthy", budget.min_available},
                              {"expectedPods", healthy}};
    server_.Do("PATCH",
               "/apis/policy/v1/namespaces/" + budget.namespace_name + "/poddisruptionbudgets/" + name + "/status",
               codec::WriteJson(json::object{{"status", status}}));
  }
}

}  // namespace berth::program_sim
