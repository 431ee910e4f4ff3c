// SPDX-License-Identifier: Apache-2.0
// What upstream says when a selector of an object cannot be used. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/api/selector.h"

namespace berth::plugins {

// The text of the error of metav1.LabelSelectorAsSelector; empty when the selector is usable. Like upstream it stops at
// the first requirement with a fault.
std::string LabelSelectorError(const api::LabelSelector& selector);

// Adds the errors of labels.NewRequirement, each with its field path: below `path`, or from the requirement itself
// where that is empty. Nothing about the operator.
void AddRequirementErrors(const api::Requirement& requirement, const std::string& path,
                          std::vector<std::string>& errors);

}  // namespace berth::plugins
