// SPDX-License-Identifier: Apache-2.0
// The rules of the kinds that make pods or look after them. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet WorkloadRules();

}  // namespace berth::objects::internal
