// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/load.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/config/validate.h"
#include "berth/core/config/write.h"

namespace berth::config {
namespace {

constexpr std::string_view kHeader = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

// The error of loading and validating, or "".
std::string Problem(std::string_view text) {
  const auto configuration = LoadConfiguration(text);
  if (!configuration.ok()) return configuration.error().message;
  const auto valid = ValidateConfiguration(*configuration);
  return valid.ok() ? "" : valid.error().message;
}

KubeSchedulerConfiguration Load(std::string_view body) {
  auto configuration = LoadConfiguration(std::string(kHeader) + std::string(body));
  EXPECT_TRUE(configuration.ok()) << configuration.error().message;
  return configuration.ok() ? *configuration : KubeSchedulerConfiguration{};
}

template <typename Args>
const Args& ArgsOf(const Profile& profile, std::string_view plugin) {
  const PluginArgs* args = profile.FindArgs(plugin);
  BERTH_CHECK(args != nullptr && std::holds_alternative<Args>(*args), plugin);
  return std::get<Args>(*args);
}

std::vector<std::string> Names(const std::vector<PluginRef>& plugins) {
  std::vector<std::string> names;
  for (const PluginRef& plugin : plugins) names.push_back(plugin.name);
  return names;
}

TEST(LoadTest, TheFirstDocumentCounts) {
  EXPECT_EQ(Load("parallelism: 3\n---\nparallelism: 4\n---\nkind: Nonsense\n").parallelism, 3);
}

TEST(LoadTest, DefaultsOfAnEmptyFile) {
  const auto configuration = Load("");
  EXPECT_EQ(configuration.parallelism, 16);
  EXPECT_TRUE(configuration.leader_election.leader_elect);
  EXPECT_EQ(configuration.leader_election.lease_duration, std::chrono::seconds(15));
  EXPECT_EQ(configuration.leader_election.resource_lock, "leases");
  EXPECT_EQ(configuration.client_connection.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_FALSE(configuration.client_connection.qps.has_value());
  EXPECT_FALSE(configuration.client_connection.burst.has_value());
  EXPECT_TRUE(configuration.enable_profiling);
  EXPECT_TRUE(configuration.enable_contention_profiling);
  EXPECT_EQ(configuration.percentage_of_nodes_to_score, 0);
  EXPECT_EQ(configuration.pod_initial_backoff_seconds, 1);
  EXPECT_EQ(configuration.pod_max_backoff_seconds, 10);
  ASSERT_EQ(configuration.profiles.size(), 1U);
  const Profile& profile = configuration.profiles[0];
  EXPECT_EQ(profile.scheduler_name, "default-scheduler");
  EXPECT_FALSE(profile.percentage_of_nodes_to_score.has_value());
  EXPECT_EQ(profile.plugins, DefaultPlugins());
  EXPECT_EQ(profile.plugins, DefaultConfiguration().profiles[0].plugins);
  EXPECT_EQ(profile.plugin_config, DefaultConfiguration().profiles[0].plugin_config);
  std::vector<std::string> with_args;
  for (const PluginConfig& config : profile.plugin_config) with_args.push_back(config.name);
  EXPECT_EQ(with_args, (std::vector<std::string>{"DefaultPreemption", "DynamicResources", "InterPodAffinity",
                                                 "NodeAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit",
                                                 "PodTopologySpread", "VolumeBinding"}));
  EXPECT_TRUE(ValidateConfiguration(configuration).ok());
  EXPECT_TRUE(ValidateConfiguration(DefaultConfiguration()).ok());
}

TEST(LoadTest, TopLevelFields) {
  const auto configuration = Load(R"(
parallelism: 4
leaderElection: {leaderElect: no, leaseDuration: 30s, renewDeadline: 0s, resourceName: mine, resourceNamespace: ""}
clientConnection: {kubeconfig: /k, acceptContentTypes: application/json, contentType: application/json, qps: 12.5, burst: 0}
enableProfiling: false
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
profiles: []
extenders: []
)");
  EXPECT_EQ(configuration.parallelism, 4);
  EXPECT_FALSE(configuration.leader_election.leader_elect);
  EXPECT_EQ(configuration.leader_election.lease_duration, std::chrono::seconds(30));
  EXPECT_EQ(configuration.leader_election.renew_deadline, std::chrono::seconds(10));  // zero counts as unset
  EXPECT_EQ(configuration.leader_election.resource_name, "mine");
  EXPECT_EQ(configuration.leader_election.resource_namespace, "kube-system");
  EXPECT_EQ(configuration.client_connection.kubeconfig, "/k");
  EXPECT_EQ(configuration.client_connection.qps, 12.5);
  EXPECT_FALSE(configuration.client_connection.burst.has_value());
  EXPECT_FALSE(configuration.enable_profiling);
  EXPECT_FALSE(configuration.enable_contention_profiling);
  EXPECT_EQ(configuration.percentage_of_nodes_to_score, 30);
  EXPECT_EQ(configuration.pod_max_backoff_seconds, 20);
  EXPECT_TRUE(configuration.delay_cache_until_active);
  EXPECT_EQ(configuration.profiles.size(), 1U);
}

TEST(LoadTest, ReadsJson) {
  EXPECT_EQ(Problem(R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
                        "profiles":[{"schedulerName":"x"}],"parallelism":1e1})"),
            "");
}

TEST(LoadTest, SchedulerNames) {
  EXPECT_EQ(Load("profiles: [{percentageOfNodesToScore: 0}]\n").profiles[0].scheduler_name, "default-scheduler");
  EXPECT_EQ(Load("profiles: [{percentageOfNodesToScore: 0}]\n").profiles[0].percentage_of_nodes_to_score, 0);
  EXPECT_EQ(Load("profiles: [{schedulerName: mine}]\n").profiles[0].scheduler_name, "mine");
}

TEST(LoadTest, TypedArguments) {
  const auto configuration = Load(R"(
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 5}, {name: nvidia.com/gpu}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu}]}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
            matchFields: [{key: metadata.name, operator: NotIn, values: [n1]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 7
          preference: {matchExpressions: [{key: gen, operator: Gt, values: ["3"]}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 50, ignorePreferredTermsOfExistingPods: true}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3, matchLabelKeys: [app]}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 7}
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 5}
  - name: DynamicResources
    args: {filterTimeout: 0s, bindingTimeout: 1m}
  - name: Mine
    args: {any: [thing, 1], kind: Whatever}
  - name: MineWithoutArgs
)");
  const Profile& profile = configuration.profiles[0];
  EXPECT_TRUE(ValidateConfiguration(configuration).ok());

  NodeResourcesFitArgs fit;
  fit.ignored_resources = {"example.com/foo"};
  fit.ignored_resource_groups = {"example.com"};
  fit.scoring_strategy.type = ScoringStrategyType::kRequestedToCapacityRatio;
  fit.scoring_strategy.resources = {{"cpu", 5}, {"nvidia.com/gpu", 1}};
  fit.scoring_strategy.shape = {{0, 0}, {100, 10}};
  EXPECT_EQ(ArgsOf<NodeResourcesFitArgs>(profile, "NodeResourcesFit"), fit);
  EXPECT_EQ(ArgsOf<NodeResourcesBalancedAllocationArgs>(profile, "NodeResourcesBalancedAllocation").resources,
            (std::vector<ResourceSpec>{{"cpu", 1}}));

  const auto& affinity = ArgsOf<NodeAffinityArgs>(profile, "NodeAffinity").added_affinity;
  ASSERT_TRUE(affinity && affinity->required);
  EXPECT_EQ(affinity->required->at(0).match_expressions.at(0),
            (api::Requirement{"zone", api::SelectorOperator::kIn, {"a", "b"}}));
  EXPECT_EQ(affinity->required->at(0).match_fields.at(0).op, api::SelectorOperator::kNotIn);
  EXPECT_EQ(affinity->preferred.at(0).weight, 7);
  EXPECT_EQ(affinity->preferred.at(0).preference.match_expressions.at(0).op, api::SelectorOperator::kGt);

  EXPECT_EQ(ArgsOf<InterPodAffinityArgs>(profile, "InterPodAffinity"), (InterPodAffinityArgs{50, true}));
  const auto& spread = ArgsOf<PodTopologySpreadArgs>(profile, "PodTopologySpread");
  EXPECT_TRUE(spread.is_list_defaulting);
  EXPECT_EQ(spread.default_constraints.at(0),
            (TopologySpreadConstraint{2, "zone", "DoNotSchedule", 3, "", "", {"app"}}));
  EXPECT_EQ(ArgsOf<DefaultPreemptionArgs>(profile, "DefaultPreemption"), (DefaultPreemptionArgs{0, 7}));
  EXPECT_EQ(ArgsOf<VolumeBindingArgs>(profile, "VolumeBinding").bind_timeout_seconds, 5);
  EXPECT_EQ(ArgsOf<DynamicResourcesArgs>(profile, "DynamicResources"),
            (DynamicResourcesArgs{Duration::zero(), std::chrono::seconds(60)}));
  EXPECT_EQ(ArgsOf<RawArgs>(profile, "Mine").json, R"({"any":["thing",1],"kind":"Whatever"})");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*profile.FindArgs("MineWithoutArgs")));
}

