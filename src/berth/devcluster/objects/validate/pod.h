// SPDX-License-Identifier: Apache-2.0
// The rules of pods, their containers and volumes. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet PodRules();

}  // namespace berth::objects::internal
