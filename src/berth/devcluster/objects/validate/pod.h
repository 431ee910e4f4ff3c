// SPDX-License-Identifier: Apache-2.0
// Validation of pods and of templates of pods. Functions of their arguments: any thread.
#pragma once

#include <string>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidatePodSpec(const json::object& spec, const std::string& field, Errors& errors);
void ValidatePodTemplateSpec(const json::object& spec, const std::string& field, Errors& errors);
void ValidatePod(const json::object& pod, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
