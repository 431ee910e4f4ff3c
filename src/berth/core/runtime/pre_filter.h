// SPDX-License-Identifier: Apache-2.0
// The PreFilter stage of an evaluation. Within turns only.
#pragma once

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// Asks the PreFilter plugins, but for those whose answer is kept for the class. False when they refused the pod, or
// when one failed: the outcome says so then, and what they narrowed the search to otherwise.
bool RunPreFilter(EvaluationCycle& cycle);

}  // namespace berth::runtime
