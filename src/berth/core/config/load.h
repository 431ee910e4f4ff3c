// SPDX-License-Identifier: Apache-2.0
// Reading KubeSchedulerConfiguration from YAML or JSON, strictly: an unknown field, a doubled key, a wrong type or a
// wrong apiVersion or kind is an error with its field path; several are listed as "[a, b]".
#pragma once

#include <string_view>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// Decodes and applies the defaults. Values are checked by ValidateConfiguration, once flags have been applied to them.
// `gates` decide about some defaults.
Expected<KubeSchedulerConfiguration> LoadConfiguration(std::string_view text, const FeatureGates& gates = {});

}  // namespace berth::config
