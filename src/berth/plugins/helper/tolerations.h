// SPDX-License-Identifier: Apache-2.0
// What several plugins ask about taints and tolerations. Pure functions.
#pragma once

#include <algorithm>
#include <vector>

#include "berth/api/pod.h"

namespace berth::plugins {

inline bool Tolerates(const std::vector<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const api::Toleration& t) { return t.Tolerates(taint); });
}

// Taints that keep a pod away altogether, unlike PreferNoSchedule.
inline bool IsHardTaint(const api::Taint& taint) {
  return taint.effect == api::TaintEffect::kNoSchedule || taint.effect == api::TaintEffect::kNoExecute;
}

inline bool HasUntoleratedHardTaint(const std::vector<api::Taint>& taints,
                                    const std::vector<api::Toleration>& tolerations) {
  return std::any_of(taints.begin(), taints.end(),
                     [&](const api::Taint& taint) { return IsHardTaint(taint) && !Tolerates(tolerations, taint); });
}

}  // namespace berth::plugins
