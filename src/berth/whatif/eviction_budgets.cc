// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/eviction_budgets.h"

#include <variant>

#include "berth/base/check.h"
#include "berth/framework/object_kinds.h"

namespace berth::whatif {

namespace {

std::shared_ptr<const api::BudgetDetails> DetailsOf(const ClusterState& state, const std::string& key) {
  const auto at = state.budget_details.find(key);
  return at == state.budget_details.end() ? nullptr : at->second;
}

}  // namespace

std::string_view ToString(BudgetAnswer answer) {
  switch (answer) {
    case BudgetAnswer::kNone: return "none";
    case BudgetAnswer::kAllows: return "allows";
    case BudgetAnswer::kWaits: return "waits";
    case BudgetAnswer::kForbids: return "forbids";
    case BudgetAnswer::kSeveral: return "several";
  }
  return "";
}

EvictionBudgets::EvictionBudgets(const ClusterState& state) {
  for (const framework::AnyObject& object : state.objects) {
    const auto* budget = std::get_if<std::shared_ptr<const api::PodDisruptionBudget>>(&object);
    if (budget != nullptr && (*budget)->selector)
      by_namespace_[(*budget)->metadata.namespace_name].push_back(
          {*budget, DetailsOf(state, framework::KeyOf(object)), (*budget)->disruptions_allowed});
  }
  if (by_namespace_.empty() || state.pod_details.size() != state.pods.size()) return;
  for (std::size_t i = 0; i < state.pods.size(); ++i) {
    if (!IsReady(*state.pod_details[i])) unready_.insert(state.pods[i]->metadata.uid);
  }
}

bool EvictionBudgets::LetsUnreadyGo(const Left& left, const api::Pod& pod) const {
  if (!left.details || !unready_.contains(pod.metadata.uid)) return false;
  if (left.details->unhealthy_pod_eviction_policy == "AlwaysAllow") return true;
  return left.details->desired_healthy > 0 &&
         left.details->current_healthy - left.taken >= left.details->desired_healthy;
}

std::vector<std::size_t> EvictionBudgets::Of(const api::Pod& pod) const {
  std::vector<std::size_t> found;
  const auto at = by_namespace_.find(pod.metadata.namespace_name);
  if (at == by_namespace_.end() || pod.status.phase == api::PodPhase::kPending || pod.metadata.deletion_time)
    return found;
  for (std::size_t i = 0; i < at->second.size(); ++i) {
    if (at->second[i].budget->selector->Matches(pod.metadata.labels)) found.push_back(i);
  }
  return found;
}

EvictionBudgets::Result EvictionBudgets::Ask(const api::Pod& pod) const {
  Result result;
  const std::vector<std::size_t> found = Of(pod);
  if (found.empty()) return result;
  const std::vector<Left>& budgets = by_namespace_.find(pod.metadata.namespace_name)->second;
  for (const std::size_t i : found) result.budgets.push_back(budgets[i].budget->metadata.name);
  const Left& only = budgets[found.back()];
  result.answer = found.size() > 1                       ? BudgetAnswer::kSeveral
                  : LetsUnreadyGo(only, pod)             ? BudgetAnswer::kAllows
                  : only.allowed > 0                     ? BudgetAnswer::kAllows
                  : only.budget->disruptions_allowed > 0 ? BudgetAnswer::kWaits
                                                         : BudgetAnswer::kForbids;
  return result;
}

bool EvictionBudgets::Take(const api::Pod& pod) {
  const std::vector<std::size_t> found = Of(pod);
  if (found.size() != 1) return false;
  Left& only = by_namespace_.find(pod.metadata.namespace_name)->second[found.front()];
  if (only.allowed == 0 || LetsUnreadyGo(only, pod)) return false;
  --only.allowed;
  ++only.taken;
  return true;
}

void EvictionBudgets::GiveBack(const api::Pod& pod) {
  const std::vector<std::size_t> found = Of(pod);
  BERTH_CHECK(found.size() == 1, found.size());
  Left& only = by_namespace_.find(pod.metadata.namespace_name)->second[found.front()];
  ++only.allowed;
  --only.taken;
}

}  // namespace berth::whatif
