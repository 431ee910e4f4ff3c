// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/policy_reader.h"

#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHead = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n";

// One strategy with its arguments, which is enabled nowhere.
std::string With(std::string_view name, std::string_view args) {
  return std::string(kHead) + "profiles:\n- name: p\n  pluginConfig:\n  - name: " + std::string(name) +
         "\n    args: " + std::string(args) + "\n";
}

std::string Refusal(const std::string& text) {
  const auto policy = ReadPolicy(text);
  EXPECT_FALSE(policy.ok()) << text;
  return policy.ok() ? "" : policy.error().message;
}

TEST(PolicyReaderTest, ReadsAPolicyAsTheDeschedulerDoes) {
  const auto policy = ReadPolicy(std::string(kHead) + R"(
maxNoOfPodsToEvictPerNode: 5
maxNoOfPodsToEvictTotal: 0
nodeSelector: pool=one
gracePeriodSeconds: 30
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: first
  pluginConfig:
  - name: RemoveDuplicates
    args: {excludeOwnerKinds: [Job], namespaces: {exclude: [kube-system]}}
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 60, states: [Running, CrashLoopBackOff], ownerKinds: {include: [ReplicaSet]}}
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20.5}, targetThresholds: {cpu: 50}, evictionLimits: {node: 2}}
  - name: DefaultEvictor
    args: {nodeFit: true, minPodAge: 5m, podProtections: {extraEnabled: [PodsWithPVC], defaultDisabled: [FailedBarePods]}}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
    balance: {enabled: [LowNodeUtilization, RemoveDuplicates]}
    filter: {enabled: [DefaultEvictor]}
- name: second
)");
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EXPECT_EQ(policy->limits.per_node, 5u);
  EXPECT_EQ(policy->limits.per_namespace, std::nullopt);
  EXPECT_EQ(policy->limits.total, 0u);
  EXPECT_EQ(policy->node_selector, "pool=one");
  ASSERT_EQ(policy->profiles.size(), 2u);
  const PolicyProfile& first = policy->profiles[0];
  ASSERT_EQ(first.deschedule.size(), 1u);
  const auto& life = std::get<PodLifeTimeArgs>(first.deschedule[0]);
  EXPECT_EQ(life.max_seconds, 60u);
  EXPECT_THAT(life.states, ElementsAre("Running", "CrashLoopBackOff"));
  EXPECT_THAT(life.include_owner_kinds, ElementsAre("ReplicaSet"));
  ASSERT_EQ(first.balance.size(), 2u);
  EXPECT_EQ(NameOf(first.balance[0]), "LowNodeUtilization");
  EXPECT_EQ(std::get<LowNodeUtilizationArgs>(first.balance[0]).thresholds.at("cpu"), 20.5);
  EXPECT_EQ(std::get<LowNodeUtilizationArgs>(first.balance[0]).node_limit, 2u);
  EXPECT_THAT(std::get<RemoveDuplicatesArgs>(first.balance[1]).pods.namespaces.exclude, ElementsAre("kube-system"));
  EXPECT_TRUE(first.evictor.node_fit);
  EXPECT_EQ(first.evictor.min_pod_age, std::chrono::minutes(5));
  EXPECT_TRUE(first.evictor.protects_claims);
  EXPECT_FALSE(first.evictor.protects_failed_bare);
  EXPECT_TRUE(first.evictor.protects_local_storage);
  EXPECT_EQ(policy->profiles[1].evictor, EvictorArgs());
}

TEST(PolicyReaderTest, HasTheDeschedulersDefaults) {
  const auto policy = ReadPolicy(std::string(kHead) + R"(
profiles:
- pluginConfig:
  - {name: RemoveFailedPods}
  - {name: RemovePodsViolatingTopologySpreadConstraint}
  - {name: RemovePodsViolatingNodeTaints, args: {includedTaints: []}}
  plugins:
    deschedule: {enabled: [RemoveFailedPods, RemovePodsViolatingNodeTaints]}
    balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint]}
)");
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EXPECT_EQ(std::get<FailedPodsArgs>(policy->profiles[0].deschedule[0]).min_seconds, 3600u);
  // An empty list takes no taint, where no list takes all.
  EXPECT_EQ(std::get<NodeTaintsArgs>(policy->profiles[0].deschedule[1]).included_taints, std::vector<std::string>());
  const auto& spread = std::get<TopologySpreadArgs>(policy->profiles[0].balance[0]);
  EXPECT_TRUE(spread.topology_balance_node_fit);
  EXPECT_THAT(spread.constraints, ElementsAre(api::UnsatisfiableConstraintAction::kDoNotSchedule));
}

