// SPDX-License-Identifier: Apache-2.0
// Selectors in a configuration. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "berth/api/selector.h"
#include "berth/core/config/reader.h"

namespace berth::config {

// A list of {key, operator, values} as in node and label selectors. Does not validate it.
void ReadRequirements(ObjectReader& reader, std::string_view key, std::vector<api::Requirement>& out);

// A metav1.LabelSelector. Does not validate it.
void ReadLabelSelector(ObjectReader& reader, api::LabelSelector& out);

}  // namespace berth::config
