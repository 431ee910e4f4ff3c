// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/registry.h"

#include <string>
#include <utility>

#include "berth/plugins/best_price/best_price.h"
#include "berth/plugins/default_binder/default_binder.h"
#include "berth/plugins/default_preemption/default_preemption.h"
#include "berth/plugins/dynamic_resources/dynamic_resources.h"
#include "berth/plugins/external_health/external_health.h"
#include "berth/plugins/gang_scheduling/gang_scheduling.h"
#include "berth/plugins/image_locality/image_locality.h"
#include "berth/plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "berth/plugins/load_aware/load_aware.h"
#include "berth/plugins/names.h"
#include "berth/plugins/node_affinity/node_affinity.h"
#include "berth/plugins/node_declared_features/node_declared_features.h"
#include "berth/plugins/node_label_match/node_label_match.h"
#include "berth/plugins/node_name/node_name.h"
#include "berth/plugins/node_ports/node_ports.h"
#include "berth/plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.h"
#include "berth/plugins/node_resources_fit/node_resources_fit.h"
#include "berth/plugins/node_unschedulable/node_unschedulable.h"
#include "berth/plugins/node_volume_limits/node_volume_limits.h"
#include "berth/plugins/pod_group_annotations/pod_group_annotations.h"
#include "berth/plugins/pod_group_pods_count/pod_group_pods_count.h"
#include "berth/plugins/pod_group_reservation/pod_group_reservation.h"
#include "berth/plugins/pod_topology_spread/pod_topology_spread.h"
#include "berth/plugins/priority_sort/priority_sort.h"
#include "berth/plugins/random/random.h"
#include "berth/plugins/round_robin/round_robin.h"
#include "berth/plugins/scheduling_gates/scheduling_gates.h"
#include "berth/plugins/script/script.h"
#include "berth/plugins/spot_first/spot_first.h"
#include "berth/plugins/taint_toleration/taint_toleration.h"
#include "berth/plugins/topology_distance/topology_distance.h"
#include "berth/plugins/topology_placement_generator/topology_placement_generator.h"
#include "berth/plugins/volume_binding/volume_binding.h"
#include "berth/plugins/volume_restrictions/volume_restrictions.h"
#include "berth/plugins/volume_zone/volume_zone.h"
#include "berth/plugins/zone_balance/zone_balance.h"

