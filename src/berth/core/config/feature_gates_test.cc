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
#include "berth/core/config/validate.h"

namespace berth::config {
namespace {

using Words = std::vector<std::string>;

std::string ErrorOf(const FeatureGateSettings& settings) {
  const auto gates = FeatureGates::Parse(settings);
  return gates.ok() ? "" : gates.error().message;
}

FeatureGates GatesOf(const Words& gates, int release_minor = 36) {
  const auto parsed = FeatureGates::Parse({.release_minor = release_minor, .gates = gates});
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
  const auto older = FeatureGates::Parse({.emulated_versions = {"1.34"}});
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
           {"SchedulerQueueingHints=true", "DRAAdminAccess=1"},            // locked to this value
           {"CPUManagerPolicyAlphaOptions=true,WindowsHostNetwork=true"},  // gates of another component
           {"OpportunisticBatching=false", "OpportunisticBatching=true"},
           {"AllAlpha=false"},
           {"AllBeta=true"},
           {"AllBeta=false"},
           {"AllAlpha=true"},
           {"AllBeta=true,AllAlpha=true"},
           {"AllBeta=true,CoordinatedLeaderElection=false,DRADeviceTaintRules=false"},
           {"GangScheduling=false,DRADeviceTaints=true"},
       })
    EXPECT_EQ(ErrorOf({.gates = gates}), "") << ::testing::PrintToString(gates);
}

TEST(FeatureGates, SaysWhatIsWrong) {
  struct {
    FeatureGateSettings settings;
    std::string error;
  } const cases[] = {
      {{.gates = {"NodeDeclaredFeature=true"}},
       "--feature-gates: unrecognized feature gate: NodeDeclaredFeature; the nearest is NodeDeclaredFeatures"},
      {{.gates = {"SchedulerQueueingHints=false"}},
       "--feature-gates: cannot set feature gate SchedulerQueueingHints=false: it is locked to true"},
      {{.gates = {"OpportunisticBatching"}},
       "--feature-gates: \"OpportunisticBatching\" should be NAME=true or NAME=false"},
      {{.gates = {"OpportunisticBatching=maybe"}},
       "--feature-gates: \"OpportunisticBatching=maybe\" should be OpportunisticBatching=true or "
       "OpportunisticBatching=false"},
      {{.gates = {"wardle:A=true"}},
       "--feature-gates: \"wardle:A=true\" is of the component \"wardle\", which there is not: should be kube"},
      {{.gates = {"kube:AllBeta=true", "AllAlpha=false"}},
       "--feature-gates: some gates have the prefix kube: and some have not; it should be all or none"},
      {{.gates = {"DynamicResourceAllocation=true,DRADeviceTaints=false,DRADeviceTaintRules=true"}},
       "--feature-gates: DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"},
      {{.gates = {"AtomicFIFO=true"}, .emulated_versions = {"1.35"}},
       "--feature-gates: cannot set feature gate AtomicFIFO=true: it came after the emulated version 1.35"},
      {{.gates = {"DRAListTypeAttributes=true"}},
       "--feature-gates: DRAListTypeAttributes=true cannot be had: berth does not have this feature"},
      {{.gates =
            {"PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false,PodLevelResourceManagers=false"}},
       "--feature-gates: PodLevelResources=false cannot be had: berth counts the requests of a pod as a whole"},
      {{.emulated_versions = {"1.32"}}, "--emulated-version: 1.32 should be from 1.33 to 1.36"},
      {{.emulated_versions = {"1.37"}}, "--emulated-version: 1.37 should be from 1.33 to 1.36"},
      {{.emulated_versions = {"1.35.2"}}, "--emulated-version: \"1.35.2\" should have no patch version"},
      {{.emulated_versions = {"new"}}, "--emulated-version: \"new\" should be a version such as 1.36"},
      {{.emulated_versions = {"wardle=1.2"}},
       "--emulated-version: \"wardle=1.2\" is of the component \"wardle\", which there is not: should be kube"},
      {{.emulated_versions = {"1.35", "kube=1.34"}},
       "--emulated-version: \"kube=1.34\" is a second version: should be given once"},
      {{.emulated_versions = {"1.34"}, .min_compatibility_versions = {"1.35"}},
       "--min-compatibility-version: 1.35 should be from 1.33 to 1.34"},
  };
  for (const auto& c : cases) EXPECT_EQ(ErrorOf(c.settings), c.error);
}

TEST(FeatureGates, AllBetaLeavesWhatWasSet) {
  const FeatureGates gates =
      GatesOf({"AllBeta=true,OpportunisticBatching=false,CoordinatedLeaderElection=false,DRADeviceTaintRules=false"});
  EXPECT_FALSE(gates.Enabled("OpportunisticBatching"));
  EXPECT_TRUE(gates.Enabled("SELinuxMount"));
}

