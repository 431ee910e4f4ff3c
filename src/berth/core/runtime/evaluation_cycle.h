// SPDX-License-Identifier: Apache-2.0
// EvaluationCycle: one pod's evaluation, from what was asked to what came out. It is passed to every stage and to every
// chooser; what these keep for the next pod they hold themselves. Within turns only.
#pragma once

#include <cstdint>
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

// What an evaluation is asked. What it points to must live as long as the outcome is used.
struct EvaluationRequest {
  framework::PodInfoPtr pod;
  const framework::NodeTable* nodes = nullptr;
  const framework::NominatedRows* nominated = nullptr;  // null: there are no nominations
  const ExtenderVerdicts* extenders = nullptr;          // null: no extender is asked about this pod
  std::uint64_t seed = 0;
  Time wall_now{};
};

struct EvaluationCycle {
  // Both must outlive it.
  EvaluationCycle(const ProfileTraits& of_profile, const EvaluatorOptions& with_options)
      : profile(of_profile), options(with_options) {}
  EvaluationCycle(const EvaluationCycle&) = delete;
  EvaluationCycle& operator=(const EvaluationCycle&) = delete;

  // Makes it a new cycle that has only been asked, in the room of the last one.
  void Begin(EvaluationRequest asked);
  // Lets go of what others may have dropped since. Nothing but Begin() may be called next.
  void End();

  const framework::PodInfo& pod() const { return *request.pod; }
  const framework::NodeTable& nodes() const { return *request.nodes; }
  framework::Cycle ForPlugins() { return {*request.nodes, state, request.seed, request.wall_now}; }
  std::span<const framework::PodInfoPtr> PodsNominatedFor(framework::NodeIndex row) const;

  // The cycle ends with an error. Always false.
  bool Fail(std::string error);

  // The rows that changed since these versions of the node table and, where kept verdicts respect them, of the
  // nominations; some may be there twice. nullopt: that is too long ago. The rows may lie in `scratch`.
  std::optional<std::span<const framework::NodeIndex>> ChangedSince(std::uint64_t version,
                                                                    std::uint64_t nominated_version,
                                                                    std::vector<framework::NodeIndex>& scratch) const;

  const ProfileTraits& profile;
  const EvaluatorOptions& options;
  EvaluationMetrics* metrics = nullptr;  // null: nobody counts
  EvaluationMetrics* sampled = nullptr;  // the same in a cycle in which single plugins are timed; else null

  EvaluationRequest request;
  bool do_nominations_matter = false;  // other pods' nominations, to this pod

  PluginPlan plan;
  framework::CycleState state;  // what plugins wrote in this cycle
  framework::NodeIndex refused_nominated_row = framework::kNoNode;

  // What is kept for the pod's class; null before that is known, and when there are no nodes.
  KeptEvaluation* kept = nullptr;
  std::uint64_t kept_key = 0;
  bool is_first_sight = false;   // the class's key was not met before: nothing is kept yet
  bool is_kept_current = false;  // ClassUpdater::Update() has run
  bool are_scores_kept = false;  // the kept scores are there and up to date

  // Found the outcome; null: it was found without one (PreFilter refused the pod, its nominated node passed ...).
  const NodeChooser* chooser = nullptr;
  // Of nodes that no filter was asked about: outside the narrowed search, or all when PreFilter refused the pod.
  framework::Status absent_status;
  Outcome outcome;
  std::string post_filter_message;
  framework::PreemptionReview* review = nullptr;  // of the PostFilter that runs; null: no extender has a say about it
};

}  // namespace berth::runtime
