// SPDX-License-Identifier: Apache-2.0
// WorkBudget: bounds what an author's own plugins do in one scheduling cycle. The machine cannot count the work of
// compiled code, so that each call is charged a constant, and a plugin charges what it does beyond that. Units instead
// of time, so that a cycle ends in the same place on every machine and in every replay. Within turns only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "berth/framework/plugin.h"

namespace berth::framework {

class WorkBudget final : public StateData {
 public:
  // A unit is about a nanosecond of work: a cycle may cost half a second.
  static constexpr std::int64_t kUnitsMax = 500'000'000;
  // What the runtime charges for each call of Filter, Score, AddPod and RemovePod.
  static constexpr std::int64_t kUnitsPerCall = 50;
  // Its key in the CycleState.
  static constexpr std::string_view kKey = "berth.WorkBudget";

  explicit WorkBudget(std::int64_t units_max = kUnitsMax) : units_max_(units_max) {}

  // A new cycle: nothing has been charged.
  void Begin() { units_ = 0; }
  // Negative amounts count as 0. Returns whether the plugins may go on.
  bool Charge(std::int64_t units) {
    const std::int64_t left = std::numeric_limits<std::int64_t>::max() - units_;
    units_ += std::min(std::max<std::int64_t>(units, 0), left);
    return !IsSpent();
  }
  bool IsSpent() const { return units_ > units_max_; }
  Status SpentStatus() const {
    return Status::Error("over " + std::to_string(units_max_) + " units of work in one cycle");
  }

 private:
  const std::int64_t units_max_;
  std::int64_t units_ = 0;
};

// For plugins: charges the cycle for work beyond a short call, before the work is done. One unit is about a nanosecond.
// False: the cycle's budget is spent. The plugin should return at once; whatever it returns, the call has failed, and
// none of the author's plugins is called for the pod in this cycle again. Always true where nothing is counted: from
// Reserve on, and in other plugins than an author's own.
inline bool ChargeWork(const Cycle& cycle, std::int64_t units) {
  auto* const budget = cycle.state.Mutable<WorkBudget>(WorkBudget::kKey);
  return budget == nullptr || budget->Charge(units);
}

}  // namespace berth::framework
