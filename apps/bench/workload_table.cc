// SPDX-License-Identifier: Apache-2.0
#include "workload_table.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "recipes.h"
#include "rules.h"

namespace berth::bench {
namespace {

using framework::ObjectKind;

// A real scheduler binds about 300 pods a second with an API server: what bench/cluster does five times a second
// happens here after each sixty pods.
constexpr int kChurnCycles = 60;
constexpr int kPodsOnTarget = 90'000;
constexpr int kLargePodCycles = 100;

void MakeBasic(Workload&) {}

void MakePodAntiAffinity(Workload& w) {
  w.existing = w.measured = Kinds({AntiAffinity});
  w.rule = [](const Placements& placements) { return CheckOnePerNode(placements, true); };
}

void MakeMatchingAntiAffinity(Workload& w) {
  w.existing = Kinds({AntiAffinity});
  w.measured = Kinds({MatchingAnti});
  w.rule = CheckApart;
}

void MakePodAffinity(Workload& w) { w.existing = w.measured = Kinds({Affinity}); }
void MakePreferredAffinity(Workload& w) { w.existing = w.measured = Kinds({PreferredAffinity}); }
void MakePreferredAntiAffinity(Workload& w) { w.existing = w.measured = Kinds({PreferredAntiAffinity}); }

void MakeNodeAffinity(Workload& w) {
  w.existing = w.measured = Kinds({NodeAffinity});
  w.rule = [](const Placements& placements) { return CheckZones(placements, AllPods); };
}

void MakeTopologySpreading(Workload& w) {
  w.measured = Kinds({HardSpread});
  w.rule = [](const Placements& placements) { return CheckZoneSpread(placements, 5, AllPods); };
}

void MakePreferredTopologySpreading(Workload& w) { w.measured = Kinds({SoftSpread}); }

void MakePreemption(Workload& w) {
  w.existing = Kinds({LowPriority});
  w.measured = Kinds({HighPriority});
}

// Pods of `kind` are added repeatedly.
void ChurnPods(Workload& w, Dress kind) {
  w.side = Kinds({kind});
  w.step_cycles = kChurnCycles;
  w.step = [](Feed& feed, int step) { feed.AddPod(Group::kSide, step); };
}

void MakePreemptionAsync(Workload& w) {
  w.existing = Kinds({LowPriority});
  ChurnPods(w, HighPriority);
}

void MakeUnschedulable(Workload& w) { ChurnPods(w, TooBig); }

// The last node is empty; it is added and removed repeatedly.
void AddEmptyNode(Workload& w) {
  w.node = [last = w.shape.nodes - 1](api::Node& node, int i) {
    if (i == last) node.allocatable = {{"cpu", Amount("0")}, {"memory", Amount("0")}, {"pods", Amount("0")}};
  };
  w.home = [count = std::max(1, w.shape.nodes - 1)](int i) { return i % count; };
}

void MakeBacklog(Workload& w) {
  AddEmptyNode(w);
  w.side = Kinds({TooBig});
  w.side_count = w.shape.pods;
  w.step_cycles = 5 * kChurnCycles;
  w.step = [last = w.shape.nodes - 1](Feed& feed, int step) {
    step % 2 == 0 ? feed.RemoveNode(last) : feed.SetNode(last);
  };
}

void MakeMixedChurn(Workload& w) {
  AddEmptyNode(w);
  w.side = Kinds({TooBig});
  w.step_cycles = 5 * kChurnCycles;
  w.step = [last = w.shape.nodes - 1](Feed& feed, int step) {
    if (step > 0) {
      feed.RemovePod(Group::kSide, step - 1);
      feed.RemoveObject(ObjectKind::kService, std::string(kMeasuredNamespace) + "/" + DeploymentName(step - 1));
    }
    feed.RemoveNode(last);
    feed.SetNode(last);
    feed.AddPod(Group::kSide, step);
    feed.SetObject(MakeService(step));
  };
}

Recipe FiveTemplates() { return Kinds({Basic, Affinity, AntiAffinity, PreferredAffinity, PreferredAntiAffinity}); }

// Chooses templates so that no two pods on a node are of the same of five templates.
void TurnTemplates(Recipe& recipe, int nodes) {
  recipe.kind_of = [kinds = recipe.kinds, nodes](int i) { return (i + i / nodes) % kinds; };
}

void MakeMixedBase(Workload& w) {
  w.existing = FiveTemplates();
  TurnTemplates(w.existing, w.shape.nodes);
}

void WhiteSpread(api::Pod& pod) { Spread(pod, kZone, 5, api::UnsatisfiableConstraintAction::kDoNotSchedule, "white"); }
void BlackSpread(api::Pod& pod) { Spread(pod, kZone, 5, api::UnsatisfiableConstraintAction::kScheduleAnyway, "black"); }

Recipe SevenTemplates() {
  return Kinds({Basic, Affinity, PreferredAffinity, PreferredAntiAffinity, NodeAffinity, WhiteSpread, BlackSpread});
}

// Seven templates in turn, each with 143 sets of labels: 1,001 classes.
void MakeMixed(Workload& w) {
  constexpr int kLabelSets = 143;
  w.existing = FiveTemplates();
  TurnTemplates(w.existing, w.shape.nodes);
  const Recipe seven = SevenTemplates();
  w.measured.kinds = seven.kinds * kLabelSets;
  w.measured.dress = [seven](api::Pod& pod, int kind) {
    seven.dress(pod, kind % seven.kinds);
    pod.metadata.labels.Set("app", "app-" + std::to_string(kind / seven.kinds));
  };
  w.rule = [](const Placements& placements) {
    const std::string zones = CheckZones(placements, [](int i) { return i % 7 == 4; });
    return zones.empty() ? CheckZoneSpread(placements, 5, [](int i) { return i % 7 == 5; }) : zones;
  };
}

std::string VolumeName(int i) { return "pv-" + std::to_string(i); }
std::string ClaimName(int i) { return "pvc-" + std::to_string(i); }

// A volume and a claim that are bound to each other.
void AddVolume(Workload& w, int i) {
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.namespace_name = kMeasuredNamespace;
  claim->metadata.name = ClaimName(i);
  claim->metadata.uid = "uid-" + claim->metadata.name;
  claim->metadata.resource_version = "1";
  claim->metadata.annotations.Set("pv.kubernetes.io/bind-completed", "true");
  claim->storage_class_name = "";
  claim->access_modes = {"ReadOnlyMany"};
  claim->requests = {{"storage", Amount("1Gi")}};
  claim->volume_name = VolumeName(i);
  claim->phase = "Bound";
  auto volume = std::make_shared<api::PersistentVolume>();
  volume->metadata.name = VolumeName(i);
  volume->metadata.uid = "uid-" + volume->metadata.name;
  volume->metadata.resource_version = "1";
  volume->spec.capacity = {{"storage", Amount("1Gi")}};
  volume->spec.access_modes = {"ReadOnlyMany"};
  volume->spec.claim_ref = api::ClaimReference{kMeasuredNamespace, claim->metadata.name, claim->metadata.uid};
  volume->spec.source.kind = api::VolumeKind::kCsi;
  volume->spec.source.driver = kCsiDriver;
  volume->spec.source.id = VolumeName(i);
  volume->phase = "Bound";
  w.objects.push_back(std::shared_ptr<const api::PersistentVolumeClaim>(std::move(claim)));
  w.objects.push_back(std::shared_ptr<const api::PersistentVolume>(std::move(volume)));
}

void MakeCsiPv(Workload& w) {
  constexpr int kPlaces = 39;
  for (int i = 0; i < w.shape.nodes; ++i) {
    auto node = std::make_shared<api::CsiNode>();
    node->metadata.name = NodeName(i);
    node->metadata.uid = "uid-csi-" + node->metadata.name;
    node->drivers.push_back({kCsiDriver, node->metadata.name, {}, kPlaces});
    w.objects.push_back(std::shared_ptr<const api::CsiNode>(std::move(node)));
  }
  for (int i = 0; i < w.shape.pods; ++i) AddVolume(w, i);
  w.measured.vary = [](api::Pod& pod, int i) {
    pod.spec.volumes.resize(1);
    pod.spec.volumes.front().name = "vol";
    pod.spec.volumes.front().source.kind = api::VolumeKind::kPersistentVolumeClaim;
    pod.spec.volumes.front().source.id = ClaimName(i);
  };
}

// The last node has room for all pods.
void AddTarget(Workload& w) {
  w.node = [target = w.shape.nodes - 1, room = std::max(kPodsOnTarget, 2 * w.shape.pods)](api::Node& node, int i) {
    if (i != target) return;
    for (auto& [name, amount] : node.allocatable) {
      if (name == "pods") amount = api::Quantity::FromValue(room);
    }
  };
}

void MakeDaemonSet(Workload& w) {
  AddTarget(w);
  w.measured.dress = [target = NodeName(w.shape.nodes - 1)](api::Pod& pod, int) {
    Light(pod);
    PinTo(pod, target);
  };
  w.rule = [target = w.shape.nodes - 1](const Placements& placements) {
    return CheckPinned(placements, [target](int) { return target; });
  };
}

void MakeDaemonSetEach(Workload& w) {
  w.measured.kinds = w.shape.nodes;
  w.measured.dress = [](api::Pod& pod, int kind) {
    Light(pod);
    PinTo(pod, NodeName(kind));
  };
  w.rule = [nodes = w.shape.nodes](const Placements& placements) {
    return CheckPinned(placements, [nodes](int i) { return i % nodes; });
  };
}

// One node; pods that are gated; light pods that are deleted while others are measured.
void MakeGated(Workload& w) {
  constexpr int kGated = 1000, kCyclesADeletion = 9;
  w.shape.nodes = 1;
  AddTarget(w);
  w.existing = w.measured = Kinds({Light});
  w.shape.existing = 1000;
  w.side.dress = [](api::Pod& pod, int) {
    Light(pod);
    Gate(pod);
  };
  w.side_count = kGated;
  w.step_cycles = kCyclesADeletion;
  w.step = [count = w.shape.existing](Feed& feed, int step) {
    if (step < count) feed.RemovePod(Group::kExisting, step);
  };
}

void MakeGatedAffinity(Workload& w) {
  constexpr int kGated = 1000;
  w.shape.nodes = 1;
  w.shape.existing = 0;
  AddTarget(w);
  const auto dress = [](api::Pod& pod, int) {
    Light(pod);
    pod.metadata.labels.Set("app", "bench");
  };
  w.measured.dress = dress;
  w.side.dress = [dress](api::Pod& pod, int kind) {
    dress(pod, kind);
    Gate(pod);
    pod.spec.pod_affinity.required.push_back({Selecting("app", "bench"), {}, {}, kHostname});
  };
  w.side_count = kGated;
}

// --- Workloads of berth-bench only ---

// All pods differ in their requests and labels.
void MakeUnique(Workload& w) {
  w.measured.vary = [](api::Pod& pod, int i) {
    auto& requests = pod.spec.containers.front().requests;
    requests[0].second = api::Quantity::FromMilli(100 + i % 97);
    requests[1].second = api::Quantity::FromValue((std::int64_t{500} << 20) + std::int64_t{4096} * i);
    pod.metadata.labels.Set("app", "app-" + std::to_string(i));
  };
}

void MakeSpreadHostname(Workload& w) {
  w.measured = Kinds({HostnameSpread});
  w.rule = [](const Placements& placements) { return CheckNodeSpread(placements, 1); };
}

// Pods of a hundred namespaces that repel each other by the namespaces' labels.
void MakeAntiAffinityNs(Workload& w) {
  constexpr int kNamespaces = 100;
  const auto name = [](int i) { return "bench-ns-" + std::to_string(i); };
  for (int i = 0; i < kNamespaces; ++i) {
    w.objects.push_back(
        MakeNamespace(name(i), api::StringMap({{"kubernetes.io/metadata.name", name(i)}, {"team", "devops"}})));
  }
  w.measured.kinds = kNamespaces;
  w.measured.dress = [name](api::Pod& pod, int kind) {
    MatchingAnti(pod);
    pod.metadata.namespace_name = name(kind);
    pod.spec.pod_anti_affinity.required.push_back(
        {Selecting("color", "green"), {}, Selecting("team", "devops"), kHostname});
  };
  w.existing = w.measured;
  w.rule = [](const Placements& placements) { return CheckOnePerNode(placements, true); };
}

void AddDeployments(Workload& w, int count, bool with_services) {
  if (w.shape.deployments < 1) w.shape.deployments = count;
  const Shape& shape = w.shape;
  for (int i = 0; i < shape.deployments; ++i) {
    w.objects.push_back(MakeReplicaSet(i));
    if (with_services) w.objects.push_back(MakeService(i));
  }
  w.existing = DeploymentPods(shape.deployments, shape.existing, true);
  w.measured = DeploymentPods(shape.deployments, shape.pods, shape.interleaved);
}

void MakeDefaultSpreading(Workload& w) { AddDeployments(w, 100, true); }
void MakeDeployments(Workload& w) { AddDeployments(w, 1000, false); }

// The inputs of policies on nodes and pods: prices, spot and on-demand nodes, measured load, two types of nodes of
// which the pods want one. With --deployments the pods belong to that number of ReplicaSets.
void MakePolicies(Workload& w) {
  if (w.shape.deployments > 0) AddDeployments(w, w.shape.deployments, false);
  w.node = [](api::Node& node, int i) {
    static constexpr const char* kPrices[] = {"0.05", "0.10", "0.20", "0.40", "0.80", "1.60"};
    const bool is_spot = i / 3 % 3 == 0;  // in every zone
    node.metadata.annotations = {{"berth.dev/price", kPrices[i / 2 % 6]},
                                 {"berth.dev/cpu-usage", std::to_string(200 + i * 37 % 3000) + "m"},
                                 {"berth.dev/memory-usage", std::to_string(1 + i * 53 % 24) + "Gi"}};
    node.metadata.labels.Set("karpenter.sh/capacity-type", is_spot ? "spot" : "on-demand");
    node.metadata.labels.Set("node.kubernetes.io/instance-type", i % 2 == 0 ? "m7g.xlarge" : "m7i.xlarge");
    node.metadata.labels.Set("cluster.type", i % 2 == 0 ? "raspberry" : "xeon");
  };
  w.measured.dress = [dress = w.measured.dress](api::Pod& pod, int kind) {
    dress(pod, kind);
    pod.metadata.annotations.Set("cluster.type", "raspberry");
  };
}

// The measured pods come in gangs of `default_size`, or of --amount.
void AddGangs(Workload& w, int default_size, std::optional<std::int32_t> priority) {
  const int size = w.shape.amount > 0 ? w.shape.amount : default_size;
  const auto name_of = [](int gang) { return "gang-" + std::to_string(gang); };
  w.gates = {"GenericWorkload=true"};
  for (int first = 0; first < w.shape.pods; first += size) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = name_of(first / size);
    group->metadata.namespace_name = kMeasuredNamespace;
    group->metadata.uid = "uid-" + group->metadata.name;
    group->metadata.generation = 1;
    group->min_count = std::min(size, w.shape.pods - first);
    group->priority = priority;
    w.objects.emplace_back(std::move(group));
  }
  w.measured.vary = [size, name_of](api::Pod& pod, int i) { pod.spec.pod_group_name = name_of(i / size); };
}

void MakeGangs(Workload& w) { AddGangs(w, 10, std::nullopt); }

// Each node is filled by its pods, however many there are.
void MakeGangPreemption(Workload& w) {
  MakePreemption(w);
  const int pods_on_node = (w.shape.existing + w.shape.nodes - 1) / w.shape.nodes;
  w.node = [cpu_milli = 900 * pods_on_node + 400](api::Node& node, int) {
    node.allocatable.front().second = Amount((std::to_string(cpu_milli) + "m").c_str());
  };
  AddGangs(w, 64, 10);
}

// --- Bad input ---

// The amount of bad input, unless the user sets it.
int AmountOf(const Workload& w, int by_default) { return w.shape.amount > 0 ? w.shape.amount : by_default; }

void MakeHugeNode(Workload& w) {
  w.node = [](api::Node& node, int i) {
    if (i % 100 == 0) node.allocatable.front().second = Amount("1000000000000000");
  };
}

void MakeManyTerms(Workload& w) {
  const int terms = AmountOf(w, 500), required = terms / 5;
  const auto color = [](int i) { return "color-" + std::to_string(i); };
  w.existing.kinds = terms;
  w.existing.dress = [color](api::Pod& pod, int kind) {
    Basic(pod);
    pod.metadata.labels.Set("color", color(kind));
  };
  // No required term matches an existing pod, so that there is room for all pods.
  w.measured.dress = [=](api::Pod& pod, int) {
    Basic(pod);
    for (int i = 0; i < terms; ++i) {
      if (i < required) {
        pod.spec.pod_anti_affinity.required.push_back(Term(color(terms + i), kHostname));
      } else {
        pod.spec.pod_anti_affinity.preferred.push_back({1 + i % 100, Term(color(i), kHostname)});
      }
    }
  };
}

void MakeManyValues(Workload& w) {
  const auto vary = [values = AmountOf(w, 50'000)](api::Pod& pod, int i) {
    pod.metadata.labels.Set("app", "value-" + std::to_string(i % values));
  };
  w.node = [](api::Node& node, int i) { node.metadata.labels.Set("example.com/slot", "slot-" + std::to_string(i)); };
  w.existing.vary = vary;
  w.measured.dress = [](api::Pod& pod, int) {
    Spread(pod, "example.com/slot", 5, api::UnsatisfiableConstraintAction::kDoNotSchedule, "blue");
  };
  w.measured.vary = vary;
}

void MakeManyClasses(Workload& w) {
  w.measured = SevenTemplates();
  w.measured.vary = [](api::Pod& pod, int i) { pod.metadata.labels.Set("app", "app-" + std::to_string(i)); };
}

// Plain pods mixed with large pods of another tenant, each of which is a class of its own.
void MakeLargePods(Workload& w, const std::function<void(api::Pod& pod)>& dress) {
  w.side.dress = [dress](api::Pod& pod, int) {
    Basic(pod);
    dress(pod);
  };
  w.side.vary = [](api::Pod& pod, int i) { pod.metadata.labels.Set("app", "app-" + std::to_string(i)); };
  w.step_cycles = kLargePodCycles;
  w.step = [](Feed& feed, int step) { feed.AddPod(Group::kSide, step); };
}

std::string KeyName(int i) { return "example.com/key-" + std::to_string(i); }

void MakeManyKeys(Workload& w) {
  MakeLargePods(w, [amount = AmountOf(w, 56'100)](api::Pod& pod) {
    api::NodeSelectorTerm term;
    for (int i = 0; i < amount; ++i) {
      term.match_expressions.push_back({KeyName(i), api::SelectorOperator::kDoesNotExist, {}, {}});
    }
    pod.spec.node_affinity.emplace().required.emplace().push_back(std::move(term));
  });
}

void MakeManySpreads(Workload& w) {
  MakeLargePods(w, [amount = AmountOf(w, 12'000)](api::Pod& pod) {
    for (int i = 0; i < amount; ++i) {
      Spread(pod, KeyName(i).c_str(), 1, api::UnsatisfiableConstraintAction::kScheduleAnyway, "blue");
    }
  });
}

void MakeManyRefusals(Workload& w) {
  MakeLargePods(w, [amount = AmountOf(w, 40'000)](api::Pod& pod) {
    for (int i = 0; i < amount; ++i) {
      pod.spec.pod_anti_affinity.required.push_back(Term("color-" + std::to_string(i), kHostname));
    }
  });
}

void MakeManyResources(Workload& w) {
  MakeLargePods(w, [amount = AmountOf(w, 30'000)](api::Pod& pod) {
    for (int i = 0; i < amount; ++i) {
      pod.spec.containers.front().requests.push_back({KeyName(i), Amount("1")});
    }
  });
}

// A hundredth of the nodes is deleted and added again in turn. With a hundred changes per thousand pods, each of fifty
// nodes flaps ten times a second at 5,000 pods a second, which is more than an API server can deliver.
void MakeFlapping(Workload& w) {
  w.step_cycles = std::max(1, 1000 / AmountOf(w, 100));
  w.step = [flapping = std::max(1, w.shape.nodes / 100)](Feed& feed, int step) {
    const int node = step / 2 % flapping;
    step % 2 == 0 ? feed.RemoveNode(node) : feed.SetNode(node);
  };
}

}  // namespace

const std::vector<WorkloadEntry>& Workloads() {
  static const std::vector<WorkloadEntry> kWorkloads{
      {"basic", "0.1 CPU / 500 MiB pods", 1, 2, MakeBasic},
      {"podantiaffinity", "required anti-affinity by hostname, existing and measured pods repel each other", 0, 0.8,
       MakePodAntiAffinity},
      {"matchingantiaffinity", "plain pods that existing anti-affinity pods repel", 0.2, 0.8, MakeMatchingAntiAffinity},
      {"podaffinity", "required affinity by zone", 1, 1, MakePodAffinity},
      {"preferredaffinity", "preferred affinity by hostname", 1, 1, MakePreferredAffinity},
      {"preferredantiaffinity", "preferred anti-affinity by hostname", 1, 1, MakePreferredAntiAffinity},
      {"nodeaffinity", "required node affinity by zone label", 1, 1, MakeNodeAffinity},
      {"topologyspreading", "hard spread over the zones, maxSkew 5", 2, 1, MakeTopologySpreading},
      {"preferredtopologyspreading", "soft spread over the zones, maxSkew 5", 2, 1, MakePreferredTopologySpreading},
      {"preemption", "nodes filled by four 0.9-CPU pods of priority 0; measured pods need 3 CPU at priority 10", 4, 1,
       MakePreemption},
      {"preemptionasync", "small measured pods while 3-CPU preemptors arrive", 4, 1, MakePreemptionAsync},
      {"unschedulable", "plain measured pods while 9-CPU pods that fit nowhere arrive", 0.01, 2, MakeUnschedulable},
      {"backlog", "plain measured pods beside as many that fit nowhere and a node that comes and goes", 0.02, 1,
       MakeBacklog},
      {"mixedchurn", "plain measured pods while a node, a service and an oversized pod are recreated", 0, 1,
       MakeMixedChurn},
      {"mixedbase", "plain measured pods beside existing pods of five templates", 2, 1, MakeMixedBase},
      {"mixed", "seven templates with 143 sets of labels each, in rotation, beside existing pods of five", 2, 1,
       MakeMixed},
      {"secrets", "pods with a secret volume, of which scheduling reads nothing", 1, 1, MakeBasic},
      {"csipv", "pods with one pre-bound CSI volume each, 39 a node", 0, 1, MakeCsiPv},
      {"daemonset", "all measured pods pinned by metadata.name to one node among many", 0, 2, MakeDaemonSet},
      {"daemonseteach", "measured pod i pinned by metadata.name to node i", 0, 1, MakeDaemonSetEach},
      {"gated", "one node; 1,000 gated pods; light pods go while others are measured", 0, 2, MakeGated},
      {"gatedaffinity", "one node; 1,000 gated pods with affinity to the measured ones", 0, 2, MakeGatedAffinity},
      // ---
      {"unique", "every pod a class of its own: requests and labels differ", 1, 1, MakeUnique},
      {"spreadhostname", "hard spread over the nodes, maxSkew 1", 2, 1, MakeSpreadHostname},
      {"antiaffinityns", "required anti-affinity by hostname with a namespaceSelector, 100 namespaces", 0, 0.8,
       MakeAntiAffinityNs},
      {"defaultspreading", "pods of 100 Deployments with ReplicaSets and Services: the system's default spreading", 1,
       2, MakeDefaultSpreading},
      {"deployments", "pods of 1,000 Deployments with ReplicaSets, one Deployment after another or --interleaved", 0,
       10, MakeDeployments},
      {"gangs", "gangs of 10 (--amount) equal pods, with Kubernetes 1.37's pod groups", 0, 2, MakeGangs},
      {"gangpreemption", "gangs of 64 (--amount) that preempt on nodes filled as in preemption", 4, 0.0128,
       MakeGangPreemption},
      {"policies", "plain pods, or of --deployments ReplicaSets, on nodes with prices, spot labels and measured load",
       1, 2, MakePolicies},
      {"hugenode", "bad input: every hundredth node reports 10^15 CPUs", 1, 2, MakeHugeNode},
      {"manyterms", "bad input: 500 (--amount) anti-affinity terms a pod", 1, 0.1, MakeManyTerms},
      {"manyvalues",
       "bad input: 50,000 (--amount) values of a pod label, and spreading over a node label of which each node has "
       "its own",
       10, 1, MakeManyValues},
      {"manyclasses", "bad input: each pod a class of its own, of seven templates", 1, 2, MakeManyClasses},
      {"manykeys", "bad input: every hundredth pod names 56,100 (--amount) keys in its node affinity", 1, 1,
       MakeManyKeys},
      {"manyspreads", "bad input: every hundredth pod has 12,000 (--amount) soft spread constraints", 1, 1,
       MakeManySpreads},
      {"manyrefusals", "bad input: every hundredth pod has 40,000 (--amount) required anti-affinity terms", 1, 1,
       MakeManyRefusals},
      {"manyresources", "bad input: every hundredth pod asks for 30,000 (--amount) extended resources", 1, 1,
       MakeManyResources},
      {"flapping", "bad input: nodes go and come back, 100 (--amount) times while 1,000 pods come", 1, 2, MakeFlapping},
  };
  return kWorkloads;
}

}  // namespace berth::bench
