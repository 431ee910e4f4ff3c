// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/feature_gates.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/config/feature_gate_table.h"
#include "berth/core/config/load.h"

namespace berth::config {
namespace {

using Words = std::vector<std::string>;

std::string ErrorOf(const FeatureGateSettings& settings) {
  const auto gates = FeatureGates::Parse(settings);
  return gates.ok() ? "" : gates.error().message;
}

FeatureGates GatesOf(const Words& gates) {
  const auto parsed = FeatureGates::Parse({gates, {}, {}});
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? *parsed : FeatureGates();
}

TEST(FeatureGates, DefaultsAreThoseOfTheVersion) {
  const FeatureGates gates;
  EXPECT_TRUE(gates.Enabled("NodeDeclaredFeatures"));
  EXPECT_TRUE(gates.Enabled("DynamicResourceAllocation"));
  EXPECT_FALSE(gates.Enabled("GangScheduling"));
  EXPECT_FALSE(gates.Enabled("SchedulerAsyncAPICalls"));
  EXPECT_FALSE(gates.Enabled("NoSuchGate"));
  const auto older = FeatureGates::Parse({{}, {"1.34"}, {}});
  ASSERT_TRUE(older.ok());
  EXPECT_FALSE(older->Enabled("NodeDeclaredFeatures"));
  EXPECT_EQ(older->emulated_minor(), 34);
  EXPECT_EQ(older->min_compatibility_minor(), 33);
}

TEST(FeatureGates, AcceptsWhatUpstreamAccepts) {
  for (const Words& gates : std::vector<Words>{
           {},
           {""},
           {"OpportunisticBatching=false"},
           {"kube:WatchListClient=false,kube:OpportunisticBatching=f"},
           {" OpportunisticBatching = T ,"},
           {"SchedulerQueueingHints=true", "DRAAdminAccess=1"},            // locked to it
           {"CPUManagerPolicyAlphaOptions=true,WindowsHostNetwork=true"},  // another component's
           {"OpportunisticBatching=false", "OpportunisticBatching=true"},
           {"AllAlpha=false"},
           {"AllBeta=true,CoordinatedLeaderElection=false,DRADeviceTaintRules=false"},
           {"GangScheduling=false,DRADeviceTaints=true"},
       })
    EXPECT_EQ(ErrorOf({gates, {}, {}}), "") << ::testing::PrintToString(gates);
}

TEST(FeatureGates, SaysWhatIsWrong) {
  struct {
    FeatureGateSettings settings;
    std::string error;
  } const cases[] = {
      {{{"NodeDeclaredFeature=true"}, {}, {}},
       "--feature-gates: unrecognized feature gate: NodeDeclaredFeature; the nearest is NodeDeclaredFeatures"},
      {{{"SchedulerQueueingHints=false"}, {}, {}},
       "--feature-gates: cannot set feature gate SchedulerQueueingHints=false: it is locked to true"},
      {{{"OpportunisticBatching"}, {}, {}},
       "--feature-gates: \"OpportunisticBatching\" should be NAME=true or NAME=false"},
      {{{"OpportunisticBatching=maybe"}, {}, {}},
       "--feature-gates: \"OpportunisticBatching=maybe\" should be OpportunisticBatching=true or "
       "OpportunisticBatching=false"},
      {{{"wardle:A=true"}, {}, {}},
       "--feature-gates: \"wardle:A=true\" is of the component \"wardle\", which there is not: should be kube"},
      {{{"kube:AllBeta=true", "AllAlpha=false"}, {}, {}},
       "--feature-gates: some gates have the prefix kube: and some have not; it should be all or none"},
      {{{"DynamicResourceAllocation=true,DRADeviceTaints=false,DRADeviceTaintRules=true"}, {}, {}},
       "--feature-gates: DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"},
      {{{"AtomicFIFO=true"}, {"1.35"}, {}},
       "--feature-gates: cannot set feature gate AtomicFIFO=true: it came after the emulated version 1.35"},
      {{{"StorageCapacityScoring=true"}, {}, {}},
       "--feature-gates: StorageCapacityScoring=true cannot be had: berth does not have this feature"},
      {{{"PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false,PodLevelResourceManagers=false"},
        {},
        {}},
       "--feature-gates: [InPlacePodLevelResourcesVerticalScaling=false cannot be had: berth counts what a pod has "
       "been given "
       "as a whole, PodLevelResources=false cannot be had: berth counts the requests of a pod as a whole]"},
      {{{}, {"1.32"}, {}}, "--emulated-version: 1.32 should be from 1.33 to 1.36"},
      {{{}, {"1.37"}, {}}, "--emulated-version: 1.37 should be from 1.33 to 1.36"},
      {{{}, {"1.35.2"}, {}}, "--emulated-version: \"1.35.2\" should have no patch version"},
      {{{}, {"new"}, {}}, "--emulated-version: \"new\" should be a version such as 1.36"},
      {{{}, {"wardle=1.2"}, {}},
       "--emulated-version: \"wardle=1.2\" is of the component \"wardle\", which there is not: should be kube"},
      {{{}, {"1.35", "kube=1.34"}, {}}, "--emulated-version: \"kube=1.34\" is a second version: should be given once"},
      {{{}, {"1.34"}, {"1.35"}}, "--min-compatibility-version: 1.35 should be from 1.33 to 1.34"},
  };
  for (const auto& c : cases) EXPECT_EQ(ErrorOf(c.settings), c.error);
}

TEST(FeatureGates, AllBetaLeavesWhatWasSet) {
  const FeatureGates gates =
      GatesOf({"AllBeta=true,OpportunisticBatching=false,CoordinatedLeaderElection=false,DRADeviceTaintRules=false"});
  EXPECT_FALSE(gates.Enabled("OpportunisticBatching"));
  EXPECT_TRUE(gates.Enabled("SELinuxMount"));
  EXPECT_NE(ErrorOf({{"AllAlpha=true"}, {}, {}}).find("GangScheduling=true cannot be had"), std::string::npos);
}

TEST(FeatureGates, WarnsOfGatesThatWillGo) {
  EXPECT_EQ(
      GatesOf({"SchedulerQueueingHints=true,OpportunisticBatching=true,WindowsHostNetwork=false"}).warnings(),
      (Words{"--feature-gates: SchedulerQueueingHints=true sets a gate that is GA: a later release will not know it",
             "--feature-gates: WindowsHostNetwork=false sets a gate that is DEPRECATED: a later release will not know "
             "it"}));
}

TEST(FeatureGates, TheTableIsInOrderAndComplete) {
  const auto table = FeatureGates::Table();
  EXPECT_EQ(table.size(), 241u);
  EXPECT_TRUE(
      std::is_sorted(table.begin(), table.end(), [](const GateRow& a, const GateRow& b) { return a.name < b.name; }));
  for (const GateRow& row : table) {
    const auto spec = FeatureGates::SpecAt(row.name, kKubernetesMinor);
    ASSERT_TRUE(spec) << row.name;
    EXPECT_NE(spec->stage, GateStage::kPreAlpha) << row.name;
    // What berth has is what the gate is by default.
    if (FeatureGates::EffectOf(row.name) == GateEffect::kOnly) {
      EXPECT_EQ(FeatureGates::OnlyValueOf(row.name), spec->is_on) << row.name;
      EXPECT_NE(FeatureGates::WhyOf(row.name), "") << row.name;
    }
  }
  for (const GateDependency& dependency : FeatureGateDependencies())
    EXPECT_TRUE(FeatureGates::SpecAt(dependency.name, kKubernetesMinor)) << dependency.name;
}

TEST(FeatureGates, DefaultsOfTheConfigurationFollowThem) {
  const auto older = FeatureGates::Parse({{}, {"1.34"}, {}});
  ASSERT_TRUE(older.ok());
  const Plugins plugins = DefaultPlugins(*older);
  EXPECT_TRUE(std::none_of(plugins.multi_point.enabled.begin(), plugins.multi_point.enabled.end(),
                           [](const PluginRef& plugin) { return plugin.name == "NodeDeclaredFeatures"; }));

  const FeatureGates gates = GatesOf({"DRASchedulerFilterTimeout=false"});
  EXPECT_EQ(std::get<DynamicResourcesArgs>(DefaultArgs("DynamicResources", gates)).filter_timeout, Duration::zero());
  constexpr std::string_view kFile =
      "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
      " profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 5s}}]}]}";
  EXPECT_TRUE(LoadConfiguration(kFile).ok());
  const auto refused = LoadConfiguration(kFile, gates);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "profiles[0].pluginConfig[0].args.filterTimeout: Forbidden: needs the feature gate DRASchedulerFilterTimeout");
}

}  // namespace
}  // namespace berth::config