TEST(FeatureGates, AllGatesKeepWhatIsHadInOneWayAlone) {
  const FeatureGates beta = GatesOf({"AllBeta=true"});
  EXPECT_FALSE(beta.Enabled("CoordinatedLeaderElection"));
  EXPECT_TRUE(beta.Enabled("SELinuxMount"));
  EXPECT_EQ(beta.warnings(), (Words{"--feature-gates: berth has these gates in one way alone, in which they stay: "
                                    "CoordinatedLeaderElection=false"}));
  const FeatureGates off = GatesOf({"AllBeta=false"});
  EXPECT_TRUE(off.Enabled("DRAPrioritizedList"));
  EXPECT_FALSE(off.Enabled("OpportunisticBatching"));
  // If it is named, it is refused whatever else the list has.
  EXPECT_EQ(ErrorOf({.gates = {"AllBeta=true,CoordinatedLeaderElection=true"}}),
            "--feature-gates: CoordinatedLeaderElection=true cannot be had: berth does not have this feature");
  // Upstream's dependencies apply to the gates that upstream would switch.
  EXPECT_NE(ErrorOf({.release_minor = 37, .gates = {"AllAlpha=true"}})
                .find("CompositePodGroup is enabled, but depends on features that are disabled: [GenericWorkload]"),
            std::string::npos);
}

TEST(FeatureGates, WarnsOfGatesThatWillGo) {
  EXPECT_EQ(
      GatesOf({"SchedulerQueueingHints=true,OpportunisticBatching=true,WindowsHostNetwork=false"}).warnings(),
      (Words{"--feature-gates: SchedulerQueueingHints=true sets a gate that is GA: a later release will not know it",
             "--feature-gates: WindowsHostNetwork=false sets a gate that is DEPRECATED: a later release will not know "
             "it"}));
}

TEST(FeatureGates, EachReleaseHasItsOwn) {
  EXPECT_FALSE(FeatureGates(36).FollowedRelease().scores_storage_capacity);
  EXPECT_TRUE(FeatureGates(37).FollowedRelease().scores_storage_capacity);
  EXPECT_TRUE(FeatureGates(37).FollowedRelease().scales_volume_limits);
  EXPECT_TRUE(GatesOf({"StorageCapacityScoring=true"}).FollowedRelease().scores_storage_capacity);
  EXPECT_FALSE(GatesOf({"StorageCapacityScoring=false"}, 37).FollowedRelease().scores_storage_capacity);
  EXPECT_EQ(FeatureGates(37).FollowedRelease().minor, 37);

  const auto error = [](const char* gate) { return ErrorOf({.release_minor = 37, .gates = {gate}}); };
  EXPECT_EQ(
      error("SchedulerQueueingHints=true").find("--feature-gates: unrecognized feature gate: SchedulerQueueingHints"),
      0u);
  EXPECT_EQ(error("Foo=true"), "--feature-gates: unrecognized feature gate: Foo") << "nothing is near";
  EXPECT_EQ(error("GangScheduling=false").find("--feature-gates: unrecognized feature gate: GangScheduling"), 0u);
  EXPECT_EQ(error("CompositePodGroup=false"), "");
  EXPECT_EQ(error("CompositePodGroup=true"),
            "--feature-gates: CompositePodGroup is enabled, but depends on features that are disabled: "
            "[GenericWorkload TopologyAwareWorkloadScheduling]");
  EXPECT_TRUE(GatesOf({"GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"}, 37)
                  .FollowedRelease()
                  .has_composite_pod_groups);
  EXPECT_EQ(ErrorOf({.gates = {"CompositePodGroup=false"}}).find("--feature-gates: unrecognized feature gate"), 0u);
  EXPECT_EQ(error("GenericWorkload=true"), "");
  EXPECT_TRUE(GatesOf({"GenericWorkload=true"}, 37).FollowedRelease().has_pod_groups);
  EXPECT_FALSE(FeatureGates(37).FollowedRelease().has_pod_groups);
  EXPECT_EQ(ErrorOf({.gates = {"GenericWorkload=true"}}),
            "--feature-gates: GenericWorkload=true cannot be had: berth has pod groups as in Kubernetes 1.37, and not "
            "the older ones");
  // Defaults depend on the emulated version only.
  const auto emulating = FeatureGates::Parse({.release_minor = 37, .emulated_versions = {"1.36"}});
  ASSERT_TRUE(emulating.ok());
  EXPECT_FALSE(emulating->FollowedRelease().scores_storage_capacity);
  EXPECT_EQ(emulating->FollowedRelease().minor, 37);
  EXPECT_EQ(ErrorOf({.release_minor = 37, .emulated_versions = {"1.33"}}),
            "--emulated-version: 1.33 should be from 1.34 to 1.37");
  // A gate that needs all components to be at least 1.37.
  EXPECT_FALSE(FeatureGates(37).Enabled("DRAFractionalCapacityRange"));
}

