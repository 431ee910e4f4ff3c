// SPDX-License-Identifier: Apache-2.0
// Makes the plan of a checked expression: cel-go's interpreter/planner.go. A function of its argument: any thread.
#pragma once

#include "berth/base/expected.h"
#include "berth/languages/cel/checker.h"
#include "berth/languages/cel/plan.h"

namespace berth::cel {

// Makes the steps of a checked expression. The error is what upstream says after "program instantiation failed: ".
Expected<StepPtr> MakePlan(const CheckedExpr& checked);

}  // namespace berth::cel
