// SPDX-License-Identifier: Apache-2.0
// Runs the filters of a cycle on a single node: a pod's nominated node, a node with pods nominated for it, or a node in
// PostFilter's dry runs. Within turns only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// The first refusal of the active filters, with the plugin's name; success when none refuses.
framework::Status RunFilters(const EvaluationCycle& cycle, framework::CycleState& state, const framework::PodInfo& pod,
                             const framework::NodeInfo& node);

// All refusals of the active filters, each with the plugin's name. Filters that rely on an earlier filter's refusal are
// called as well, so that the result is for explanations only.
std::vector<framework::Status> RunAllFilters(const EvaluationCycle& cycle, framework::CycleState& state,
                                             const framework::PodInfo& pod, const framework::NodeInfo& node);

// Like RunFilters, but the pod has to fit both with and without those pods of `nominated` that have at least its
// priority.
framework::Status RunFiltersWithNominated(const EvaluationCycle& cycle, framework::CycleState& state,
                                          const framework::PodInfo& pod, const framework::NodeInfo& node,
                                          std::span<const framework::PodInfoPtr> nominated);

// Inform the PreFilter plugins that `other` is added to `node`, or removed from it.
framework::Status RunAddPod(const EvaluationCycle& cycle, framework::CycleState& state, const framework::PodInfo& pod,
                            const framework::PodInfo& other, const framework::NodeInfo& node);
framework::Status RunRemovePod(const EvaluationCycle& cycle, framework::CycleState& state,
                               const framework::PodInfo& pod, const framework::PodInfo& other,
                               const framework::NodeInfo& node);

// A filter's error in kube-scheduler's words; an error without a plugin's name is returned as it is.
std::string FilterErrorText(const framework::Status& status);

// Interns the status in the class's status table.
framework::VerdictId VerdictOf(EvaluationCycle& cycle, const framework::Status& status);

}  // namespace berth::runtime
