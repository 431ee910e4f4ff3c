// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victims.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

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

bool IsMoreImportantOf(const PodInfoPtr& a, const PodInfoPtr& b, Time now, const framework::Release& release) {
  return IsMoreImportant(*a, *b, now, release);
}
bool IsMoreImportantOf(const VictimUnit& a, const VictimUnit& b, Time now, const framework::Release& release) {
  return IsMoreImportantUnit(a, b, now, release);
}

std::span<const PodInfoPtr> PodsOf(const PodInfoPtr& pod) { return {&pod, 1}; }
std::span<const PodInfoPtr> PodsOf(const VictimUnit& unit) { return unit.pods; }

// The only pod of the span; null when there are several, which filters may tell apart.
const PodInfo* OnlyPodOf(std::span<const PodInfoPtr> pods) { return pods.size() == 1 ? pods.front().get() : nullptr; }

// Whether, for pods, or how often, for units, evicting each of them overdraws a budget.
std::vector<bool> ViolationsOf(const std::vector<PodInfoPtr>& pods, DisruptionBudgets& budgets) {
  return budgets.Violations(pods);
}
std::vector<std::int64_t> ViolationsOf(const std::vector<VictimUnit>& units, DisruptionBudgets& budgets) {
  return CountViolations(units, budgets);
}

std::vector<PodInfoPtr> AllPodsOf(std::vector<PodInfoPtr>&& pods) { return std::move(pods); }
std::vector<PodInfoPtr> AllPodsOf(std::vector<VictimUnit>&& units) {
  std::vector<PodInfoPtr> pods;
  for (VictimUnit& unit : units) std::ranges::move(unit.pods, std::back_inserter(pods));
  return pods;
}

const Status& NoVictims() {
  static const Status kStatus = Status::UnschedulableAndUnresolvable("No preemption victims found for incoming pod");
  return kStatus;
}

}  // namespace

bool IsMoreImportant(const PodInfo& a, const PodInfo& b, Time now, const framework::Release& release) {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  const Time start_a = a.start_time.value_or(now);
  const Time start_b = b.start_time.value_or(now);
  if (start_a != start_b || !release.orders_victims_by_uid) return start_a < start_b;
  // Of pods that have not started, the first that upstream looks at is the more important: they keep their order.
  if (a.start_time.has_value() != b.start_time.has_value()) return a.start_time.has_value();
  return a.start_time.has_value() && a.uid < b.uid;
}

