// SPDX-License-Identifier: Apache-2.0
// Upstream's checks of a complete configuration, in its words.
#pragma once

#include "berth/base/expected.h"
#include "berth/core/config/types.h"

namespace berth::config {

// All violations as one error, "[a, b]" if there are several, each with its field path.
Expected<void> ValidateConfiguration(const KubeSchedulerConfiguration& configuration);

}  // namespace berth::config