// What is switched by gates whose defaults differ between releases.
TEST(FeatureGates, DevicesFollowTheirGates) {
  using framework::DeviceRules;
  const struct {
    const char* gate;
    bool DeviceRules::* is_on;
    int first_release;
  } cases[] = {
      {"DRAConsumableCapacity", &DeviceRules::has_consumable_capacity, 36},
      {"DRADeviceBindingConditions", &DeviceRules::has_binding_conditions, 36},
      {"DRADeviceTaints", &DeviceRules::has_device_taints, 36},
      {"DRAExtendedResource", &DeviceRules::has_extended_resources, 36},
      {"DRAPartitionableDevices", &DeviceRules::has_partitionable_devices, 36},
  };
  for (const auto& c : cases) {
    for (const int minor : {34, 35, 36, 37, 38})
      EXPECT_EQ(FeatureGates(minor).FollowedRelease().devices.*c.is_on, minor >= c.first_release) << c.gate << minor;
    const std::string gate = c.gate;
    EXPECT_TRUE(GatesOf({gate + "=true"}, 35).FollowedRelease().devices.*c.is_on) << gate;
    // DRADeviceTaintRules and DRAFractionalCapacityRange build on two of them.
    const std::string off = gate + "=false,DRADeviceTaintRules=false";
    EXPECT_FALSE(GatesOf({off}, 36).FollowedRelease().devices.*c.is_on) << gate;
  }
  EXPECT_FALSE(FeatureGates(37).FollowedRelease().devices.has_fractional_capacities);
  EXPECT_TRUE(FeatureGates(38).FollowedRelease().devices.has_fractional_capacities);
  EXPECT_FALSE(FeatureGates(34).FollowedRelease().announces_nominations);
  EXPECT_TRUE(GatesOf({"NominatedNodeNameForExpectation=true"}, 34).FollowedRelease().announces_nominations);
  EXPECT_FALSE(FeatureGates(35).FollowedRelease().counts_pod_level_status);
  EXPECT_TRUE(FeatureGates(36).FollowedRelease().counts_pod_level_status);
  EXPECT_TRUE(FeatureGates(38).FollowedRelease().has_pod_group_preemption_policy) << "without a gate";
  for (const int minor : {34, 35, 36, 37, 38})
    EXPECT_EQ(FeatureGates(minor).FollowedRelease(), [minor] {
      framework::Release release(minor);
      const FeatureGates gates(minor);
      release.scores_storage_capacity = gates.Enabled("StorageCapacityScoring");
      release.reads_device_taint_rules = gates.Enabled("DRADeviceTaintRules");
      release.scales_volume_limits = gates.Enabled("VolumeLimitScaling");
      return release;
    }()) << "the defaults of gates in release.h";
}

TEST(FeatureGates, ReleasesKnowTheirGates) {
  const auto error = [](int minor, const char* gate) { return ErrorOf({.release_minor = minor, .gates = {gate}}); };
  EXPECT_NE(error(34, "OpportunisticBatching=true").find("unrecognized feature gate"), std::string::npos);
  EXPECT_EQ(error(35, "OpportunisticBatching=true"), "");
  EXPECT_NE(error(38, "DynamicResourceAllocation=true").find("unrecognized feature gate"), std::string::npos);
  EXPECT_NE(error(34, "DynamicResourceAllocation=false").find("cannot be had"), std::string::npos);
  EXPECT_NE(error(34, "InPlacePodVerticalScaling=false").find("cannot be had"), std::string::npos);
  EXPECT_NE(error(38, "DRADeviceTaints=false").find("locked to true"), std::string::npos);
  EXPECT_NE(error(35, "GenericWorkload=true").find("not the older ones"), std::string::npos);
}

