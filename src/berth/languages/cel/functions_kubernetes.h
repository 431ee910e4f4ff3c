// SPDX-License-Identifier: Apache-2.0
// Functions that Kubernetes adds: quantities, versions and the like. Constant tables: any thread.
#pragma once

#include <span>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

std::span<const OverloadBinding> KubernetesBindings();

}  // namespace berth::cel
