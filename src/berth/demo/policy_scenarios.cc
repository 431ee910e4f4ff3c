// SPDX-License-Identifier: Apache-2.0
#include "berth/demo/policy_scenarios.h"

#include <algorithm>

namespace berth::demo {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";

DemoNode Plain() { return {.shown = ""}; }

PolicyScenario Random() {
  return {
      .policy = "random",
      .title = "Random: any node that has room, each with the same chance.",
      .column = "",
      .nodes = std::vector<DemoNode>(5, Plain()),
      .workloads = {{"web", 30, "100m"}},
      .to_see = {"The counts differ as those of thrown dice do: for each pod every node had the same chance, however",
                 "full it was. Another --seed gives other counts."}};
}

PolicyScenario RoundRobin() {
  return {.policy = "round-robin",
          .title = "RoundRobin: the nodes in turn, in the order of their names.",
          .column = "",
          .nodes = std::vector<DemoNode>(5, Plain()),
          .workloads = {{"large", 3, "2"}, {"small", 9, "100m"}},
          .to_see = {"Twelve pods on five nodes, each node in its turn: node-1 and node-2 had a third one. The default",
                     "profile would have kept the small pods away from the nodes that have a large one."}};
}

PolicyScenario BestPrice() {
  const auto priced = [](const char* key, const char* price) {
    return DemoNode{.shown = price, .labels = {}, .annotations = {{key, price}}};
  };
  return {.policy = "best-price",
          .title = "BestPrice: the cheapest node that has room.",
          .column = "PRICE",
          .nodes = {priced("berth.dev/price", "0.40"),
                    priced("berth.dev/price", "0.10"),
                    {.shown = "<none>"},
                    priced("hightower.com/cost", "0.05"),
                    priced("berth.dev/price", "cheap"),
                    priced("berth.dev/price", "0.20")},
          .workloads = {{"web", 10, "1"}},
          .to_see = {
              "node-4 is the cheapest: it is full with four pods before node-2 gets any, and that one before node-6.",
              "The node without a price, and the one whose price is no number, come after all others."}};
}

PolicyScenario SpotFirst() {
  const auto labelled = [](const char* shown, const char* key, const char* value) {
    return DemoNode{.shown = shown, .labels = {{key, value}}};
  };
  return {.policy = "spot-first",
          .title = "SpotFirst: spot nodes before on-demand ones, and these only when those are full.",
          .column = "CAPACITY",
          .nodes = {labelled("on-demand (Karpenter)", "karpenter.sh/capacity-type", "on-demand"),
                    labelled("spot (Karpenter)", "karpenter.sh/capacity-type", "spot"),
                    labelled("spot (EKS)", "eks.amazonaws.com/capacityType", "SPOT"),
                    labelled("on-demand (EKS)", "eks.amazonaws.com/capacityType", "ON_DEMAND"),
                    labelled("spot (GKE)", "cloud.google.com/gke-spot", "true"),
                    {.shown = "on-demand (no label)"}},
          .workloads = {{"critical", 2, "100m", {{"berth.dev/spot", "never"}}}, {"web", 14, "1"}},
          .to_see = {
              "Twelve pods of web fill the three spot nodes to the last CPU; only the two that are left went to",
              "on-demand nodes. The pods of critical say berth.dev/spot: never, and are on none of the spot nodes."}};
}

PolicyScenario ZoneBalance() {
  const auto in_zone = [](const char* zone) { return DemoNode{.shown = zone, .labels = {{kZone, zone}}}; };
  DemoNode old = {.shown = "zone-b (old label)",
                  .labels = {{kZone, std::nullopt}, {"failure-domain.beta.kubernetes.io/zone", "zone-b"}}};
  return {.policy = "zone-balance",
          .title = "ZoneBalance: the pods of one owner over the zones, by the zones' free capacity.",
          .column = "ZONE",
          .nodes = {in_zone("zone-a"), in_zone("zone-a"), in_zone("zone-b"), std::move(old), in_zone("zone-c")},
          .workloads = {{"api", 5, "100m"}, {"web", 10, "500m"}},
          .to_see = {
              "Each Deployment by itself is spread, though none of its pods asks for it: as many pods in zone-a as in",
              "zone-b, and half as many in zone-c, which has half the room."}};
}

PolicyScenario LoadAware() {
  const auto used = [](const char* cpu, const char* memory) {
    return DemoNode{.shown = std::string(cpu) + " %",
                    .labels = {},
                    .annotations = {{"berth.dev/cpu-usage", cpu}, {"berth.dev/memory-usage", memory}}};
  };
  return {.policy = "load-aware",
          .title = "LoadAware: by what nodes really use, whatever pods have asked for.",
          .column = "CPU IN USE",
          .nodes = {used("97", "60"), used("70", "40"), used("10", "20"), used("45", "30"), used("93", "50")},
          .workloads = {{"web", 7, "500m"}},
          .to_see =
              {"node-1 and node-5 are hot and get nothing, although no pod has asked for any of their CPUs. node-3 is",
               "idle and gets most. What has just been placed counts until it is measured, so node-4 gets some, too."},
          .shows_refusals = true};
}

PolicyScenario NodeLabelMatch() {
  const auto typed = [](const char* type) { return DemoNode{.shown = type, .labels = {{"cluster.type", type}}}; };
  return {.policy = "node-label-match",
          .title = "NodeLabelMatch: a pod's annotation must equal the node's label of that key.",
          .column = "CLUSTER.TYPE",
          .nodes = {{.shown = "<none>"}, typed("raspberry"), typed("server"), typed("raspberry"), typed("server")},
          .workloads = {{"sensor", 6, "500m", {{"cluster.type", "raspberry"}}},
                        {"train", 3, "1", {{"cluster.type", "server"}}}},
          .to_see =
              {"The pods of sensor have the annotation cluster.type: raspberry and are on nodes with that label, those",
               "of train are on servers."},
          .shows_refusals = true};
}

PolicyScenario TopologyDistance() {
  const auto in = [](const char* shown, const char* block, const char* rack) {
    return DemoNode{.shown = shown,
                    .labels = {{kZone, "zone-a"}, {"example.com/block", block}, {"example.com/rack", rack}}};
  };
  const DemoNode rack_1 = in("block-1 rack-1", "block-1", "rack-1");
  const DemoNode rack_2 = in("block-1 rack-2", "block-1", "rack-2");
  const DemoNode rack_3 = in("block-2 rack-1", "block-2", "rack-1");
  const DemoNode rack_4 = in("block-2 rack-2", "block-2", "rack-2");
  return {
      .policy = "topology-distance",
      .title = "TopologyDistance: pods that belong together near each other, by rack, block and zone.",
      .column = "WHERE",
      .nodes = {rack_1, rack_3, rack_2, rack_4, rack_1, rack_3, rack_2, rack_4},
      .workloads = {{"train", 6, "2"}, {"tune", 6, "2"}},
      .to_see = {"Six pods of 2 CPUs need three nodes of 4, and a rack has two. Each Deployment has a rack to itself",
                 "and one node more in the same block."}};
}

PolicyScenario ExternalHealth() {
  const auto host = [](const char* shown, const char* output, bool is_down) {
    return DemoNode{.shown = shown, .labels = {}, .annotations = {}, .nagios_output = output, .is_down = is_down};
  };
  constexpr const char* kUp = "PING OK - Packet loss = 0%, RTA = 0.41 ms";
  return {
      .policy = "external-health",
      .title = "ExternalHealth: an outside source of truth, here Nagios, says which nodes may be used.",
      .column = "NAGIOS",
      .nodes = {host("UP", kUp, false), host("DOWN", "PING CRITICAL - Packet loss = 100%", true),
                host("UP", kUp, false), host("UP", kUp, false)},
      .workloads = {{"web", 6, "100m"}},
      .to_see = {"Kubernetes thinks that node-2 is ready; Nagios knows better, and it gets no pod. The refusal is in",
                 "Nagios' own words."},
      .shows_refusals = true};
}

// Four nodes have room for eight pods of 2 CPUs.
PolicyScenario Gangs() {
  return {
      .policy = "gangs",
      .title = "Pod groups: all pods of a gang, or none.",
      .column = "",
      .nodes = std::vector<DemoNode>(4, Plain()),
      .workloads = {{.name = "train", .replicas = 5, .cpu = "2", .gang = 5},
                    {.name = "tune", .replicas = 5, .cpu = "2", .gang = 5}},
      .to_see = {"There is room for eight pods of 2 CPUs. train has its five. Three of tune would fit, but it needs",
                 "all five at once: none is placed, and the CPUs are free for others until tune fits."},
      .configuration = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: gangs
)",
      .release_minor = 37};
}

