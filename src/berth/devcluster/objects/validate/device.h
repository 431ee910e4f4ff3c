// SPDX-License-Identifier: Apache-2.0
// The rules of device classes, resource claims and resource slices. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet DeviceRules();

}  // namespace berth::objects::internal
