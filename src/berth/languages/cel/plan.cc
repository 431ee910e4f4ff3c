// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/plan.h"

#include <utility>

namespace berth::cel {

bool Evaluation::IsCancelled() {
  if (!work.panic.empty()) cost.Cancel(work.panic);
  if (work.refused_cost > 0 && !cost.is_cancelled()) {
    cost.Charge(work.refused_cost);
    cost.Cancel(std::string(kCostLimitMessage));
  }
  if (work.left == 0) cost.Cancel("operation cancelled: the values are too large");
  return cost.is_cancelled();
}

Value Step::Eval(Evaluation& evaluation, Scope* scope) const {
  if (evaluation.IsCancelled()) return {};
  Value value = Compute(evaluation, scope);
  if (evaluation.IsCancelled()) return {};
  Observe(evaluation, value);
  evaluation.cost.Push(value, id());
  return value;
}

}  // namespace berth::cel