TEST(LoadTest, MergesAProfilesSets) {
  const auto configuration = Load(R"(
profiles:
- plugins:
    multiPoint:
      disabled: [{name: ImageLocality}]
      enabled: [{name: Mine, weight: 9}, {name: TaintToleration, weight: 5}]
    score:
      disabled: [{name: NodeAffinity}]
      enabled: [{name: NodeResourcesFit, weight: 4}]
    placementGenerate: {disabled: [{name: X}]}
)");
  const Plugins& plugins = configuration.profiles[0].plugins;
  const auto& enabled = plugins.multi_point.enabled;
  EXPECT_EQ(enabled.size(), DefaultPlugins().multi_point.enabled.size());  // one disabled, one added
  EXPECT_EQ(enabled[4], (PluginRef{"TaintToleration", 5}));                // in its place, with the user's weight
  EXPECT_EQ(enabled.back(), (PluginRef{"Mine", 9}));
  EXPECT_EQ(plugins.multi_point.disabled, (std::vector<std::string>{"ImageLocality"}));
  EXPECT_EQ(plugins.points[ExtensionPoint::kScore].enabled, (std::vector<PluginRef>{{"NodeResourcesFit", 4}}));
  EXPECT_EQ(plugins.points[ExtensionPoint::kScore].disabled, (std::vector<std::string>{"NodeAffinity"}));
}

