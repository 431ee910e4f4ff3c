// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victims.h"

#include <algorithm>

namespace berth::plugins {

using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;

namespace {

bool IsValid(const api::LabelSelector& selector) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(), [](const api::Requirement& r) {
    return r.op != api::SelectorOperator::kGt && r.op != api::SelectorOperator::kLt && r.Validate().ok();
  });
}

// Whether the filters cannot tell the two apart: all they read is in the class, but for the claims that carry the pod's
// name or are listed in its status, and for pods on their way out, which spreading does not count.
bool AreAlike(const PodInfo& a, const PodInfo& b) {
  return a.pod_class == b.pod_class && a.spec().volumes.empty() && a.spec().resource_claims.empty() &&
         a.claim_status == nullptr && b.claim_status == nullptr &&
         a.deletion_time.has_value() == b.deletion_time.has_value();
}

const Status& NoVictims() {
  static const Status kStatus = Status::UnschedulableAndUnresolvable("No preemption victims found for incoming pod");
  return kStatus;
}

}  // namespace

bool IsMoreImportant(const PodInfo& a, const PodInfo& b, Time now) {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  return a.start_time.value_or(now) < b.start_time.value_or(now);
}

const std::vector<DisruptionBudgets::Budget>& DisruptionBudgets::BudgetsOf(const framework::PodClass& pod_class) {
  const auto [it, is_new] = by_class_.try_emplace(pod_class.id);
  // A pod without labels matches no budget, whatever the selector.
  if (!is_new || pod_class.labels.empty()) return it->second;
  if (!by_namespace_) {
    by_namespace_.emplace();
    for (const auto& [key, budget] : store_) {
      // An absent, an empty and an invalid selector match nothing here.
      if (!budget->selector || budget->selector->requirements.empty() || !IsValid(*budget->selector)) continue;
      (*by_namespace_)[budget->metadata.namespace_name].push_back(budget.get());
    }
  }
  const auto found = by_namespace_->find(pod_class.namespace_name);
  if (found == by_namespace_->end()) return it->second;
  for (const Budget budget : found->second) {
    if (budget->selector->Matches(pod_class.labels)) it->second.push_back(budget);
  }
  return it->second;
}

std::vector<bool> DisruptionBudgets::Violations(std::span<const PodInfoPtr> pods) {
  std::vector<bool> violations(pods.size(), false);
  have_matched_ = false;
  if (store_.empty()) return violations;
  std::vector<std::pair<Budget, std::int64_t>> left;  // of the budgets met so far; a node's pods have few
  for (std::size_t i = 0; i < pods.size(); ++i) {
    for (const Budget budget : BudgetsOf(*pods[i]->pod_class)) {
      have_matched_ = true;
      // The API server has counted this pod's eviction already.
      if (std::binary_search(budget->disrupted_pods.begin(), budget->disrupted_pods.end(), pods[i]->name)) continue;
      auto it = std::find_if(left.begin(), left.end(), [&](const auto& entry) { return entry.first == budget; });
      if (it == left.end()) it = left.insert(left.end(), {budget, budget->disruptions_allowed});
      if (--it->second >= 0) continue;
      violations[i] = true;
      if (stops_at_first_) break;
    }
  }
  return violations;
}

Status DryRun::Remove(const PodInfoPtr& pod) {
  trial_.node.RemovePod(pod);
  return filters_.RunRemovePod(trial_.state, preemptor_, *pod, trial_.node);
}

Status DryRun::Add(const PodInfoPtr& pod) {
  trial_.node.AddPod(pod);
  return filters_.RunAddPod(trial_.state, preemptor_, *pod, trial_.node);
}

bool DryRun::LetOff(const PodInfoPtr& pod, Status& failure) {
  if (std::any_of(hopeless_.begin(), hopeless_.end(), [&](const PodInfo* other) { return AreAlike(*pod, *other); })) {
    return false;
  }
  failure = Add(pod);
  if (!failure.IsSuccess()) return false;
  if (Fits()) {
    hopeless_.clear();
    return true;
  }
  failure = Remove(pod);
  hopeless_.push_back(pod.get());
  return false;
}

NodeVictims DryRun::SelectVictims(framework::NodeIndex row) {
  NodeVictims result;
  const auto fail = [&](const Status& status) {
    result.status = Status::Error(status.Message());
    result.victims.clear();
    return result;
  };

  // Most nodes that cannot help are told by a look at their pods, before anything is copied.
  potential_.clear();
  const framework::NodeInfo& original = cycle_.nodes.Info(row);
  for (const PodInfoPtr& other : original.pods()) {
    if (other->priority() >= preemptor_.priority()) continue;
    potential_.push_back(other);
    result.rests_on_time |= other->start_time && *other->start_time >= cycle_.wall_now;
  }
  if (potential_.empty()) {
    result.status = NoVictims();
    return result;
  }

  trial_.node = original;
  trial_.state = cycle_.state.Clone();
  for (const PodInfoPtr& pod : potential_) {
    if (const Status status = Remove(pod); !status.IsSuccess()) return fail(status);
  }
  result.status = filters_.RunFiltersWithNominatedPods(trial_.state, preemptor_, trial_.node);
  if (!result.status.IsSuccess()) return result;

  // Now as many as possible are let off, the most important first; those whose eviction violates a budget before all
  // others. Upstream sorts with an algorithm that keeps the order of equals for up to 12 pods.
  const auto is_more_important = [now = cycle_.wall_now](const PodInfoPtr& a, const PodInfoPtr& b) {
    return IsMoreImportant(*a, *b, now);
  };
  const auto sort = [&](std::vector<PodInfoPtr>& pods) {
    if (!std::is_sorted(pods.begin(), pods.end(), is_more_important)) {
      std::stable_sort(pods.begin(), pods.end(), is_more_important);
    }
  };
  sort(potential_);
  hopeless_.clear();
  const std::vector<bool> violations = budgets_.Violations(potential_);
  result.rests_on_budgets = budgets_.have_matched();
  bool has_violating = false, has_others = false;
  for (const bool violates : {true, false}) {
    for (std::size_t i = 0; i < potential_.size(); ++i) {
      if (violations[i] != violates) continue;
      (violates ? has_violating : has_others) = true;
      Status failure;
      if (LetOff(potential_[i], failure)) continue;
      if (!failure.IsSuccess()) return fail(failure);
      result.victims.push_back(potential_[i]);
      if (violates) ++result.pdb_violations;
    }
  }
  if (has_violating && has_others) sort(result.victims);
  return result;
}

}  // namespace berth::plugins
