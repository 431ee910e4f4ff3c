// SPDX-License-Identifier: Apache-2.0
// The kinds that group pods. Private to this folder.
#pragma once

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/fields_pod.h"
#include "berth/api/pod_group.h"

namespace berth::api::internal {

template <>
inline constexpr auto kFields<GroupCondition> = Fields{
    Field{"type", 1, &GroupCondition::type},
    Field{"status", 2, &GroupCondition::status},
    Field{"observedGeneration", 3, &GroupCondition::observed_generation},
    Field{"reason", 5, &GroupCondition::reason},
    Field{"message", 6, &GroupCondition::message},
};

template <>
inline constexpr auto kFields<PodGroupResourceClaim> = Fields{
    Field{"name", 1, &PodGroupResourceClaim::name},
    Field{"resourceClaimName", 2, &PodGroupResourceClaim::claim_name},
    Field{"resourceClaimTemplateName", 3, &PodGroupResourceClaim::template_name},
};

// Stored as its key.
struct GroupTopologyConstraint;
template <>
inline constexpr auto kFields<GroupTopologyConstraint> = Fields{Field{"key", 1, Self{}}};

// A message without fields, whose presence is its meaning.
struct DisruptionModeSet;
template <>
inline constexpr auto kBefore<DisruptionModeSet> = [](bool& out) { out = true; };
template <>
inline constexpr auto kFields<DisruptionModeSet> = Fields{};

template <>
inline constexpr std::string_view kKind<PodGroup> = "PodGroup";
template <>
inline constexpr auto kFields<PodGroup> = Fields{
    Field{"metadata", 1, &PodGroup::metadata},
    Field{
        "spec", 2,
        Fields{
            Field{"parentCompositePodGroupName", 1, &PodGroup::parent_name},
            Field{"workloadRef", 2, Fields{Field{"workloadName", 1, &PodGroup::workload_name}}},
            Field{"schedulingPolicy", 3, Fields{Field{"gang", 2, Fields{Field{"minCount", 1, &PodGroup::min_count}}}}},
            Field{"schedulingConstraints", 4,
                  Fields{Field{"topology", 1, ListOf<GroupTopologyConstraint>(&PodGroup::topology_keys)}}},
            Field{"resourceClaims", 5, &PodGroup::resource_claims},
            Field{"disruptionMode", 6,
                  Fields{Field{"single", 1, As<DisruptionModeSet>(&PodGroup::is_disrupted_singly)},
                         Field{"all", 2, As<DisruptionModeSet>(&PodGroup::is_disrupted_whole)}}},
            Field{"priority", 8, &PodGroup::priority},
            Field{"preemptionPolicy", 9, &PodGroup::preemption_policy},
        }},
    Field{"status", 3,
          Fields{Field{"conditions", 1, &PodGroup::conditions},
                 Field{"resourceClaimStatuses", 2, &PodGroup::resource_claim_statuses}}},
};

template <>
inline constexpr std::string_view kKind<CompositePodGroup> = "CompositePodGroup";
template <>
inline constexpr auto kFields<CompositePodGroup> = Fields{
    Field{"metadata", 1, &CompositePodGroup::metadata},
    Field{"spec", 2,
          Fields{
              Field{"parentCompositePodGroupName", 1, &CompositePodGroup::parent_name},
              Field{"workloadRef", 2, Fields{Field{"workloadName", 1, &CompositePodGroup::workload_name}}},
              Field{"schedulingPolicy", 3,
                    Fields{Field{"gang", 2, Fields{Field{"minGroupCount", 1, &CompositePodGroup::min_group_count}}}}},
              Field{"schedulingConstraints", 4,
                    Fields{Field{"topology", 1, ListOf<GroupTopologyConstraint>(&CompositePodGroup::topology_keys)}}},
              Field{"disruptionMode", 5,
                    Fields{Field{"single", 1, As<DisruptionModeSet>(&CompositePodGroup::is_disrupted_singly)},
                           Field{"all", 2, As<DisruptionModeSet>(&CompositePodGroup::is_disrupted_whole)}}},
              Field{"priority", 7, &CompositePodGroup::priority},
              Field{"preemptionPolicy", 8, &CompositePodGroup::preemption_policy},
          }},
    Field{"status", 3, Fields{Field{"conditions", 1, &CompositePodGroup::conditions}}},
};

}  // namespace berth::api::internal
