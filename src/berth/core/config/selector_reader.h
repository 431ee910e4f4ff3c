// SPDX-License-Identifier: Apache-2.0
// Selectors in a configuration. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "berth/api/selector.h"
#include "berth/core/config/reader.h"

namespace berth::config {

// A list of {key, operator, values}, as selectors of nodes and of labels have them. Nothing is validated.
void ReadRequirements(ObjectReader& reader, std::string_view key, std::vector<api::Requirement>& out);

// metav1.LabelSelector. Nothing is validated.
void ReadLabelSelector(ObjectReader& reader, api::LabelSelector& out);

}  // namespace berth::config
