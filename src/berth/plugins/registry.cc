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
#include "berth/plugins/helper/framework_names.h"
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

using Made = std::unique_ptr<framework::Plugin>;
using Created = Expected<Made>;

Error WrongArgs(std::string_view name, std::string_view wanted) {
  return InvalidError("plugin \"" + std::string(name) + "\": arguments of another kind, want " + std::string(wanted));
}

// The overloads differ by what a plugin's factory wants.
config::KnownPlugin Known(std::string_view name, Made (*create)()) {
  return {std::string(name), [name, create](const config::PluginArgs& args, Handle&) -> Created {
            if (!std::holds_alternative<std::monostate>(args)) return WrongArgs(name, "none");
            return create();
          }};
}

config::KnownPlugin Known(std::string_view name, Made (*create)(Handle&)) {
  return {std::string(name), [name, create](const config::PluginArgs& args, Handle& handle) -> Created {
            if (!std::holds_alternative<std::monostate>(args)) return WrongArgs(name, "none");
            return create(handle);
          }};
}

template <typename Args>
config::KnownPlugin Known(std::string_view name, Made (*create)(const Args&, Handle&)) {
  return {std::string(name), [name, create](const config::PluginArgs& args, Handle& handle) -> Created {
            if (std::holds_alternative<std::monostate>(args)) return create(Args{}, handle);
            const Args* typed = std::get_if<Args>(&args);
            if (typed == nullptr) return WrongArgs(name, std::string(name) + "Args");
            return create(*typed, handle);
          }};
}

// A plugin of berth's own reads its arguments itself (helper/policy_args.h).
template <typename Args>
config::KnownPlugin Known(std::string_view name, Made (*create)(const Args&, Handle&),
                          Expected<Args> (*read)(const config::PluginArgs&)) {
  return {std::string(name), [create, read](const config::PluginArgs& args, Handle& handle) -> Created {
            BERTH_ASSIGN_OR_RETURN(const Args typed, read(args));
            return create(typed, handle);
          }};
}

}  // namespace

const std::vector<config::KnownPlugin>& InTreePlugins() {
  static const std::vector<config::KnownPlugin> kPlugins = {
      Known(names::kSchedulingGates, CreateSchedulingGates),
      Known(names::kGangScheduling, CreateGangScheduling),
      Known(names::kTopologyPlacementGenerator, CreateTopologyPlacementGenerator),
      Known(names::kPodGroupPodsCount, CreatePodGroupPodsCount),
      Known(names::kPrioritySort, CreatePrioritySort),
      Known(names::kNodeUnschedulable, CreateNodeUnschedulable),
      Known(names::kNodeName, CreateNodeName),
      Known(names::kTaintToleration, CreateTaintToleration),
      Known(names::kNodeAffinity, CreateNodeAffinity),
      Known(names::kNodePorts, CreateNodePorts),
      Known(names::kNodeResourcesFit, CreateNodeResourcesFit),
      Known(names::kVolumeRestrictions, CreateVolumeRestrictions),
      Known(names::kNodeVolumeLimits, CreateNodeVolumeLimits),
      Known(names::kVolumeBinding, CreateVolumeBinding),
      Known(names::kVolumeZone, CreateVolumeZone),
      Known(names::kPodTopologySpread, CreatePodTopologySpread),
      Known(names::kInterPodAffinity, CreateInterPodAffinity),
      Known(names::kDynamicResources, CreateDynamicResources),
      Known(names::kDefaultPreemption, CreateDefaultPreemption),
      Known(names::kNodeResourcesBalancedAllocation, CreateNodeResourcesBalancedAllocation),
      Known(names::kImageLocality, CreateImageLocality),
      Known(names::kDefaultBinder, CreateDefaultBinder),
      Known(names::kNodeDeclaredFeatures, CreateNodeDeclaredFeatures),
      Known(names::kRandom, CreateRandom),
      Known(names::kSpotFirst, CreateSpotFirst, ReadSpotFirstArgs),
      Known(names::kZoneBalance, CreateZoneBalance, ReadZoneBalanceArgs),
      Known(names::kRoundRobin, CreateRoundRobin),
      Known(names::kNodeLabelMatch, CreateNodeLabelMatch, ReadLabelRules),
      Known(names::kBestPrice, CreateBestPrice, ReadBestPriceArgs),
      Known(names::kLoadAware, CreateLoadAware, ReadLoadAwareArgs),
      Known(names::kExternalHealth, CreateExternalHealth, ReadExternalHealthArgs),
      Known(names::kPodGroupAnnotations, CreatePodGroupAnnotations),
      Known(names::kPodGroupReservation, CreatePodGroupReservation, ReadPodGroupReservationArgs),
      Known(names::kTopologyDistance, CreateTopologyDistance, ReadTopologyDistanceArgs),
      {std::string(names::kScript),
       [](const config::PluginArgs& args, Handle& handle) { return CreateScript(names::kScript, args, handle); },
       CreateScript},
  };
  return kPlugins;
}

}  // namespace berth::plugins
