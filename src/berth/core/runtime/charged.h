// SPDX-License-Identifier: Apache-2.0
// Calls plugins within the cycle's WorkBudget: once an author's plugins have spent it, none of them is called again in
// the cycle, and each call fails instead. Within turns only.
#pragma once

#include <cstdint>
#include <utility>

#include "berth/core/runtime/evaluation_cycle.h"
#include "berth/core/runtime/guarded.h"

namespace berth::runtime {

// As Guarded(), for a plugin of which `is_own` says whether it is an author's. `units` are charged before the call.
template <typename Answer = framework::Status, typename Call>
Answer Charged(const EvaluationCycle& cycle, bool is_own, std::int64_t units, Call&& call) {
  framework::WorkBudget* const work = is_own ? cycle.work.get() : nullptr;
  // The call stands here once, so that the compiler writes it into the caller.
  Answer answer = work != nullptr && !work->Charge(units) ? Answer{work->SpentStatus()}
                                                          : framework::Guarded<Answer>(std::forward<Call>(call));
  if (work != nullptr && work->IsSpent()) answer = Answer{work->SpentStatus()};
  return answer;
}

inline constexpr std::int64_t kUnitsPerCall = framework::WorkBudget::kUnitsPerCall;

}  // namespace berth::runtime
