// SPDX-License-Identifier: Apache-2.0
// ExtenderCycle: a scheduling cycle that waits for HTTP extenders (docs/plugins/extenders.md). Within turns only. It
// sends nothing and binds nothing: requests go out as outputs, responses come back as inputs, and its owner,
// SchedulingCycle, acts on the outcome.
//
// Inputs are taken in while the cycle waits. The last evaluation runs on the node table as it is then and drops nodes
// that no longer pass. Nodes that were added in the meantime are left out, because no extender has seen them. As in
// upstream, no other cycle begins before this one ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/config/extenders.h"
#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/extender_preemption.h"
#include "berth/core/scheduler/node_batches.h"
#include "berth/core/scheduler/scheduling_attempt.h"

namespace berth::scheduler {

// What the extenders are being asked.
//
//   Start(): the plugins filter ----- no node passes ------------------------> no node (below)
//      |                     |
//      | the nominated       | other nodes pass
//      | node passes         v
//      |                  kFilter: which nodes of the batch are left, each extender after the one before it
//      v                     ^     |          |
//   kFilterNominated: -------+     |          | one fails that is not ignorable
//   that node alone   refused,     |          +----------------------------------> kFailed
//      |              or one fails |
//      | it is left                | all have answered
//      v                           v
//   kDecided: that node         kPrioritize: all extenders score the nodes that are left, at once
//                                  |
//                                  | all have answered, or failed
//                                  v
//                               the plugins filter again, and score: kDecided, or no node; but while there is a
//                               next batch, kFilter with that instead of no node
//
// A batch is all nodes that pass or, when an extender gets whole nodes, the best of them (node_batches.h). Each node is
// in one batch, so that the number of batches is bounded, and "no node" holds for all nodes.
//
//   no node, or StartPreemption() ---- no extender has a preemptVerb, or no candidate ----> kDecided: none
//      |
//      | PostFilter finds candidates, and evicts nobody yet
//      v
//   kPreempt: which candidates are left, with which victims, each extender after the one before it
//      |
//      | all have answered, or one failed
//      v
//   the plugins filter again, PostFilter chooses among what is left: kDecided
enum class ExtenderStage : std::uint8_t { kFilterNominated, kFilter, kPrioritize, kPreempt };

class ExtenderCycle {
 public:
  enum class Progress : std::uint8_t {
    kWaiting,  // for responses of extenders
    kDecided,  // outcome() has the result
    kFailed,   // error() has the reason
  };

  // Whether an extender filters or scores nodes for this pod.
  static bool IsWantedFor(const framework::PodInfo& pod, const std::vector<config::Extender>& extenders);

  // `state` must outlive it.
  ExtenderCycle(CoreState& state, SchedulingAttempt&& attempt) : state_(state), attempt_(std::move(attempt)) {}

  // Runs the filters and asks the first extender.
  Progress Start() { return StartFilters(); }
  // Replaces Start() for a pod about which extenders are asked only when it preempts. `outcome` is the attempt's, with
  // result kRefused.
  Progress StartPreemption(const runtime::Outcome& outcome);
  bool IsWaitingFor(std::uint64_t operation) const { return waiting_.contains(operation); }
  // The cycle must be waiting for this operation.
  Progress TakeAnswer(ExtenderDone&& input);

  std::size_t prioritizing_count() const { return stage_ == ExtenderStage::kPrioritize ? waiting_.size() : 0; }

  const framework::PodInfo& pod() const { return *attempt_.queued.pod; }
  // Replaces the pod's object; the cycle goes on.
  void SetPod(const framework::PodInfoPtr& pod) { attempt_.queued.pod = pod; }
  SchedulingAttempt& attempt() { return attempt_; }
  // Valid until the next evaluation.
  const runtime::Outcome& outcome() const { return *outcome_; }
  const std::string& error() const { return error_; }

 private:
  Progress StartFilters();
  Progress StartAsking(ExtenderStage stage, std::vector<std::string> node_names);
  Progress AskNextFilter();
  Progress EndFilters();
  Progress EndFilterNominated();
  Progress EndPrioritize();
  Progress Decide();
  Progress AskNextPreempt();
  Progress EndPreempt();
  void TakeFilterAnswer(ExtenderAnswer&& answer);
  void AddScores(const ExtenderAnswer& answer, std::int64_t weight);
  const runtime::Outcome& Evaluate();
  bool IsAsked(std::size_t extender, ExtenderVerb verb) const;
  bool LimitsNodes() const;
  void Ask(std::size_t extender, ExtenderVerb verb);

  CoreState& state_;
  SchedulingAttempt attempt_;
  ExtenderStage stage_ = ExtenderStage::kFilter;
  bool judges_nodes_ = true;             // false: extenders are asked about preemption only
  runtime::ExtenderVerdicts answers_;    // the responses so far, as evaluations use them
  NodeBatches batches_;                  // the nodes that passed the plugins' filters
  std::vector<std::string> node_names_;  // the nodes of the batch that no extender has refused yet
  std::size_t passed_count_ = 0;         // size of the batch
  std::size_t left_count_ = 0;           // nodes left in the responses, in which an extender may name a node twice
  std::size_t next_extender_ = 0;        // the next one asked to filter
  // Extenders that have not answered yet, by operation: one during kFilter, all during kPrioritize.
  std::map<std::uint64_t, std::size_t> waiting_;
  // Ignorable extenders that have failed in this cycle. They are not asked the same about the next batches, because one
  // that hangs would cost each batch its time limit.
  std::set<std::pair<std::size_t, ExtenderVerb>> failed_;
  const runtime::Outcome* outcome_ = nullptr;
  std::optional<ExtenderPreemption> preemption_;
  std::string error_;
};

}  // namespace berth::scheduler