TEST(LoadTest, PointsThatTheReleaseHasNotAreUnknown) {
  const auto loaded = LoadConfiguration(
      std::string(kHeader) + "profiles: [{plugins: {placementGenerate: {disabled: [{name: X}]}}}]", FeatureGates(35));
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, ::testing::HasSubstr("placementGenerate: unknown field"));
}

TEST(LoadTest, PointsOfPodGroups) {
  const std::string text = std::string(kHeader) + R"(
profiles:
- plugins:
    podGroupPostFilter: {disabled: [{name: DynamicResources}]}
    placementGenerate: {disabled: [{name: "*"}]}
    placementScore: {enabled: [{name: NodeResourcesFit, weight: 4}]}
)";
  const auto gates = FeatureGates::Parse(
      {.release_minor = 37, .gates = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"}});
  ASSERT_TRUE(gates.ok()) << gates.error().message;
  const auto configuration = LoadConfiguration(text, *gates);
  ASSERT_TRUE(configuration.ok()) << configuration.error().message;
  const PerPoint<PluginSet>& points = configuration->profiles[0].plugins.points;
  EXPECT_EQ(points[ExtensionPoint::kPodGroupPostFilter].disabled, (std::vector<std::string>{"DynamicResources"}));
  EXPECT_EQ(points[ExtensionPoint::kPlacementGenerate].disabled, (std::vector<std::string>{"*"}));
  EXPECT_EQ(points[ExtensionPoint::kPlacementScore].enabled, (std::vector<PluginRef>{{"NodeResourcesFit", 4}}));
  const auto without = LoadConfiguration(text, FeatureGates(37));
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().message,
            "profiles[0].plugins.placementScore.enabled: Forbidden: must be empty: the feature gate "
            "TopologyAwareWorkloadScheduling is off");
  const std::string written = WriteConfiguration(*configuration, *gates);
  const auto again = LoadConfiguration(written, *gates);
  ASSERT_TRUE(again.ok()) << again.error().message << written;
  EXPECT_EQ(again->profiles[0].plugins, configuration->profiles[0].plugins);
}