PolicyScenario Gpus() {
  const auto with = [](const char* count) {
    return DemoNode{.shown = count, .resources = {{"nvidia.com/gpu", count}}};
  };
  return {.policy = "gpus",
          .title = "GPUs: small pods fill the nodes that are fullest, and whole nodes stay free for large ones.",
          .column = "GPUS",
          .nodes = {with("8"), with("8"), with("4"), {.shown = "<none>"}},
          .workloads = {{.name = "infer", .replicas = 6, .resources = {{"nvidia.com/gpu", "1"}}},
                        {.name = "train", .replicas = 1, .resources = {{"nvidia.com/gpu", "8"}}}},
          .to_see = {"The six pods of infer share two nodes, and one node of 8 GPUs is whole for train. The default",
                     "profile, which spreads, would have taken GPUs of each node, and train would wait."},
          .configuration = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: gpus
    plugins:
      score:
        disabled: [{name: "*"}]
        enabled: [{name: NodeResourcesFit, weight: 1}]
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources: [{name: nvidia.com/gpu, weight: 1}]
)"};
}

}  // namespace

const std::vector<PolicyScenario>& PolicyScenarios() {
  static const std::vector<PolicyScenario> kScenarios = {Random(),         RoundRobin(),       BestPrice(),
                                                         SpotFirst(),      ZoneBalance(),      LoadAware(),
                                                         NodeLabelMatch(), TopologyDistance(), ExternalHealth()};
  return kScenarios;
}

const std::vector<PolicyScenario>& OtherScenarios() {
  static const std::vector<PolicyScenario> kScenarios = {Gangs(), Gpus()};
  return kScenarios;
}

const PolicyScenario* FindScenario(std::string_view name) {
  for (const auto* all : {&PolicyScenarios(), &OtherScenarios()}) {
    const auto found =
        std::find_if(all->begin(), all->end(), [&](const PolicyScenario& s) { return s.policy == name; });
    if (found != all->end()) return &*found;
  }
  return nullptr;
}

}  // namespace berth::demo
