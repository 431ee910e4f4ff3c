// SPDX-License-Identifier: Apache-2.0
// Validation of what says where a pod may run: node selectors, affinity, taints, spreading, gates. Functions of their
// arguments: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateTaints(const json::object& node, Errors& errors);

// Of nodes: the terms of a required node affinity, a volume, a device.
void ValidateNodeSelector(const json::object& selector, const std::string& field, Errors& errors);
inline const std::vector<std::string_view> kTaintEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

void ValidateTolerations(const json::object& spec, const std::string& field, Errors& errors);
void ValidateAffinity(const json::object& spec, const std::string& field, Errors& errors);
void ValidateTopologySpread(const json::object& spec, const std::string& field, Errors& errors);
void ValidateSchedulingGates(const json::object& spec, const std::string& field, Errors& errors);

}  // namespace berth::objects::internal