// Since 1.38, with their gate.
TEST(LoadTest, PlacementLimits) {
  const std::string text = std::string(kHeader) + R"(
percentageOfPlacementsToScore: 40
profiles:
- schedulerName: a
  percentageOfPlacementsToScore: 0
  plugins: {placementFeasible: {disabled: [{name: GangScheduling}]}}
- schedulerName: b
)";
  const auto parse = [](int minor, bool has_placements) {
    FeatureGateSettings settings{.release_minor = minor, .gates = {"GenericWorkload=true"}};
    if (has_placements) settings.gates.emplace_back("TopologyAwareWorkloadScheduling=true");
    return FeatureGates::Parse(settings).value();
  };
  const FeatureGates gates = parse(38, true);
  const auto configuration = LoadConfiguration(text, gates);
  ASSERT_TRUE(configuration.ok()) << configuration.error().message;
  EXPECT_TRUE(ValidateConfiguration(*configuration).ok());
  EXPECT_EQ(configuration->percentage_of_placements_to_score, 40);
  EXPECT_EQ(configuration->profiles[0].percentage_of_placements_to_score, 0);
  EXPECT_EQ(configuration->profiles[1].percentage_of_placements_to_score, std::nullopt);
  EXPECT_EQ(configuration->profiles[0].plugins.points[ExtensionPoint::kPlacementFeasible].disabled,
            (std::vector<std::string>{"GangScheduling"}));
  const std::string written = WriteConfiguration(*configuration, gates);
  const auto again = LoadConfiguration(written, gates);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->profiles[0].plugins, configuration->profiles[0].plugins);
  EXPECT_EQ(WriteConfiguration(*again, gates), written);

  EXPECT_EQ(DefaultConfiguration(gates).percentage_of_placements_to_score, 0);
  EXPECT_EQ(DefaultConfiguration(parse(38, false)).percentage_of_placements_to_score, std::nullopt);
  EXPECT_EQ(DefaultConfiguration(parse(37, true)).percentage_of_placements_to_score, std::nullopt);
  const auto refusal = [](const std::string& fields, const FeatureGates& by) -> std::string {
    const auto loaded = LoadConfiguration(std::string(kHeader) + fields, by);
    if (!loaded.ok()) return loaded.error().message;
    const auto valid = ValidateConfiguration(*loaded);
    return valid.ok() ? "" : valid.error().message;
  };
  const std::string needs =
      "Forbidden: percentageOfPlacementsToScore requires TopologyAwareWorkloadScheduling feature "
      "gate to be enabled";
  EXPECT_EQ(refusal("percentageOfPlacementsToScore: 1\n", parse(38, false)), "percentageOfPlacementsToScore: " + needs);
  EXPECT_EQ(refusal("profiles: [{percentageOfPlacementsToScore: 0}]\n", parse(38, false)),
            "profiles[0].percentageOfPlacementsToScore: " + needs);
  EXPECT_EQ(refusal("percentageOfPlacementsToScore: 101\n", gates),
            "percentageOfPlacementsToScore: Invalid value: 101: not in valid range [0-100]");
  EXPECT_THAT(refusal("percentageOfPlacementsToScore: 1\n", parse(37, true)),
              ::testing::HasSubstr("percentageOfPlacementsToScore: unknown field"));
  EXPECT_THAT(refusal("profiles: [{plugins: {placementFeasible: {}}}]\n", parse(37, true)),
              ::testing::HasSubstr("placementFeasible: unknown field"));
}

