// SPDX-License-Identifier: Apache-2.0
// Evaluator: finds the best node for one pod by PreFilter, Filter, PreScore, Score and the choice, over all nodes. It
// runs the stages of an EvaluationCycle and owns what is kept between cycles: the classes (ClassStore) and the choosers
// (NodeChooser). README.md of this folder is the place to start. Within turns only; the outcome is valid until the next
// Evaluate().
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
  ~Evaluator() override;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // `nominated` may be null; `extenders` is null for a pod about which no extender is asked. Both must live as long as
  // the outcome is used.
  const Outcome& Evaluate(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                          const framework::NominatedRows* nominated, std::uint64_t seed, Time wall_now,
                          const ExtenderVerdicts* extenders = nullptr);

  // Whether the pod currently fits on the node in `row`: runs PreFilter and the filters, with nominated pods, for this
  // node only. Invalidates the last outcome.
  framework::Status FitsOn(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                           const framework::NominatedRows* nominated, framework::NodeIndex row, std::uint64_t seed,
                           Time wall_now);

  // Runs the PostFilter plugins after an outcome of kRefused. Their reasons become part of Message(). With an
  // unanswered `review` the result is kWait if there are candidates to ask extenders about.
  framework::PostFilterResult RunPostFilter(framework::PreemptionReview* review = nullptr);

  // After kRefused or kNoNodes: upstream's FitError text, including the reasons of PostFilter if it ran.
  std::string Message() const;

  // After Evaluate: the filters' verdict on a row; success if it is feasible.
  framework::Status StatusOf(framework::NodeIndex row) const { return Get(row); }
  // The refusals of all filters for this row, where StatusOf() has the first one. Pods nominated for the node are left
  // out. Calls the filters. Empty when PreFilter refused the pod, because the filters have no state then.
  std::vector<framework::Status> AllRefusals(framework::NodeIndex row);
  // The number of nodes for each status, for the decision log.
  std::vector<std::pair<framework::Status, std::size_t>> RefusalCounts() const;

  // The data that plugins wrote in this cycle.
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

  // To be called between cycles every few minutes: drops what no pod has used since the last call, here and in the
  // plugins. Invalidates the last outcome.
  void DropIdle();

  // Starts counting and timing. Both arguments must outlive the evaluator.
  void SetMetrics(instruments::ProfileMetrics& metrics, instruments::Stopwatch& stopwatch);
  // Updates the metrics that are counted in batches. Between cycles.
  void FlushMetrics();

  // For tests and measurements.
  std::size_t kept_count() const { return classes_.size(); }
  struct ChooserUse {
    std::string_view name;
    std::uint64_t choice_count = 0;  // cycles for which it found the outcome
    std::size_t kept_count = 0;      // structures that it keeps for later pods
  };
  // All choosers, in the order in which they are tried.
  std::vector<ChooserUse> ChooserUses() const;
  // The chooser with this name; all zero when there is none.
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

  std::unique_ptr<EvaluationMetrics> metrics_;  // null: metrics are off
  const ProfileTraits profile_;
  const EvaluatorOptions options_;
  ClassStore classes_;
  ClassUpdater updater_;
  Scorer scorer_;
  ScanChooser scan_;
  std::vector<std::unique_ptr<NodeChooser>> owned_choosers_;  // all except the scan
  std::vector<ChooserEntry> choosers_;                        // in the order in which they are tried
  EvaluationCycle cycle_;                                     // the current or last cycle
};

}  // namespace berth::runtime
