// SPDX-License-Identifier: Apache-2.0
// What PodDisruptionBudgets say of evictions that are planned, one after the other. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/workloads.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

// What PodDisruptionBudgets say of an eviction.
enum class BudgetAnswer : std::uint8_t {
  kNone,  // none selects it, or it is not asked
  kAllows,
  kWaits,    // it allows some, which other evictions of this plan have used up: they have to be replaced first
  kForbids,  // it allows none now
  kSeveral,  // more than one selects it: the API refuses to evict such a pod, whatever they allow
};
std::string_view ToString(BudgetAnswer answer);

// Decides as the API server does: pkg/registry/core/pod/storage/eviction.go of 1.36. Whether the budget's controller
// has seen its newest object is not asked. Pods count as ready where the state has no details of them.
class EvictionBudgets {
 public:
  explicit EvictionBudgets(const ClusterState& state);

  struct Result {
    BudgetAnswer answer = BudgetAnswer::kNone;
    std::vector<std::string> budgets;  // their names
  };
  Result Ask(const api::Pod& pod) const;
  // Records the eviction: budgets that allow it allow one less. False: no budget counts it.
  bool Take(const api::Pod& pod);
  // Undoes the last Take() that a budget counted; it was of this pod.
  void GiveBack(const api::Pod& pod);

 private:
  struct Left {
    std::shared_ptr<const api::PodDisruptionBudget> budget;
    std::shared_ptr<const api::BudgetDetails> details;  // null: not known
    std::int32_t allowed = 0;
    std::int32_t taken = 0;
  };
  // Whether the pod is not ready, and may go without being counted.
  bool LetsUnreadyGo(const Left& left, const api::Pod& pod) const;
  // Indices of the budgets in the pod's namespace that select it.
  std::vector<std::size_t> Of(const api::Pod& pod) const;

  std::map<std::string, std::vector<Left>, std::less<>> by_namespace_;
  std::set<std::string, std::less<>> unready_;  // uids of pods
};

}  // namespace berth::whatif
