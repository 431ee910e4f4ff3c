// SPDX-License-Identifier: Apache-2.0
// The rules of kinds that stand alone: services, configuration, events, roles, ingresses, questions about access. Any
// thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet ClusterRules();

}  // namespace berth::objects::internal