TEST(MergePluginSetTest, Rules) {
  const PluginSet defaults{{{"A", 1}, {"B", 2}, {"C", 3}}, {}};
  struct Case {
    const char* name;
    PluginSet custom;
    std::vector<PluginRef> want;
  };
  const Case cases[] = {
      {"nothing", {}, {{"A", 1}, {"B", 2}, {"C", 3}}},
      {"disabled", {{}, {"B"}}, {{"A", 1}, {"C", 3}}},
      {"all disabled", {{{"D"}}, {"*"}}, {{"D"}}},
      {"replaced in place", {{{"D"}, {"B", 7}}, {}}, {{"A", 1}, {"B", 7}, {"C", 3}, {"D"}}},
      {"disabled and enabled again goes to the end", {{{"A", 5}}, {"A"}}, {{"B", 2}, {"C", 3}, {"A", 5}}},
      {"all disabled, some enabled again in the user's order", {{{"C"}, {"A"}}, {"*"}}, {{"C"}, {"A"}}},
      {"enabled twice", {{{"B", 7}, {"B", 8}}, {}}, {{"A", 1}, {"B", 8}, {"C", 3}, {"B", 7}}},
  };
  for (const Case& c : cases) {
    const PluginSet merged = MergePluginSet(defaults, c.custom);
    EXPECT_EQ(Names(merged.enabled), Names(c.want)) << c.name;
    EXPECT_EQ(merged.enabled, c.want) << c.name;
    EXPECT_EQ(merged.disabled, c.custom.disabled) << c.name;
  }
}

