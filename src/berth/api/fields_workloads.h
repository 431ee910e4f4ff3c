// SPDX-License-Identifier: Apache-2.0
// Other kinds that scheduling reads: namespaces, services, controllers and disruption budgets. Private to this folder.
#pragma once

#include <algorithm>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/workloads.h"

namespace berth::api::internal {

template <>
inline constexpr std::string_view kKind<Namespace> = "Namespace";
template <>
inline constexpr auto kFields<Namespace> = Fields{Field{"metadata", 1, &Namespace::metadata}};

template <>
inline constexpr std::string_view kKind<Service> = "Service";
template <>
inline constexpr auto kFields<Service> = Fields{
    Field{"metadata", 1, &Service::metadata},
    Field{"spec", 2, Fields{Field{"selector", 2, &Service::selector}}},
};

template <>
inline constexpr std::string_view kKind<ReplicationController> = "ReplicationController";
template <>
inline constexpr auto kFields<ReplicationController> = Fields{
    Field{"metadata", 1, &ReplicationController::metadata},
    Field{"spec", 2, Fields{Field{"selector", 2, &ReplicationController::selector}}},
};

template <>
inline constexpr std::string_view kKind<ReplicaSet> = "ReplicaSet";
template <>
inline constexpr auto kFields<ReplicaSet> = Fields{
    Field{"metadata", 1, &ReplicaSet::metadata},
    Field{"spec", 2, Fields{Field{"selector", 2, &ReplicaSet::selector}}},
};

template <>
inline constexpr std::string_view kKind<StatefulSet> = "StatefulSet";
template <>
inline constexpr auto kFields<StatefulSet> = Fields{
    Field{"metadata", 1, &StatefulSet::metadata},
    Field{"spec", 2, Fields{Field{"selector", 2, &StatefulSet::selector}}},
};

template <>
inline constexpr std::string_view kKind<PodDisruptionBudget> = "PodDisruptionBudget";
template <>
inline constexpr auto kFields<PodDisruptionBudget> = Fields{
    Field{"metadata", 1, &PodDisruptionBudget::metadata},
    Field{"spec", 2, Fields{Field{"selector", 2, &PodDisruptionBudget::selector}}},
    Field{"status", 3,
          Fields{
              Field{"disruptedPods", 2, KeysOf(&PodDisruptionBudget::disrupted_pods)},
              Field{"disruptionsAllowed", 3, &PodDisruptionBudget::disruptions_allowed},
          }},
};
template <>
inline constexpr auto kAfter<PodDisruptionBudget> =
    [](PodDisruptionBudget& out) { std::sort(out.disrupted_pods.begin(), out.disrupted_pods.end()); };

}  // namespace berth::api::internal
