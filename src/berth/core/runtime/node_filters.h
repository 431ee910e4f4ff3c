// SPDX-License-Identifier: Apache-2.0
// What the filters of a cycle say of one node: of a pod's nominated node, of a node with pods nominated for it, and in
// the dry runs of PostFilter. Within turns only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// The first refusal of the active filters, with its plugin's name; success when none refuses.
framework::Status RunFilters(const EvaluationCycle& cycle, framework::CycleState& state, const framework::PodInfo& pod,
                             const framework::NodeInfo& node);

// Every refusal of the active filters, each with its plugin's name; none when the node is feasible. Filters that rest
// on what others before them refuse are asked too: what they say counts only for people.
std::vector<framework::Status> RunAllFilters(const EvaluationCycle& cycle, framework::CycleState& state,
                                             const framework::PodInfo& pod, const framework::NodeInfo& node);

// As RunFilters; the pod has to fit both with those of `nominated` that are as important as it is, and without them.
framework::Status RunFiltersWithNominated(const EvaluationCycle& cycle, framework::CycleState& state,
                                          const framework::PodInfo& pod, const framework::NodeInfo& node,
                                          std::span<const framework::PodInfoPtr> nominated);

// Tell the PreFilter plugins that `other` comes to `node`, or leaves it.
framework::Status RunAddPod(const EvaluationCycle& cycle, framework::CycleState& state, const framework::PodInfo& pod,
                            const framework::PodInfo& other, const framework::NodeInfo& node);
framework::Status RunRemovePod(const EvaluationCycle& cycle, framework::CycleState& state,
                               const framework::PodInfo& pod, const framework::PodInfo& other,
                               const framework::NodeInfo& node);

// A filter's error in kube-scheduler's words; one without a plugin is worded already.
std::string FilterErrorText(const framework::Status& status);

// The status as an entry of the class's status table.
framework::VerdictId VerdictOf(EvaluationCycle& cycle, const framework::Status& status);

}  // namespace berth::runtime
