// SPDX-License-Identifier: Apache-2.0
// What PodDisruptionBudgets say of evictions that are planned, one after the other. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

// As the API server decides: pkg/registry/core/pod/storage/eviction.go of 1.36. What it asks beside that (is the pod
// ready, has the budget's controller seen its newest object) a ClusterState does not tell.
class EvictionBudgets {
 public:
  explicit EvictionBudgets(const ClusterState& state);

  struct Told {
    BudgetAnswer answer = BudgetAnswer::kNone;
    std::vector<std::string> budgets;  // their names
  };
  Told Ask(const api::Pod& pod) const;
  // The pod is evicted: what allows it allows one less.
  void Take(const api::Pod& pod);

 private:
  struct Left {
    std::shared_ptr<const api::PodDisruptionBudget> budget;
    std::int32_t allowed = 0;
  };
  // Indices of those in the pod's namespace that select it.
  std::vector<std::size_t> Of(const api::Pod& pod) const;

  std::map<std::string, std::vector<Left>, std::less<>> by_namespace_;
};

}  // namespace berth::whatif
