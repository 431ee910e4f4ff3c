// SPDX-License-Identifier: Apache-2.0
// What it would take to make room on one node: preemption's dry run. Within turns only; one object a scheduling cycle.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/framework/objects.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/release.h"
#include "berth/plugins/default_preemption/victim_units.h"

namespace berth::plugins {

// True when evicting `a` is worse than evicting `b`: higher priority, then longer running, then as
// Release::orders_victims_by_uid says. A pod that has not started counts as started `now`. Upstream:
// util.MoreImportantPod, since 1.37 MoreImportantVictim.
bool IsMoreImportant(const framework::PodInfo& a, const framework::PodInfo& b, Time now,
                     const framework::Release& release = framework::Release());

// The PodDisruptionBudgets, prepared for one cycle. Upstream: filterPodsWithPDBViolation.
class DisruptionBudgets {
 public:
  // `store` must outlive the object and not change meanwhile. With Release::stops_at_first_violated_budget the budgets
  // are looked at in the order of their names, where upstream's is chance.
  explicit DisruptionBudgets(const framework::ObjectStore<api::PodDisruptionBudget>& store,
                             const framework::Release& release = framework::Release())
      : store_(store),
        stops_at_first_(release.stops_at_first_violated_budget),
        heeds_empty_(release.heeds_empty_budgets) {}

  // Tells for each pod whether evicting it, after the pods before it in the list, overdraws one of its budgets.
  std::vector<bool> Violations(std::span<const framework::PodInfoPtr> pods);
  // Whether one of the pods last asked about has a budget.
  bool have_matched() const { return have_matched_; }

 private:
  using Budget = const api::PodDisruptionBudget*;

  const std::vector<Budget>& BudgetsOf(const framework::PodClass& pod_class);

  const framework::ObjectStore<api::PodDisruptionBudget>& store_;
  const bool stops_at_first_;
  const bool heeds_empty_;
  // The valid budgets by namespace, collected by the first call that needs them.
  std::optional<std::map<std::string_view, std::vector<Budget>>> by_namespace_;
  absl::flat_hash_map<std::uint64_t, std::vector<Budget>> by_class_;  // by PodClass::id
  bool have_matched_ = false;
};

// How many pods of each unit overdraw one of their budgets when the units are evicted in this order.
std::vector<std::int64_t> CountViolations(std::span<const VictimUnit> units, DisruptionBudgets& budgets);

struct NodeVictims {
  // Success: the pod fits once the victims are gone. Otherwise why evicting does not help.
  framework::Status status;
  std::vector<framework::PodInfoPtr> victims;  // most important first
  std::int64_t pdb_violations = 0;             // victims whose budgets are overdrawn
  // What the answer rests on beside the node and its pods: a budget of one of them; the time, because one of them
  // starts only now; a pod group that one of them is in, and so other nodes.
  bool rests_on_budgets = false;
  bool rests_on_time = false;
  bool rests_on_groups = false;
};

// Upstream: DefaultPreemption.SelectVictimsOnNode.
class DryRun {
 public:
  // All must outlive it. Null `groups`: every pod is evicted by itself.
  DryRun(const framework::Cycle& cycle, const framework::PodInfo& preemptor, framework::FilterRunner& filters,
         const framework::ObjectStore<api::PodDisruptionBudget>& budgets,
         const framework::Release& release = framework::Release(), const framework::PodGroups* groups = nullptr)
      : cycle_(cycle),
        preemptor_(preemptor),
        filters_(filters),
        release_(release),
        budgets_(budgets, release),
        groups_(groups) {}

  // The smallest set of pods on the row's node, found greedily, without which the preemptor fits; with those on other
  // nodes that have to go with them. The node itself stays as it is.
  NodeVictims SelectVictims(framework::NodeIndex row);

 private:
  using PodInfoPtr = framework::PodInfoPtr;

  // The node and what plugins computed, without some pods.
  struct Trial {
    framework::NodeInfo node;
    framework::CycleState state;
  };

  // What is evicted at once: a pod; where pods of the node are in groups, a VictimUnit.
  framework::Status Remove(const PodInfoPtr& pod);
  framework::Status Remove(const VictimUnit& unit);
  framework::Status Add(const PodInfoPtr& pod);
  framework::Status Add(const VictimUnit& unit);
  // The node with which AddPod and RemovePod are called for a pod of a group; null when there is none of that name.
  const framework::NodeInfo* NodeOf(const framework::PodInfo& pod) const;
  // Puts the unit back and tells whether the preemptor fits although it stays. If not, the unit is taken away again.
  template <typename Unit>
  bool LetOff(const Unit& unit, framework::Status& failure);
  template <typename Unit>
  NodeVictims SelectAmong(const framework::NodeInfo& original, std::vector<Unit>& potential);
  NodeVictims SelectAmongUnits(const framework::NodeInfo& original);
  bool Fits() { return filters_.RunFiltersWithNominatedPods(trial_.state, preemptor_, trial_.node).IsSuccess(); }

  const framework::Cycle& cycle_;
  const framework::PodInfo& preemptor_;
  framework::FilterRunner& filters_;
  const framework::Release release_;
  DisruptionBudgets budgets_;
  const framework::PodGroups* const groups_;
  // Scratch for one node at a time, kept for its memory.
  Trial trial_;
  std::vector<PodInfoPtr> potential_;
  std::vector<const framework::PodInfo*> hopeless_;  // what could not be let off since another one was
};

}  // namespace berth::plugins
