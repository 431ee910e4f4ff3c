// SPDX-License-Identifier: Apache-2.0
// Reads a KubeSchedulerConfiguration from YAML or JSON, strictly: an unknown field, a duplicate key, a wrong type or a
// wrong apiVersion or kind is an error with its field path; several are listed as "[a, b]".
#pragma once

#include <string_view>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// Decodes the text and applies defaults, some of which depend on `gates`. ValidateConfiguration checks values later,
// after flags were applied to them.
Expected<KubeSchedulerConfiguration> LoadConfiguration(std::string_view text, const FeatureGates& gates = {});

}  // namespace berth::config