namespace berth::plugins {
namespace {

using Created = Expected<std::unique_ptr<framework::Plugin>>;

Error WrongArgs(std::string_view name, std::string_view wanted) {
  return InvalidError("plugin \"" + std::string(name) + "\": arguments of another kind, want " + std::string(wanted));
}

// A plugin whose arguments are of type Args, made by `make(const Args&, Handle&)`.
template <typename Args, typename Make>
config::KnownPlugin WithArgs(std::string_view name, Make make) {
  return {std::string(name), [name, make](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            if (std::holds_alternative<std::monostate>(args)) return Created(make(Args{}, handle));
            const Args* typed = std::get_if<Args>(&args);
            if (typed == nullptr) return WrongArgs(name, std::string(name) + "Args");
            return Created(make(*typed, handle));
          }};
}

// The same for a plugin that uses its handle: Plugin(const Args&, Handle&).
template <typename Plugin, typename Args>
config::KnownPlugin WithArgsAndHandle(std::string_view name) {
  return {std::string(name), [name](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            if (std::holds_alternative<std::monostate>(args)) return Created(std::make_unique<Plugin>(Args{}, handle));
            const Args* typed = std::get_if<Args>(&args);
            if (typed == nullptr) return WrongArgs(name, std::string(name) + "Args");
            return Created(std::make_unique<Plugin>(*typed, handle));
          }};
}

// Without arguments, for a plugin that uses its handle: Plugin(Handle&).
template <typename Plugin>
config::KnownPlugin WithHandle(std::string_view name) {
  return {std::string(name), [name](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            if (!std::holds_alternative<std::monostate>(args)) return WrongArgs(name, "none");
            return Created(std::make_unique<Plugin>(handle));
          }};
}

// One of berth's own: Plugin::Create(const config::PluginArgs&, Handle&) reads its arguments itself
// (helper/policy_args.h).
template <typename Plugin>
config::KnownPlugin Policy(std::string_view name) {
  return {std::string(name), [](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            return Plugin::Create(args, handle);
          }};
}

template <typename Plugin>
config::KnownPlugin WithoutArgs(std::string_view name) {
  return {std::string(name), [name](const config::PluginArgs& args, framework::Handle&) -> Created {
            if (!std::holds_alternative<std::monostate>(args)) return WrongArgs(name, "none");
            return Created(std::make_unique<Plugin>());
          }};
}

// Without arguments, for a plugin that only wants to know which release decides: Plugin(const Release&).
template <typename Plugin>
config::KnownPlugin WithRelease(std::string_view name) {
  return {std::string(name), [name](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            if (!std::holds_alternative<std::monostate>(args)) return WrongArgs(name, "none");
            return Created(std::make_unique<Plugin>(handle.release()));
          }};
}

std::vector<WeightedResource> ToResources(const std::vector<config::ResourceSpec>& specs) {
  std::vector<WeightedResource> resources;
  for (const config::ResourceSpec& spec : specs) resources.push_back({spec.name, spec.weight == 0 ? 1 : spec.weight});
  return resources;
}

ScoringStrategy ToStrategy(config::ScoringStrategyType type) {
  switch (type) {
    case config::ScoringStrategyType::kLeastAllocated: return ScoringStrategy::kLeastAllocated;
    case config::ScoringStrategyType::kMostAllocated: return ScoringStrategy::kMostAllocated;
    case config::ScoringStrategyType::kRequestedToCapacityRatio: break;
  }
  return ScoringStrategy::kRequestedToCapacityRatio;
}

std::unique_ptr<framework::Plugin> MakeFit(const config::NodeResourcesFitArgs& args, framework::Handle& handle) {
  NodeResourcesFitOptions options;
  options.ignored_resources = {args.ignored_resources.begin(), args.ignored_resources.end()};
  options.ignored_resource_groups = {args.ignored_resource_groups.begin(), args.ignored_resource_groups.end()};
  options.strategy = ToStrategy(args.scoring_strategy.type);
  options.resources = ToResources(args.scoring_strategy.resources);
  if (args.scoring_strategy.shape) {
    for (const auto& point : *args.scoring_strategy.shape) options.shape.push_back({point.utilization, point.score});
  }
  return std::make_unique<NodeResourcesFit>(std::move(options), &handle);
}

std::unique_ptr<framework::Plugin> MakeBalancedAllocation(const config::NodeResourcesBalancedAllocationArgs& args,
                                                          framework::Handle& handle) {
  return std::make_unique<NodeResourcesBalancedAllocation>(ToResources(args.resources), &handle);
}

std::unique_ptr<framework::Plugin> MakeNodeAffinity(const config::NodeAffinityArgs& args, framework::Handle&) {
  return std::make_unique<NodeAffinity>(args.added_affinity);
}

// The same for one of which a profile may have several: Plugin::Create(name, args, handle).
template <typename Plugin>
config::KnownPlugin NamedPolicy(std::string_view name) {
  return {std::string(name),
          [name](const config::PluginArgs& args, framework::Handle& handle) -> Created {
            return Plugin::Create(name, args, handle);
          },
          [](std::string_view wanted, const config::PluginArgs& args, framework::Handle& handle) -> Created {
            return Plugin::Create(wanted, args, handle);
          }};
}

}  // namespace

const std::vector<config::KnownPlugin>& InTreePlugins() {
  static const std::vector<config::KnownPlugin> kPlugins = {
      WithoutArgs<SchedulingGates>(names::kSchedulingGates),
      WithHandle<GangScheduling>(names::kGangScheduling),
      WithHandle<TopologyPlacementGenerator>(names::kTopologyPlacementGenerator),
      WithHandle<PodGroupPodsCount>(names::kPodGroupPodsCount),
      WithoutArgs<PrioritySort>(names::kPrioritySort),
      WithoutArgs<NodeUnschedulable>(names::kNodeUnschedulable),
      WithoutArgs<NodeName>(names::kNodeName),
      WithoutArgs<TaintToleration>(names::kTaintToleration),
      WithArgs<config::NodeAffinityArgs>(names::kNodeAffinity, MakeNodeAffinity),
      WithoutArgs<NodePorts>(names::kNodePorts),
      WithArgs<config::NodeResourcesFitArgs>(names::kNodeResourcesFit, MakeFit),
      WithHandle<VolumeRestrictions>(names::kVolumeRestrictions),
      WithHandle<NodeVolumeLimits>(names::kNodeVolumeLimits),
      WithArgsAndHandle<VolumeBinding, config::VolumeBindingArgs>(names::kVolumeBinding),
      WithHandle<VolumeZone>(names::kVolumeZone),
      WithArgsAndHandle<PodTopologySpread, config::PodTopologySpreadArgs>(names::kPodTopologySpread),
      WithArgsAndHandle<InterPodAffinity, config::InterPodAffinityArgs>(names::kInterPodAffinity),
      WithArgsAndHandle<DynamicResources, config::DynamicResourcesArgs>(names::kDynamicResources),
      WithArgsAndHandle<DefaultPreemption, config::DefaultPreemptionArgs>(names::kDefaultPreemption),
      WithArgs<config::NodeResourcesBalancedAllocationArgs>(names::kNodeResourcesBalancedAllocation,
                                                            MakeBalancedAllocation),
      WithRelease<ImageLocality>(names::kImageLocality),
      WithoutArgs<DefaultBinder>(names::kDefaultBinder),
      WithoutArgs<NodeDeclaredFeatures>(names::kNodeDeclaredFeatures),
      WithoutArgs<RandomScore>(names::kRandom),
      Policy<SpotFirst>(names::kSpotFirst),
      Policy<ZoneBalance>(names::kZoneBalance),
      WithoutArgs<RoundRobin>(names::kRoundRobin),
      Policy<NodeLabelMatch>(names::kNodeLabelMatch),
      Policy<BestPrice>(names::kBestPrice),
      Policy<LoadAware>(names::kLoadAware),
      Policy<ExternalHealth>(names::kExternalHealth),
      WithoutArgs<PodGroupAnnotations>(names::kPodGroupAnnotations),
      Policy<PodGroupReservation>(names::kPodGroupReservation),
      Policy<TopologyDistance>(names::kTopologyDistance),
      NamedPolicy<Script>(names::kScript),
  };
  return kPlugins;
}

}  // namespace berth::plugins