TEST(LoadTest, RefusesWhatItCannotDecode) {
  struct Case {
    const char* name;
    const char* body;
    const char* want;
  };
  const Case cases[] = {
      {"unknown field", "profiles: [{schedulerNam: x}]",
       "profiles[0].schedulerNam: unknown field; known here: percentageOfNodesToScore, pluginConfig, plugins, "
       "schedulerName; the nearest is schedulerName"},
      {"unknown field of two lines", "profiles: [{\"scheduler\\nNam\\e\": x}]",
       "profiles[0].scheduler?Nam?: unknown field; known here: percentageOfNodesToScore, pluginConfig, plugins, "
       "schedulerName; the nearest is schedulerName"},
      {"unknown field of a plugin", "profiles: [{plugins: {score: {enabled: [{name: A, wait: 1}]}}}]",
       "profiles[0].plugins.score.enabled[0].wait: unknown field; known here: name, weight"},
      {"unknown field of arguments", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hard: 1}}]}]",
       "profiles[0].pluginConfig[0].args.hard: unknown field; known here: apiVersion, hardPodAffinityWeight, "
       "ignorePreferredTermsOfExistingPods, kind"},
      {"field names have one case", "Parallelism: 3",
       "Parallelism: unknown field; known here: apiVersion, clientConnection, delayCacheUntilActive, "
       "enableContentionProfiling, "
       "enableProfiling, extenders, kind, leaderElection, parallelism, percentageOfNodesToScore, "
       "podInitialBackoffSeconds, "
       "podMaxBackoffSeconds, profiles; the nearest is parallelism"},
      {"doubled key", "parallelism: 3\nparallelism: 4",
       "line 4, column 14: key \"parallelism\" is already set in this mapping"},
      {"wrong type of a weight", "profiles: [{plugins: {score: {enabled: [{name: A}, {name: B, weight: x}]}}}]",
       "profiles[0].plugins.score.enabled[1].weight: must be a whole number of 32 bits, not a string"},
      {"weight too large", "profiles: [{plugins: {score: {enabled: [{name: A, weight: 2147483648}]}}}]",
       "profiles[0].plugins.score.enabled[0].weight: must be a whole number of 32 bits, not 2147483648"},
      {"fraction", "parallelism: 1.5", "parallelism: must be a whole number of 32 bits, not 1.5E0"},
      {"a quoted number is a string", "parallelism: '3'",
       "parallelism: must be a whole number of 32 bits, not a string"},
      {"no object", "leaderElection: [1]", "leaderElection: must be an object, not a list"},
      {"no list", "profiles: {}", "profiles: must be a list, not an object"},
      {"no string", "profiles: [{schedulerName: 5}]", "profiles[0].schedulerName: must be a string, not a number"},
      {"no boolean", "enableProfiling: 'true'", "enableProfiling: must be a boolean, not a string"},
      {"no number", "clientConnection: {qps: many}", "clientConnection.qps: must be a number, not a string"},
      {"no duration", "leaderElection: {leaseDuration: 15}",
       "leaderElection.leaseDuration: must be a duration such as \"15s\", not a number"},
      {"bad duration", "leaderElection: {leaseDuration: 15x}",
       "leaderElection.leaseDuration: must be a duration such as \"15s\" or \"1m30s\", not \"15x\""},
      {"list item of the wrong type",
       "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [1]}}]}]",
       "profiles[0].pluginConfig[0].args.ignoredResources[0]: must be a string, not a number"},
      {"other kind of arguments",
       "profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: InterPodAffinityArgs}}]}]",
       "profiles[0].pluginConfig[0].args.kind: must be \"NodeAffinityArgs\", not \"InterPodAffinityArgs\""},
      {"other version of arguments",
       "profiles: [{pluginConfig: [{name: NodeAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}}]}]",
       "profiles[0].pluginConfig[0].args.apiVersion: must be \"kubescheduler.config.k8s.io/v1\", not "
       "\"kubescheduler.config.k8s.io/v1beta3\""},
      {"unknown scoring strategy",
       "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Most}}}]}]",
       "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Most\": supported values: "
       "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""},
      {"scoring strategy without a type",
       "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: []}}}]}]",
       "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"\": supported values: "
       "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""},
      {"unknown defaulting type",
       "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: None}}]}]",
       "profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: \"None\": supported values: \"System\", "
       "\"List\""},
      {"default constraint with a selector",
       "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: "
       "[{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}}]}]",
       "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a "
       "selector, "
       "as they deduced for each pod"},
      {"plugin at a point of a gate that is off", "profiles: [{plugins: {placementScore: {enabled: [{name: A}]}}}]",
       "profiles[0].plugins.placementScore.enabled: Forbidden: must be empty: the feature gate "
       "TopologyAwareWorkloadScheduling "
       "is off"},
      {"two errors", "parallelism: x\nenableProfiling: 1",
       "[parallelism: must be a whole number of 32 bits, not a string, enableProfiling: must be a boolean, not a "
       "number]"},
  };
  for (const Case& c : cases) EXPECT_EQ(Problem(std::string(kHeader) + c.body), c.want) << c.name;
}

TEST(LoadTest, RefusesOtherKinds) {
  EXPECT_EQ(Problem("kind: KubeSchedulerConfiguration"),
            "apiVersion: must be \"kubescheduler.config.k8s.io/v1\", and is missing");
  EXPECT_EQ(Problem("apiVersion: kubescheduler.config.k8s.io/v1"),
            "kind: must be \"KubeSchedulerConfiguration\", and is missing");
  EXPECT_EQ(Problem("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration"),
            "apiVersion: must be \"kubescheduler.config.k8s.io/v1\", not \"kubescheduler.config.k8s.io/v1beta3\"");
  EXPECT_EQ(Problem("apiVersion: kubescheduler.config.k8s.io/v1\nkind: 5"), "kind: must be a string, not a number");
  EXPECT_EQ(Problem("[]"), "must be an object, not a list");
  EXPECT_EQ(Problem(""), "the text is empty: expected one YAML or JSON document");
}

