// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/default.h"

#include <algorithm>
#include <map>
#include <set>

namespace berth::config {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Plugins DefaultPlugins(const FeatureGates& gates) {
  Plugins plugins;
  plugins.multi_point.enabled = {
      {"SchedulingGates"},
      {"PrioritySort"},
      {"NodeName"},
      {"NodeUnschedulable"},
      {"TaintToleration", 3},
      {"NodeAffinity", 2},
      {"NodePorts"},
      {"NodeResourcesFit", 1},
      {"VolumeRestrictions"},
      {"NodeVolumeLimits"},
      {"VolumeBinding"},
      {"VolumeZone"},
      {"PodTopologySpread", 2},
      {"InterPodAffinity", 2},
      // DynamicResources comes before DefaultPreemption, because freeing an idle claim costs less than evicting a pod.
      {"DynamicResources", 2},
      {"DefaultPreemption"},
      {"NodeResourcesBalancedAllocation", 1},
      {"ImageLocality", 1},
      {"DefaultBinder"},
  };
  const framework::Release release = gates.FollowedRelease();
  if (!release.scores_devices) {
    for (PluginRef& plugin : plugins.multi_point.enabled) {
      if (plugin.name == "DynamicResources") plugin.weight = 0;
    }
  }
  if (!release.is_node_name_first) {
    auto& enabled = plugins.multi_point.enabled;
    std::swap(*std::find(enabled.begin(), enabled.end(), PluginRef{"NodeName"}),
              *std::find(enabled.begin(), enabled.end(), PluginRef{"NodeUnschedulable"}));
  }
  if (gates.Enabled("NodeDeclaredFeatures")) plugins.multi_point.enabled.push_back({"NodeDeclaredFeatures"});
  if (gates.Enabled("GenericWorkload")) plugins.multi_point.enabled.push_back({"GangScheduling"});
  if (gates.Enabled("TopologyAwareWorkloadScheduling")) {
    plugins.multi_point.enabled.push_back({"TopologyPlacementGenerator"});
    plugins.multi_point.enabled.push_back({"PodGroupPodsCount", 1});
  }
  return plugins;
}

PluginSet MergePluginSet(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet merged;
  merged.disabled = custom.disabled;
  merged.disabled.insert(merged.disabled.end(), defaults.disabled.begin(), defaults.disabled.end());

  // If the user enables a name twice, the later entry replaces the default and the earlier one is appended. As in
  // upstream, the expansion then refuses the duplicate.
  std::map<std::string_view, std::size_t> custom_index;
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) custom_index[custom.enabled[i].name] = i;

  std::set<std::size_t> replacing;
  if (!Contains(merged.disabled, "*")) {
    for (const PluginRef& plugin : defaults.enabled) {
      if (Contains(merged.disabled, plugin.name)) continue;
      if (const auto found = custom_index.find(plugin.name); found != custom_index.end()) {
        merged.enabled.push_back(custom.enabled[found->second]);
        replacing.insert(found->second);
      } else {
        merged.enabled.push_back(plugin);
      }
    }
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) {
    if (replacing.count(i) == 0) merged.enabled.push_back(custom.enabled[i]);
  }
  return merged;
}

PluginArgs DefaultArgs(std::string_view plugin, const FeatureGates& gates) {
  if (plugin == "NodeResourcesFit") return NodeResourcesFitArgs{};
  if (plugin == "NodeResourcesBalancedAllocation") return NodeResourcesBalancedAllocationArgs{};
  if (plugin == "NodeAffinity") return NodeAffinityArgs{};
  if (plugin == "InterPodAffinity") return InterPodAffinityArgs{};
  if (plugin == "PodTopologySpread") return PodTopologySpreadArgs{};
  if (plugin == "DefaultPreemption") return DefaultPreemptionArgs{};
  if (plugin == "VolumeBinding") {
    VolumeBindingArgs args;
    // Nodes with free capacity score high, which spreads volumes.
    if (gates.Enabled("StorageCapacityScoring")) args.shape = {{0, 10}, {100, 0}};
    return args;
  }
  if (plugin == "DynamicResources") {
    DynamicResourcesArgs args;
    if (!gates.Enabled("DRASchedulerFilterTimeout")) args.filter_timeout = Duration::zero();
    return args;
  }
  return std::monostate{};
}

void ApplyDefaults(Profile& profile, const FeatureGates& gates) {
  const Plugins defaults = DefaultPlugins(gates);
  std::set<std::string> names;
  const auto merge = [&](PluginSet& set, const PluginSet& default_set) {
    set = MergePluginSet(default_set, set);
    for (const PluginRef& plugin : set.enabled) names.insert(plugin.name);
  };
  merge(profile.plugins.multi_point, defaults.multi_point);
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
    merge(profile.plugins.points.values[i], defaults.points.values[i]);
  }
  for (const PluginConfig& config : profile.plugin_config) names.erase(config.name);
  for (const std::string& name : names) {
    PluginArgs args = DefaultArgs(name, gates);
    if (!std::holds_alternative<std::monostate>(args)) profile.plugin_config.push_back({name, std::move(args)});
  }
}

void ApplyDefaults(KubeSchedulerConfiguration& configuration, const FeatureGates& gates) {
  const bool limits_placements =
      gates.release_minor() >= kPlacementLimitMinor && gates.Enabled("TopologyAwareWorkloadScheduling");
  std::optional<std::int32_t>& percentage = configuration.percentage_of_placements_to_score;
  if (limits_placements && !percentage) percentage = 0;
  for (Profile& profile : configuration.profiles) ApplyDefaults(profile, gates);
}

KubeSchedulerConfiguration DefaultConfiguration(const FeatureGates& gates) {
  KubeSchedulerConfiguration configuration;
  configuration.release = gates.FollowedRelease();
  Profile& profile = configuration.profiles.emplace_back();
  profile.scheduler_name = api::kDefaultSchedulerName;
  ApplyDefaults(configuration, gates);
  return configuration;
}

}  // namespace berth::config