TEST(FeatureGates, TheTableIsInOrderAndComplete) {
  const auto table = FeatureGates::Table();
  const auto known = [&](int release) {
    return std::count_if(table.begin(), table.end(), [release](const GateRow& row) { return row.IsIn(release); });
  };
  EXPECT_EQ(known(34), 203);
  EXPECT_EQ(known(35), 218);
  EXPECT_EQ(known(36), 241);
  EXPECT_EQ(known(37), 253);
  EXPECT_EQ(known(38), 241);
  EXPECT_TRUE(
      std::is_sorted(table.begin(), table.end(), [](const GateRow& a, const GateRow& b) { return a.name < b.name; }));
  for (const GateRow& row : table) {
    for (int release = row.first_release; release <= row.last_release; ++release) {
      const auto spec = FeatureGates::SpecAt(row.name, release);
      ASSERT_TRUE(spec) << row.name;
      EXPECT_NE(spec->stage, GateStage::kPreAlpha) << row.name;
      // berth has the behaviour of each gate's default, except for what docs/reference/versions.md lists as missing.
      if (FeatureGates::EffectOf(row.name) != GateEffect::kOnly) continue;
      EXPECT_NE(FeatureGates::WhyOf(row.name), "") << row.name;
      if (release == 37 && row.name == "DRADeviceTaintRules") continue;
      EXPECT_EQ(FeatureGates::OnlyValueOf(row.name), FeatureGates(release).Enabled(row.name)) << row.name;
    }
  }
  for (const GateDependency& dependency : FeatureGateDependencies()) {
    const auto row =
        std::find_if(table.begin(), table.end(), [&](const GateRow& r) { return r.name == dependency.name; });
    ASSERT_TRUE(row != table.end()) << dependency.name;
    EXPECT_TRUE(row->IsIn(dependency.first_release) && row->IsIn(dependency.last_release)) << dependency.name;
  }
}

TEST(FeatureGates, DefaultsOfTheConfigurationFollowTheRelease) {
  const auto second_to_fourth = [](int release) {
    std::string names;
    const Plugins plugins = DefaultPlugins(FeatureGates(release));
    for (std::size_t i = 2; i < 4; ++i) names += plugins.multi_point.enabled[i].name + " ";
    return names;
  };
  EXPECT_EQ(second_to_fourth(36), "NodeUnschedulable NodeName ");
  EXPECT_EQ(second_to_fourth(37), "NodeName NodeUnschedulable ");
  constexpr std::string_view kFile =
      "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
      " profiles: [{plugins: {podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}}, pluginConfig: [{name: "
      "VolumeBinding, args: {shape: [{utilization: 0, score: 3}]}}]}]}";
  EXPECT_FALSE(LoadConfiguration(kFile).ok()) << "1.36 has no such extension point";
  auto loaded = LoadConfiguration(kFile, FeatureGates(37));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE(ValidateConfiguration(*loaded).ok());
  EXPECT_EQ(loaded->release, FeatureGates(37).FollowedRelease());
  EXPECT_EQ(std::get<VolumeBindingArgs>(*loaded->profiles[0].FindArgs("VolumeBinding")).shape,
            (std::vector<UtilizationShapePoint>{{0, 3}}));
  const auto by_default = DefaultConfiguration(FeatureGates(37));
  EXPECT_EQ(std::get<VolumeBindingArgs>(*by_default.profiles[0].FindArgs("VolumeBinding")).shape,
            (std::vector<UtilizationShapePoint>{{0, 10}, {100, 0}}));
}

TEST(FeatureGates, DefaultsOfTheConfigurationFollowThem) {
  const auto older = FeatureGates::Parse({.emulated_versions = {"1.34"}});
  ASSERT_TRUE(older.ok());
  const Plugins plugins = DefaultPlugins(*older);
  EXPECT_TRUE(std::none_of(plugins.multi_point.enabled.begin(), plugins.multi_point.enabled.end(),
                           [](const PluginRef& plugin) { return plugin.name == "NodeDeclaredFeatures"; }));

  const FeatureGates gates = GatesOf({"DRASchedulerFilterTimeout=false"});
  EXPECT_EQ(std::get<DynamicResourcesArgs>(DefaultArgs("DynamicResources", gates)).filter_timeout, Duration::zero());
}

TEST(FeatureGates, ArgumentsOfDynamicResourcesNeedTheirs) {
  const auto load = [](const std::string& args, const FeatureGates& gates) {
    const auto loaded = LoadConfiguration(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
        " profiles: [{pluginConfig: [{name: DynamicResources, args: " +
            args + "}]}]}",
        gates);
    return loaded.ok() ? std::string() : loaded.error().message;
  };
  const std::string at = "profiles[0].pluginConfig[0].args.";
  EXPECT_EQ(load("{filterTimeout: 5s, bindingTimeout: 5s}", FeatureGates()), "");
  EXPECT_EQ(load("{filterTimeout: 5s}", GatesOf({"DRASchedulerFilterTimeout=false"})),
            at + "filterTimeout: Forbidden: needs the feature gate DRASchedulerFilterTimeout");
  EXPECT_EQ(load("{bindingTimeout: 5s}", GatesOf({"DRADeviceBindingConditions=false"})),
            at + "bindingTimeout: Forbidden: needs the feature gate DRADeviceBindingConditions");
  EXPECT_EQ(load("{filterTimeout: 5s}", FeatureGates(35)), "");
  EXPECT_EQ(load("{bindingTimeout: 5s}", FeatureGates(35)),
            at + "bindingTimeout: Forbidden: needs the feature gate DRADeviceBindingConditions");
}

}  // namespace
}  // namespace berth::config
