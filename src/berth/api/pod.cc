// SPDX-License-Identifier: Apache-2.0
#include "berth/api/pod.h"

namespace berth::api {

bool Toleration::Tolerates(const Taint& taint) const {
  if (effect != TaintEffect::kNone && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op.empty() || op == "Equal") return value == taint.value;
  // Lt and Gt need a feature gate that is off in 1.36; an unknown operator tolerates nothing.
  return op == "Exists";
}

const PodCondition* PodStatus::FindCondition(std::string_view type) const {
  for (const PodCondition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

}  // namespace berth::api
