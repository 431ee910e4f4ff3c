// SPDX-License-Identifier: Apache-2.0
// Evaluator: finds the best node for one pod: PreFilter, Filter, PreScore, Score and the choice, over every node. It
// runs the stages of one EvaluationCycle after the other, and owns what is kept for the next: the classes (ClassStore)
// and the ways of choosing (NodeChooser). README.md of this folder tells where to begin. Within turns only; the outcome
// is valid until the next Evaluate().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/runtime/class_store.h"
#include "berth/core/runtime/class_updater.h"
#include "berth/core/runtime/evaluation_cycle.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/runtime/outcome.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/runtime/profile_traits.h"
#include "berth/core/runtime/scan_chooser.h"
#include "berth/core/runtime/scorer.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/nominated_rows.h"

namespace berth::runtime {

class Evaluator final : public framework::FastFilterRunner, private framework::NodeStatuses {
 public:
  // `plugins` must outlive the evaluator.
  Evaluator(const ProfilePlugins& plugins, EvaluatorOptions options);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // `nominated` may be null, and must live as long as the outcome is used; so must `extenders`, which is null for a pod
  // that no extender is asked about.
  const Outcome& Evaluate(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                          const framework::NominatedRows* nominated, std::uint64_t seed, Time wall_now,
                          const ExtenderVerdicts* extenders = nullptr);

  // Whether the pod may run on the node in `row`, as things are now: PreFilter and the filters, with nominated pods,
  // and no other node. Nothing may be asked about the last outcome any more.
  framework::Status FitsOn(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                           const framework::NominatedRows* nominated, framework::NodeIndex row, std::uint64_t seed,
                           Time wall_now);

  // After an outcome of kRefused: asks the PostFilter plugins. Their reasons become part of Message(). With a `review`
  // that is not answered, kWait when there are candidates to ask extenders about.
  framework::PostFilterResult RunPostFilter(framework::PreemptionReview* review = nullptr);

  // After kRefused or kNoNodes: upstream's FitError text, with what PostFilter said if it was asked.
  std::string Message() const;

  // After Evaluate: what the filters said about a row; success for a feasible one.
  framework::Status StatusOf(framework::NodeIndex row) const { return Get(row); }
  // Every filter's refusal of the row, where StatusOf() tells the first; without pods that are nominated for it. Asks
  // the filters. Empty where PreFilter refused the pod: no filter was prepared then.
  std::vector<framework::Status> AllRefusals(framework::NodeIndex row);
  // How many nodes were refused for each status, for the decision log.
  std::vector<std::pair<framework::Status, std::size_t>> RefusalCounts() const;

  // The state that the plugins of this cycle wrote.
  framework::Cycle cycle() { return cycle_.ForPlugins(); }

  // FastFilterRunner, for the pod of the last Evaluate().
  framework::Status RunFiltersWithNominatedPods(framework::CycleState& state, const framework::PodInfo& pod,
                                                const framework::NodeInfo& node) override;
  framework::Status RunRemovePod(framework::CycleState& state, const framework::PodInfo& pod,
                                 const framework::PodInfo& other, const framework::NodeInfo& node) override;
  framework::Status RunAddPod(framework::CycleState& state, const framework::PodInfo& pod,
                              const framework::PodInfo& other, const framework::NodeInfo& node) override;
  std::optional<std::uint64_t> NodeEpoch() const override;
  framework::PreemptionReview* Review() const override { return cycle_.review; }

  // Between cycles, when some minutes have gone by: drops what no pod has used since the last call, of its own and of
  // the plugins. Nothing may be asked about the last outcome any more.
  void DropIdle();

  // Counts and times from now on. Both must outlive the evaluator.
  void SetMetrics(instruments::ProfileMetrics& metrics, instruments::Stopwatch& stopwatch);
  // Brings the metrics up to date. Between cycles.
  void FlushMetrics();

  // For tests and measurements.
  std::size_t kept_count() const { return classes_.size(); }
  struct ChooserUse {
    std::string_view name;
    std::uint64_t choice_count = 0;  // cycles that it found the outcome for
    std::size_t kept_count = 0;      // structures that it keeps for later pods
  };
  // Of every chooser, in the order in which they are asked.
  std::vector<ChooserUse> ChooserUses() const;
  // Of the one of that name; all zero when there is none.
  ChooserUse UseOf(std::string_view chooser_name) const;

 private:
  struct ChooserEntry {
    NodeChooser* chooser = nullptr;
    std::uint64_t choice_count = 0;
  };

  template <typename Chooser, typename... Args>
  void AddChooser(Args&&... args);
  std::optional<std::uint64_t> EpochOfAll(std::string* error) const;
  void FindNode();
  void ChooseNode();
  bool TryNominatedNode();

  framework::Status Get(framework::NodeIndex row) const override;

  std::unique_ptr<EvaluationMetrics> metrics_;  // null: nobody counts
  const ProfileTraits profile_;
  const EvaluatorOptions options_;
  ClassStore classes_;
  ClassUpdater updater_;
  Scorer scorer_;
  ScanChooser scan_;
  std::vector<std::unique_ptr<NodeChooser>> owned_choosers_;  // all others
  std::vector<ChooserEntry> choosers_;                        // in the order in which they are asked
  EvaluationCycle cycle_;                                     // the last one
};

}  // namespace berth::runtime
