// SPDX-License-Identifier: Apache-2.0
// The rules of volumes, claims and the kinds of storage.k8s.io. Any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

RuleSet StorageRules();

}  // namespace berth::objects::internal