const std::vector<DisruptionBudgets::Budget>& DisruptionBudgets::BudgetsOf(const framework::PodClass& pod_class) {
  const auto [it, is_new] = by_class_.try_emplace(pod_class.id);
  // In older releases a pod without labels matches no budget, whatever the selector.
  if (!is_new || (!heeds_empty_ && pod_class.labels.empty())) return it->second;
  if (!by_namespace_) {
    by_namespace_.emplace();
    for (const auto& [key, budget] : store_) {
      // An absent and an invalid selector match nothing here, and in older releases an empty one.
      if (!budget->selector || !IsValid(*budget->selector)) continue;
      if (!heeds_empty_ && budget->selector->requirements.empty()) continue;
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

std::vector<std::int64_t> CountViolations(std::span<const VictimUnit> units, DisruptionBudgets& budgets) {
  std::vector<PodInfoPtr> pods;
  for (const VictimUnit& unit : units) pods.insert(pods.end(), unit.pods.begin(), unit.pods.end());
  const std::vector<bool> violations = budgets.Violations(pods);
  std::vector<std::int64_t> counts;
  counts.reserve(units.size());
  auto next = violations.begin();
  for (const VictimUnit& unit : units) {
    const auto end = next + static_cast<std::ptrdiff_t>(unit.pods.size());
    counts.push_back(std::count(next, end, true));
    next = end;
  }
  return counts;
}

Status DryRun::Remove(const PodInfoPtr& pod) {
  trial_.node.RemovePod(pod);
  return filters_.RunRemovePod(trial_.state, preemptor_, *pod, trial_.node);
}

Status DryRun::Add(const PodInfoPtr& pod) {
  trial_.node.AddPod(pod);
  return filters_.RunAddPod(trial_.state, preemptor_, *pod, trial_.node);
}

const NodeInfo* DryRun::NodeOf(const PodInfo& pod) const {
  if (pod.node_name == trial_.node.name()) return &trial_.node;
  const NodeIndex row = cycle_.nodes.Find(pod.node_name);
  return row == kNoNode ? nullptr : &cycle_.nodes.Info(row);
}

// As upstream, the plugins' AddPod and RemovePod are called for pods on other nodes, too, but those nodes stay as they
// are: the filters are run for this one alone.
Status DryRun::Remove(const VictimUnit& unit) {
  for (const PodInfoPtr& pod : unit.pods) {
    const NodeInfo* const node = NodeOf(*pod);
    if (node == &trial_.node) trial_.node.RemovePod(pod->uid);
    if (Status status = filters_.RunRemovePod(trial_.state, preemptor_, *pod, *node); !status.IsSuccess())
      return status;
  }
  return {};
}

Status DryRun::Add(const VictimUnit& unit) {
  for (const PodInfoPtr& pod : unit.pods) {
    const NodeInfo* const node = NodeOf(*pod);
    if (node == &trial_.node) trial_.node.AddPod(pod);
    if (Status status = filters_.RunAddPod(trial_.state, preemptor_, *pod, *node); !status.IsSuccess()) return status;
  }
  return {};
}

template <typename Unit>
bool DryRun::LetOff(const Unit& unit, Status& failure) {
  const PodInfo* const pod = OnlyPodOf(PodsOf(unit));
  const auto is_like = [pod](const PodInfo* other) { return AreAlike(*pod, *other); };
  if (pod != nullptr && std::any_of(hopeless_.begin(), hopeless_.end(), is_like)) return false;
  failure = Add(unit);
  if (!failure.IsSuccess()) return false;
  if (Fits()) {
    hopeless_.clear();
    return true;
  }
  failure = Remove(unit);
  if (pod != nullptr) hopeless_.push_back(pod);
  return false;
}

NodeVictims DryRun::SelectVictims(NodeIndex row) {
  const NodeInfo& original = cycle_.nodes.Info(row);
  const auto is_in_group = [](const PodInfoPtr& pod) { return !pod->pod_group_name.empty(); };
  if (groups_ != nullptr && std::ranges::any_of(original.pods(), is_in_group)) return SelectAmongUnits(original);
  potential_.clear();
  for (const PodInfoPtr& other : original.pods()) {
    if (other->priority() < preemptor_.priority()) potential_.push_back(other);
  }
  return SelectAmong(original, potential_);
}

NodeVictims DryRun::SelectAmongUnits(const NodeInfo& original) {
  std::vector<VictimUnit> units = UnitsOn(original, *groups_, release_);
  NodeVictims result;
  for (const VictimUnit& unit : units) {
    for (const PodInfoPtr& pod : unit.pods) {
      if (cycle_.nodes.Find(pod->node_name) != kNoNode) continue;
      result.status = Status::Error("failed to get node info for node \"" + pod->node_name +
                                    "\" from snapshot: nodeinfo not found for node name \"" + pod->node_name + "\"");
      return result;
    }
  }
  std::erase_if(units, [this](const VictimUnit& unit) { return unit.priority >= preemptor_.priority(); });
  result = SelectAmong(original, units);
  result.rests_on_groups = true;
  return result;
}

template <typename Unit>
NodeVictims DryRun::SelectAmong(const NodeInfo& original, std::vector<Unit>& potential) {
  NodeVictims result;
  const auto fail = [&](const Status& status) {
    result.status = Status::Error(status.Message());
    result.victims.clear();
    return result;
  };

  // A look at a node's pods shows most nodes that cannot help, before anything is copied.
  if (potential.empty()) {
    result.status = NoVictims();
    return result;
  }
  for (const Unit& unit : potential) {
    for (const PodInfoPtr& pod : PodsOf(unit))
      result.rests_on_time |= pod->start_time && *pod->start_time >= cycle_.wall_now;
  }

  trial_.node = original;
  trial_.state = cycle_.state.Clone();
  for (const Unit& unit : potential) {
    if (const Status status = Remove(unit); !status.IsSuccess()) return fail(status);
  }
  result.status = filters_.RunFiltersWithNominatedPods(trial_.state, preemptor_, trial_.node);
  if (!result.status.IsSuccess()) return result;

  // Now as many as possible are let off, the most important first; those whose eviction violates a budget before all
  // others. Upstream sorts with an algorithm that keeps the order of equals for up to 12 pods.
  const auto is_more_important = [this](const Unit& a, const Unit& b) {
    return IsMoreImportantOf(a, b, cycle_.wall_now, release_);
  };
  const auto sort = [&](std::vector<Unit>& units) {
    if (!std::is_sorted(units.begin(), units.end(), is_more_important)) {
      std::stable_sort(units.begin(), units.end(), is_more_important);
    }
  };
  sort(potential);
  hopeless_.clear();
  const auto violations = ViolationsOf(potential, budgets_);
  result.rests_on_budgets = budgets_.have_matched();
  std::vector<Unit> victims;
  bool has_violating = false, has_others = false;
  for (const bool is_violating : {true, false}) {
    for (std::size_t i = 0; i < potential.size(); ++i) {
      if (static_cast<bool>(violations[i]) != is_violating) continue;
      (is_violating ? has_violating : has_others) = true;
      Status failure;
      if (LetOff(potential[i], failure)) continue;
      if (!failure.IsSuccess()) return fail(failure);
      victims.push_back(potential[i]);
      result.pdb_violations += violations[i];
    }
  }
  if (has_violating && has_others) sort(victims);
  result.victims = AllPodsOf(std::move(victims));
  return result;
}

}  // namespace berth::plugins
