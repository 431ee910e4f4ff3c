// SPDX-License-Identifier: Apache-2.0
// The kinds that admission of pods reads. Private to this folder.
#pragma once

#include "berth/api/admission.h"
#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/fields_pod.h"
#include "berth/api/fields_resource_claim.h"

namespace berth::api::internal {

template <>
inline constexpr std::string_view kKind<PriorityClass> = "PriorityClass";
template <>
inline constexpr auto kFields<PriorityClass> = Fields{
    Field{"metadata", 1, &PriorityClass::metadata},
    Field{"value", 2, &PriorityClass::value},
    Field{"globalDefault", 3, &PriorityClass::global_default},
    Field{"preemptionPolicy", 5, &PriorityClass::preemption_policy},
};

template <>
inline constexpr std::string_view kKind<RuntimeClass> = "RuntimeClass";
template <>
inline constexpr auto kFields<RuntimeClass> = Fields{
    Field{"metadata", 1, &RuntimeClass::metadata},
    Field{"overhead", 3, Fields{Field{"podFixed", 1, &RuntimeClass::pod_fixed}}},
    Field{"scheduling", 4,
          Fields{
              Field{"nodeSelector", 1, &RuntimeClass::node_selector},
              Field{"tolerations", 2, &RuntimeClass::tolerations},
          }},
};

template <>
inline constexpr std::string_view kKind<ResourceClaimTemplate> = "ResourceClaimTemplate";
template <>
inline constexpr auto kFields<ResourceClaimTemplate> = Fields{
    Field{"metadata", 1, &ResourceClaimTemplate::metadata},
    Field{"spec", 2, Fields{Field{"spec", 2, &ResourceClaimTemplate::spec}}},
};

template <>
inline constexpr auto kFields<QuotaScope> = Fields{
    Field{"scopeName", 1, &QuotaScope::name},
    Field{"operator", 2, &QuotaScope::op},
    Field{"values", 3, &QuotaScope::values},
};

template <>
inline constexpr std::string_view kKind<ResourceQuota> = "ResourceQuota";
template <>
inline constexpr auto kFields<ResourceQuota> = Fields{
    Field{"metadata", 1, &ResourceQuota::metadata},
    Field{"spec", 2,
          Fields{
              Field{"scopes", 2, &ResourceQuota::scopes},
              Field{"scopeSelector", 3, Fields{Field{"matchExpressions", 1, &ResourceQuota::scope_selector}}},
          }},
    Field{"status", 3,
          Fields{
              Field{"hard", 1, &ResourceQuota::hard},
              Field{"used", 2, &ResourceQuota::used},
          }},
};

}  // namespace berth::api::internal