TEST(PolicyReaderTest, DeprecatedFieldsProtectAsTheNewOnes) {
  const auto policy = ReadPolicy(With("DefaultEvictor", "{evictLocalStoragePods: true, ignorePvcPods: true}"));
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EXPECT_FALSE(policy->profiles[0].evictor.protects_local_storage);
  EXPECT_TRUE(policy->profiles[0].evictor.protects_claims);
  EXPECT_TRUE(policy->profiles[0].evictor.protects_daemon_sets);
}

// Each with a path, what is wrong, and what would be right.
TEST(PolicyReaderTest, RefusesWhatTheDeschedulerRefuses) {
  const struct {
    std::string text;
    std::string want;
  } kCases[] = {
      {"", "the text is empty"},
      {"[]\n", "must be an object, not a list"},
      {"apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n",
       "apiVersion: must be \"descheduler/v1alpha2\", not \"descheduler/v1alpha1\""},
      {std::string(kHead) + "maxNoOfPodsToEvictPerNodes: 1\n",
       "maxNoOfPodsToEvictPerNodes: unknown field; known here:"},
      {std::string(kHead) + "profilez: []\n", "profiles; the nearest is profiles"},
      {std::string(kHead) + "maxNoOfPodsToEvictTotal: -1\n",
       "maxNoOfPodsToEvictTotal: Invalid value: -1: must be 0 or more"},
      {std::string(kHead) + "nodeSelector: 'a in'\n",
       "nodeSelector: Invalid value: \"a in\": label selector 'a in': at byte 4"},
      {With("RemoveDuplicate", "{}"),
       "profiles[0].pluginConfig[0].name: \"RemoveDuplicate\" is no plugin of descheduler 0.36, or of berth; the "
       "nearest is "
       "RemoveDuplicates; there are "},
      {With("RemoveDuplicates", "{labelSelector: {}}"),
       "profiles[0].pluginConfig[0].args.labelSelector: unknown field; known here:"},
      {With("RemoveDuplicates", "{namespaces: {include: [a], exclude: [b]}}"),
       "args.namespaces: only one of include and exclude can be set"},
      {With("LowNodeUtilization", "{thresholds: {cpu: 101}, targetThresholds: {cpu: 100}}"),
       "args.thresholds[cpu]: 101 is not in the range from 0 to 100"},
      {With("LowNodeUtilization", "{thresholds: {cpu: 20}, targetThresholds: {memory: 50}}"),
       "args.targetThresholds: has other resources (memory) than thresholds (cpu)"},
      {With("LowNodeUtilization", "{thresholds: {cpu: 60}, targetThresholds: {cpu: 50}}"),
       "args.thresholds[cpu]: is greater than that of targetThresholds"},
      {With("LowNodeUtilization", "{targetThresholds: {cpu: 50}}"),
       "args.thresholds: Required value: no resource threshold is configured"},
      {With("LowNodeUtilization",
            "{thresholds: {cpu: 1}, targetThresholds: {cpu: 2}, metricsUtilization: {source: Prometheus, prometheus: "
            "{query: up}}}"),
       "args.thresholds[cpu]: with Prometheus, the one threshold is that of MetricResource"},
      {With("LowNodeUtilization",
            "{thresholds: {MetricResource: 1}, targetThresholds: {MetricResource: 2}, metricsUtilization: {source: "
            "Prometheus}}"),
       "args.metricsUtilization.prometheus.query: Required value"},
      {With("LowNodeUtilization",
            "{thresholds: {cpu: 1}, targetThresholds: {cpu: 2}, metricsUtilization: {source: Prometeus}}"),
       "args.metricsUtilization.source: Unsupported value: \"Prometeus\": supported values: \"KubernetesMetrics\", "
       "\"Prometheus\""},
      {With("LowNodeUtilization",
            "{thresholds: {gpu: 1}, targetThresholds: {gpu: 2}, metricsUtilization: {source: KubernetesMetrics}}"),
       "args.thresholds[gpu]: is not measured by metrics-server; there are cpu, memory and pods"},
      {With("LowNodeUtilization",
            "{thresholds: {cpu: 1}, targetThresholds: {cpu: 2}, metricsUtilization: {source: KubernetesMetrics, "
            "metricsServer: true}}"),
       "args.metricsUtilization.metricsServer: cannot be combined with the source KubernetesMetrics"},
      {With("LowNodeUtilization",
            "{thresholds: {cpu: 1}, targetThresholds: {cpu: 2}, metricsUtilization: {metricsServer: true}}") +
           "  plugins: {balance: {enabled: [LowNodeUtilization]}}\n",
       "metricsProviders: Required value: LowNodeUtilization of profiles[0] needs one with the source "
       "KubernetesMetrics"},
      {std::string(kHead) + "metricsProviders: [{source: Prometheus, prometheus: {url: 'ftp://x'}}]\n",
       "metricsProviders[0].prometheus.url: Invalid value: \"ftp://x\""},
      {std::string(kHead) + "metricsProviders: [{source: Prometheus}]\n",
       "metricsProviders[0].prometheus: Required value"},
      {std::string(kHead) + "metricsProviders: [{source: KubernetesMetrics}, {source: KubernetesMetrics}]\n",
       "metricsProviders[1].source: Duplicate value"},
      {std::string(kHead) + "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://p:9090', authToken: "
                            "{secretReference: {name: a}}}}]\n",
       "metricsProviders[0].prometheus.authToken.secretReference.namespace: Required value"},
      {std::string(kHead) + "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://p:9090', authToken: "
                            "{secretReference: {namespace: m, name: a}}}}]\n",
       "metricsProviders[0].prometheus.authToken: a token is sent over https alone; the url is http"},
      {With("BackToSpott", "{}"), "the nearest is BackToSpot"},
      {With("BackToSpot", "{default: always}"),
       "args.default: \"always\" is no default here; there are preferred, never"},
      {With("BackToSpot", "{spotLabels: [{value: cheap}]}"), "args.spotLabels[0].key: Required value"},
      {With("BackToSpot", "{reclaimWithin: -1m}"), "args.reclaimWithin: -1m0s is not from 0s to 8760h0m0s"},
      {With("CheaperNode", "{minSavingPercent: 101}"), "args.minSavingPercent: is not in the range from 0 to 100"},
      {With("CheaperNode", "{restartCost: '1 EUR'}"), "args.restartCost: \"1 EUR\" is no price"},
      {With("CheaperNode", "{horizon: 1s}"), "args.horizon: 1s is not from 1m0s to 8760h0m0s"},
      {With("BetterScore", "{minGain: 0}"), "args.minGain: Invalid value: 0: must be from 1 to 1000000000"},
      {With("BetterScore", "{minGains: 1}"), "args.minGains: unknown field"},
      {With("Consolidate", "{thresholds: {cpu: 130}}"), "args.thresholds[cpu]: 130 is not in the range from 0 to 100"},
      {With("Consolidate", "{nodeSelector: 'a in'}"), "args.nodeSelector: Invalid value"},
      {With("Consolidate", "{nodesPerRound: 0}"), "args.nodesPerRound: Invalid value: 0: must be from 1 to 1000000"},
      {With("CustomMetric", "{above: 1}"), "args.query: Required value"},
      {With("CustomMetric", "{query: up}"), "args.above: Required value: one of above and below, and not both"},
      {With("CustomMetric", "{query: up, above: 1, below: 2}"), "one of above and below, and not both"},
      {With("CustomMetric", "{query: up, above: 1, of: nodes}"),
       "args.of: \"nodes\" is no subject of a rule; the nearest is node; there are pod, node"},
      {With("CustomMetric", "{query: up, above: 1, pair: {topologyKey: ''}}"), "args.pair.label: Required value"},
      {With("CustomMetric", "{query: up, above: 1}") + "  plugins: {deschedule: {enabled: [CustomMetric]}}\n",
       "metricsProviders: Required value: CustomMetric of profiles[0] needs one with the source Prometheus"},
      {With("ZoneRepair", "{maxSkew: 0}"), "args.maxSkew: Invalid value: 0: must be from 1 to 1000000"},
      {With("ZoneRepair", "{}") + "  plugins: {deschedule: {enabled: [ZoneRepair]}}\n",
       "plugins.deschedule.enabled[0]: \"ZoneRepair\" belongs to balance, not to deschedule"},
      {With("HighNodeUtilization", "{thresholds: {cpu: 20}, evictionModes: [OnlyThresholdingResource]}"),
       "args.evictionModes[0]: \"OnlyThresholdingResource\" is no eviction mode; the nearest is "
       "OnlyThresholdingResources"},
      {With("HighNodeUtilization", "{thresholds: {cpu: 20}, evictableNamespaces: {include: [a]}}"),
       "args.evictableNamespaces.include: only exclude can be set here"},
      {With("RemovePodsViolatingNodeAffinity", "{}"), "args.nodeAffinityType: Required value"},
      {With("RemovePodsViolatingNodeAffinity", "{nodeAffinityType: [required]}"),
       "args.nodeAffinityType[0]: \"required\" is no type of node affinity"},
      {With("RemovePodsViolatingNodeTaints", "{includedTaints: [a], excludedTaints: [b]}"),
       "either includedTaints or excludedTaints can be set, but not both"},
      {With("RemovePodsViolatingTopologySpreadConstraint", "{constraints: [DontSchedule]}"),
       "args.constraints[0]: \"DontSchedule\" is no kind of constraint; the nearest is DoNotSchedule"},
      {With("PodLifeTime", "{}"), "args.maxPodLifeTimeSeconds: Required value: at least one of"},
      {With("PodLifeTime", "{states: [Runing]}"),
       "args.states[0]: \"Runing\" is no state that can be asked for; the "
       "nearest is Running"},
      {With("PodLifeTime", "{conditions: [{}]}"), "args.conditions[0]: at least one of"},
      {With("RemovePodsHavingTooManyRestarts", "{podRestartThreshold: 0}"),
       "args.podRestartThreshold: Invalid value: 0: must be above 0"},
      {With("RemoveFailedPods", "{labelSelector: {matchExpressions: [{key: a, operator: Is}]}}"),
       "args.labelSelector:"},
      {With("RemoveFailedPods", "{exitCodes: [1.5]}"), "args.exitCodes[0]: must be a whole number of 32 bits, not 1.5"},
      {With("DefaultEvictor", "{priorityThreshold: {value: 1, name: a}}"),
       "args.priorityThreshold: only one of value and name can be set"},
      {With("DefaultEvictor", "{priorityThreshold: {value: 2000000001}}"), "cannot be greater than 2000000000"},
      {With("DefaultEvictor", "{noEvictionPolicy: Never}"),
       "args.noEvictionPolicy: Unsupported value: \"Never\": supported values: \"Preferred\", \"Mandatory\""},
      {With("DefaultEvictor", "{podProtections: {extraEnabled: [PodsWithPvc]}}"),
       "args.podProtections.extraEnabled[0]: \"PodsWithPvc\" is no pod protection of this list; the nearest is "
       "PodsWithPVC"},
      {With("DefaultEvictor", "{podProtections: {extraEnabled: [PodsWithPVC, PodsWithPVC]}}"), "Duplicate value"},
      {With("DefaultEvictor", "{evictDaemonSetPods: true, podProtections: {extraEnabled: [PodsWithPVC]}}"),
       "args.podProtections: cannot be combined with the deprecated evictLocalStoragePods"},
      {With("PodLifeTime", "{maxPodLifeTimeSeconds: 1}") + "  plugins: {deschedule: {enabled: [PodLifeTimes]}}\n",
       "plugins.deschedule.enabled[0]: \"PodLifeTimes\" is no plugin for deschedule; the nearest is PodLifeTime"},
      {With("PodLifeTime", "{maxPodLifeTimeSeconds: 1}") + "  plugins: {balance: {enabled: [PodLifeTime]}}\n",
       "plugins.balance.enabled[0]: \"PodLifeTime\" belongs to deschedule, not to balance"},
      {With("PodLifeTime", "{maxPodLifeTimeSeconds: 1}") + "  plugins: {balance: {enabled: [RemoveDuplicates]}}\n",
       "plugins.balance.enabled[0]: \"RemoveDuplicates\" has no pluginConfig in this profile"},
      {With("PodLifeTime", "{maxPodLifeTimeSeconds: 1}") + "  plugins: {preEvictionFilter: {}}\n",
       "plugins.preEvictionFilter: unknown field; known here:"},
  };
  for (const auto& each : kCases) {
    const std::string message = Refusal(each.text);
    EXPECT_THAT(message, HasSubstr(each.want)) << each.text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(PolicyReaderTest, IsBounded) {
  std::string text = std::string(kHead) + "profiles:\n";
  for (std::size_t i = 0; i <= kPolicyProfilesMax; ++i) text += "- {name: p}\n";
  EXPECT_THAT(Refusal(text), HasSubstr("profiles: has more than 100 items"));
}

}  // namespace
}  // namespace berth::rebalance
