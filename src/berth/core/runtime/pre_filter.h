// SPDX-License-Identifier: Apache-2.0
// The PreFilter stage of an evaluation. Within turns only.
#pragma once

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// Calls the PreFilter plugins, except those whose answers are kept for the class. Returns false when one refused the
// pod or failed, which the outcome then says; otherwise the outcome has the nodes to which the search is narrowed.
bool RunPreFilter(EvaluationCycle& cycle);

}  // namespace berth::runtime
