// SPDX-License-Identifier: Apache-2.0
// The rules of pod groups, composite ones and the workloads that they are made of, and their defaults. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet PodGroupRules();

}  // namespace berth::objects::internal