TEST(ValidateTest, Rules) {
  struct Case {
    const char* name;
    const char* body;
    const char* want;
  };
  const Case cases[] = {
      {"parallelism", "parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"},
      {"percentage", "percentageOfNodesToScore: 101",
       "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
      {"profile's percentage", "profiles: [{percentageOfNodesToScore: -1}]",
       "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"},
      {"initial back-off", "podInitialBackoffSeconds: 0",
       "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
      {"maximum back-off", "podInitialBackoffSeconds: 20",
       "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"},
      {"burst", "clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"},
      {"lease", "leaderElection: {leaseDuration: 5s}",
       "leaderElection.leaseDuration: Invalid value: \"5s\": must be greater than `RenewDeadline`"},
      {"negative period", "leaderElection: {retryPeriod: -1s}",
       "leaderElection.retryPeriod: Invalid value: \"-1s\": must be greater than zero"},
      {"lock", "leaderElection: {resourceLock: endpoints}",
       "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must be \"leases\""},
      {"no leader election, no check", "leaderElection: {leaderElect: false, leaseDuration: 5s, resourceLock: x}", ""},
      {"empty scheduler name", "profiles: [{schedulerName: ''}]", "profiles[0].schedulerName: Required value"},
      {"no scheduler name of two", "profiles: [{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"},
      {"same scheduler name", "profiles: [{schedulerName: a}, {schedulerName: a}]",
       "profiles[1].schedulerName: Duplicate value: \"profiles[0].schedulerName\""},
      {"removed plugin", "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
       "profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": was invalid in version "
       "\"kubescheduler.config.k8s.io/v1\" (KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")"},
      {"removed plugin in multiPoint is the registry's error",
       "profiles: [{plugins: {multiPoint: {enabled: [{name: EBSLimits}]}}}]", ""},
      {"arguments twice", "profiles: [{pluginConfig: [{name: A, args: {}}, {name: A, args: {}}]}]",
       "profiles[0].pluginConfig[1]: Duplicate value: \"A\""},
      {"two queue sorts", "profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
       "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"},
      {"different queue sorts",
       "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: B}], disabled: "
       "[{name: '*'}]}}}]",
       "profiles[1].plugins.queueSort: Invalid value: must be the same for all profiles"},
      {"different arguments of the queue sort",
       "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: Q}]}}, pluginConfig: [{name: Q, args: {x: "
       "1}}]}, "
       "{schedulerName: b, plugins: {queueSort: {enabled: [{name: Q}]}}, pluginConfig: [{name: Q, args: {x: 2}}]}]",
       "profiles[1].pluginConfig.args: Invalid value: queueSort must be the same for all profiles"},
      {"several", "parallelism: 0\npercentageOfNodesToScore: -5",
       "[parallelism: Invalid value: 0: should be an integer value greater than zero, percentageOfNodesToScore: "
       "Invalid value: "
       "-5: not in valid range [0-100]]"},
  };
  for (const Case& c : cases) EXPECT_EQ(Problem(std::string(kHeader) + c.body), c.want) << c.name;
}

TEST(ValidateTest, PluginArguments) {
  struct Case {
    const char* plugin;
    const char* args;
    const char* want;  // without the prefix "profiles[0].pluginConfig[0].args."
  };
  const Case cases[] = {
      {"DefaultPreemption", "{minCandidateNodesPercentage: 101}",
       "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"},
      {"DefaultPreemption", "{minCandidateNodesAbsolute: -1}",
       "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"},
      {"DefaultPreemption", "{minCandidateNodesAbsolute: 0}", ""},
      {"InterPodAffinity", "{hardPodAffinityWeight: 101}",
       "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"},
      {"NodeAffinity",
       "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}, {matchExpressions: "
       "[{key: a, operator: Near}]}]}}}",
       "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]: a: the operator must be one "
       "of In, "
       "NotIn, Exists, DoesNotExist, Gt, Lt"},
      {"NodeAffinity",
       "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: "
       "[{key: "
       "metadata.name, operator: Exists}]}}]}}",
       "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference: metadata.name: the operator on a "
       "field must "
       "be In or NotIn"},
      {"NodeAffinity",
       "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {matchFields: "
       "[{key: "
       "metadata.name, operator: Exists}]}}]}}",
       ""},
      {"NodeResourcesFit", "{ignoredResources: ['a b']}",
       "ignoredResources[0]: Invalid value: \"a b\": must be at most 63 letters, digits, '-', '_' and '.', beginning "
       "and ending "
       "with a letter or digit, with an optional DNS prefix and '/'"},
      {"NodeResourcesFit", "{ignoredResourceGroups: [a/b]}",
       "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"},
      {"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}",
       "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]"},
      {"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}",
       "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio"},
      {"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}",
       "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
       "RequestedToCapacityRatio"},
      {"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
       "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified"},
      {"NodeResourcesFit",
       "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5, score: "
       "1}, "
       "{utilization: 5, score: 2}]}}}",
       "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must be sorted in "
       "increasing order"},
      {"NodeResourcesFit",
       "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 101, "
       "score: 5}]}}}",
       "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: 101: not in valid range [0, "
       "100]"},
      {"NodeResourcesFit",
       "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 1, score: "
       "11}]}}}",
       "scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]"},
      {"NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu}]}",
       "resources[1].name: Duplicate value: \"cpu\""},
      {"NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}",
       "resources[0].weight: Invalid value: 2: must be 1"},
      {"PodTopologySpread", "{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
       "defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"},
      {"PodTopologySpread",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
       "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"},
      {"PodTopologySpread",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}",
       "defaultConstraints[0].topologyKey: Required value: can not be empty"},
      {"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a}]}",
       "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"},
      {"PodTopologySpread",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Maybe}]}",
       "defaultConstraints[0].whenUnsatisfiable: Unsupported value: \"Maybe\": supported values: \"DoNotSchedule\", "
       "\"ScheduleAnyway\""},
      {"PodTopologySpread",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, "
       "{maxSkew: 2, "
       "topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
       "defaultConstraints[1]: Duplicate value: \"{a, DoNotSchedule}\""},
      {"VolumeBinding", "{bindTimeoutSeconds: -1}",
       "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"},
      {"VolumeBinding", "{shape: []}",
       "shape: Forbidden: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"},
      {"DynamicResources", "{filterTimeout: -1s}", "filterTimeout: Invalid value: \"-1s\": must be zero or positive"},
      {"DynamicResources", "{bindingTimeout: 999ms}",
       "bindingTimeout: Invalid value: \"999ms\": must be at least 1 second"},
  };
  for (const Case& c : cases) {
    const std::string text =
        std::string(kHeader) + "profiles: [{pluginConfig: [{name: " + c.plugin + ", args: " + c.args + "}]}]";
    const std::string want =
        std::string(c.want).empty() ? "" : std::string("profiles[0].pluginConfig[0].args.") + c.want;
    EXPECT_EQ(Problem(text), want) << c.plugin << ' ' << c.args;
  }
  EXPECT_EQ(Problem(std::string(kHeader) + "profiles: [{pluginConfig: [{name: DefaultPreemption, args: "
                                           "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]"),
            "[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the "
            "same time as "
            "minCandidateNodesAbsolute, profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: "
            "cannot be "
            "zero at the same time as minCandidateNodesPercentage]");
}

