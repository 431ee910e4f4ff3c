// SPDX-License-Identifier: Apache-2.0
// Builds the plan of a checked expression, like cel-go's interpreter/planner.go. Pure function: any thread.
#pragma once

#include "berth/base/expected.h"
#include "berth/languages/cel/checker.h"
#include "berth/languages/cel/plan.h"

namespace berth::cel {

// Returns the root step. The error is upstream's text after "program instantiation failed: ".
Expected<StepPtr> MakePlan(const CheckedExpr& checked);

}  // namespace berth::cel
