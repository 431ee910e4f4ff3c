// SPDX-License-Identifier: Apache-2.0
// The configuration of a case, as the oracle reads it. A pure function.
#pragma once

#include "berth/base/expected.h"
#include "berth/core/config/types.h"
#include "berth/proof/conformance/case.h"

namespace berth::conformance {

// The case's own, or the default one, for the release and gates that the case was answered with. All nodes are looked
// at for preemption, as the oracle does: production stops when it has enough.
Expected<config::KubeSchedulerConfiguration> ConfigurationOf(const Case& test);

}  // namespace berth::conformance