// 1.35 looks at the shape of any strategy, and takes it beside another type.
TEST(LoadConfiguration, StrategiesAreCheckedFrom136On) {
  const auto problem = [](int minor, const std::string& ratio) {
    const std::string text = std::string(kHeader) +
                             "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
                             "MostAllocated, requestedToCapacityRatio: " +
                             ratio + "}}}]}]";
    const auto gates = FeatureGates::Parse({.release_minor = minor});
    BERTH_CHECK(gates.ok(), gates.error().message);
    const auto configuration = LoadConfiguration(text, *gates);
    BERTH_CHECK(configuration.ok(), configuration.error().message);
    const auto valid = ValidateConfiguration(*configuration);
    return valid.ok() ? std::string() : valid.error().message;
  };
  const std::string at = "profiles[0].pluginConfig[0].args.scoringStrategy.";
  EXPECT_EQ(problem(35, "{shape: [{utilization: 0, score: 1}]}"), "");
  EXPECT_EQ(problem(36, "{shape: [{utilization: 0, score: 1}]}"),
            at + "requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio");
  EXPECT_EQ(problem(35, "{shape: [{utilization: 101, score: 1}]}"),
            at + "shape[0].utilization: Invalid value: 101: not in valid range [0, 100]");
}

}  // namespace
}  // namespace berth::config
