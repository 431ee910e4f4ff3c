// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/args.h"

namespace berth::config {

std::vector<ResourceSpec> DefaultResources() { return {{"cpu", 1}, {"memory", 1}}; }

}  // namespace berth::config
