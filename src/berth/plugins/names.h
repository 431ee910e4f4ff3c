// SPDX-License-Identifier: Apache-2.0
// The plugins' names, as profiles spell them. Upstream's, and berth's own at the end.
#pragma once

#include <string_view>

namespace berth::plugins::names {

inline constexpr std::string_view kPrioritySort = "PrioritySort";
inline constexpr std::string_view kSchedulingGates = "SchedulingGates";
inline constexpr std::string_view kNodeUnschedulable = "NodeUnschedulable";
inline constexpr std::string_view kNodeName = "NodeName";
inline constexpr std::string_view kTaintToleration = "TaintToleration";
inline constexpr std::string_view kNodeAffinity = "NodeAffinity";
inline constexpr std::string_view kNodePorts = "NodePorts";
inline constexpr std::string_view kNodeResourcesFit = "NodeResourcesFit";
inline constexpr std::string_view kNodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation";
inline constexpr std::string_view kImageLocality = "ImageLocality";
inline constexpr std::string_view kDefaultBinder = "DefaultBinder";
inline constexpr std::string_view kDefaultPreemption = "DefaultPreemption";
inline constexpr std::string_view kDynamicResources = "DynamicResources";
inline constexpr std::string_view kVolumeRestrictions = "VolumeRestrictions";
inline constexpr std::string_view kNodeVolumeLimits = "NodeVolumeLimits";
inline constexpr std::string_view kVolumeBinding = "VolumeBinding";
inline constexpr std::string_view kVolumeZone = "VolumeZone";
inline constexpr std::string_view kPodTopologySpread = "PodTopologySpread";
inline constexpr std::string_view kInterPodAffinity = "InterPodAffinity";
inline constexpr std::string_view kNodeDeclaredFeatures = "NodeDeclaredFeatures";
inline constexpr std::string_view kGangScheduling = "GangScheduling";
inline constexpr std::string_view kTopologyPlacementGenerator = "TopologyPlacementGenerator";
inline constexpr std::string_view kPodGroupPodsCount = "PodGroupPodsCount";

inline constexpr std::string_view kRandom = "Random";
inline constexpr std::string_view kRoundRobin = "RoundRobin";
inline constexpr std::string_view kBestPrice = "BestPrice";
inline constexpr std::string_view kSpotFirst = "SpotFirst";
inline constexpr std::string_view kZoneBalance = "ZoneBalance";
inline constexpr std::string_view kPodGroupAnnotations = "PodGroupAnnotations";
inline constexpr std::string_view kPodGroupReservation = "PodGroupReservation";
inline constexpr std::string_view kLoadAware = "LoadAware";
inline constexpr std::string_view kNodeLabelMatch = "NodeLabelMatch";
inline constexpr std::string_view kExternalHealth = "ExternalHealth";
inline constexpr std::string_view kTopologyDistance = "TopologyDistance";
inline constexpr std::string_view kScript = "Script";

}  // namespace berth::plugins::names
