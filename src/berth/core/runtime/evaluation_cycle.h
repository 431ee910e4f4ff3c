// SPDX-License-Identifier: Apache-2.0
// EvaluationCycle: one pod's evaluation, from the request to the outcome. It is passed to every stage and every
// chooser; they store what they keep for later pods themselves. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/runtime/outcome.h"
#include "berth/core/runtime/plugin_plan.h"
#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/nominated_rows.h"

namespace berth::framework {
struct PreemptionReview;
}

namespace berth::runtime {

class EvaluationMetrics;
class NodeChooser;
struct ExtenderVerdicts;
struct KeptEvaluation;

// The input of an evaluation. Everything it points to must live as long as the outcome is used.
struct EvaluationRequest {
  framework::PodInfoPtr pod;
  const framework::NodeTable* nodes = nullptr;
  const framework::NominatedRows* nominated = nullptr;  // null: there are no nominations
  const ExtenderVerdicts* extenders = nullptr;          // null: no extender is asked about this pod
  std::uint64_t seed = 0;
  Time wall_now{};
};

struct EvaluationCycle {
  // Both arguments must outlive it.
  EvaluationCycle(const ProfileTraits& of_profile, const EvaluatorOptions& with_options)
      : profile(of_profile), options(with_options) {
    if (!profile.plugins.own.empty()) work = std::make_shared<framework::WorkBudget>(options.own_work_max);
  }
  EvaluationCycle(const EvaluationCycle&) = delete;
  EvaluationCycle& operator=(const EvaluationCycle&) = delete;

  // Starts a new cycle in the memory of the last one.
  void Begin(EvaluationRequest asked);
  // Releases data that others may free. Only Begin() may be called afterwards.
  void End();

  const framework::PodInfo& pod() const { return *request.pod; }
  const framework::NodeTable& nodes() const { return *request.nodes; }
  framework::Cycle ForPlugins() { return {*request.nodes, state, request.seed, request.wall_now}; }
  std::span<const framework::PodInfoPtr> PodsNominatedFor(framework::NodeIndex row) const;

  // Ends the cycle with an error. Always returns false.
  bool Fail(std::string error);

  // The rows that changed since these versions of the node table and, if kept verdicts include nominations, of the
  // nominations. May contain duplicates. nullopt: the log does not reach back. The span may point into `scratch`.
  std::optional<std::span<const framework::NodeIndex>> ChangedSince(std::uint64_t version,
                                                                    std::uint64_t nominated_version,
                                                                    std::vector<framework::NodeIndex>& scratch) const;

  const ProfileTraits& profile;
  const EvaluatorOptions& options;
  EvaluationMetrics* metrics = nullptr;  // null: metrics are off
  EvaluationMetrics* sampled = nullptr;  // `metrics` in a cycle in which single plugins are timed; otherwise null

  EvaluationRequest request;
  bool do_nominations_matter = false;  // other pods' nominations may change this pod's verdicts

  PluginPlan plan;
  framework::CycleState state;  // plugins' data of this cycle
  // What the author's plugins have done in this cycle. `state` has it, too. Null: there are none.
  std::shared_ptr<framework::WorkBudget> work;
  framework::NodeIndex refused_nominated_row = framework::kNoNode;

  // The kept results of the pod's class; null before they were looked up, and when there are no nodes.
  KeptEvaluation* kept = nullptr;
  std::uint64_t kept_key = 0;
  bool is_first_sight = false;   // the class's key is new: nothing is kept yet
  bool is_kept_current = false;  // ClassUpdater::Update() has run
  bool are_scores_kept = false;  // the kept scores exist and are up to date

  // The chooser that found the outcome. Null if none did, as when PreFilter refused the pod or its nominated node
  // passed.
  const NodeChooser* chooser = nullptr;
  // The status of nodes that were not filtered: those outside a narrowed search, or all nodes when PreFilter refused
  // the pod.
  framework::Status absent_status;
  Outcome outcome;
  std::string post_filter_message;
  // Set while PostFilter runs for a pod about whose preemption extenders are asked.
  framework::PreemptionReview* review = nullptr;
};

}  // namespace berth::runtime
