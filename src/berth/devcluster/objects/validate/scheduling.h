// SPDX-License-Identifier: Apache-2.0
// The rules of what says where a pod may run: taints, node selectors, affinity, spreading, gates. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet SchedulingRules();

}  // namespace berth::objects::internal
