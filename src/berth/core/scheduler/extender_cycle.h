// SPDX-License-Identifier: Apache-2.0
// ExtenderCycle: a scheduling cycle that waits for HTTP extenders (docs/plugins/extenders.md). Within turns only. It
// sends nothing and binds nothing: questions go out as outputs, answers come back as inputs, and what follows from the
// outcome is for its owner, the SchedulingCycle.
//
// The cluster goes on meanwhile: inputs are taken in, and the last evaluation, on the node table as it is then, drops
// the nodes that pass no more. Nodes that came meanwhile have not been asked about and do not count. One cycle waits at
// a time; no other begins before it has ended, as upstream has it.
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
// A batch is all nodes that pass, or, where an extender gets whole nodes, the best of them (node_batches.h). Each node
// is in one batch, so that no more batches are asked about than there are nodes for, and "no node" is said of all of
// them.
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
    kWaiting,  // for answers
    kDecided,  // outcome() tells for what
    kFailed,   // error() tells why
  };

  // Whether some extender has a say about the nodes for such pods.
  static bool IsWantedFor(const framework::PodInfo& pod, const std::vector<config::Extender>& extenders);

  // `state` must outlive it.
  ExtenderCycle(CoreState& state, SchedulingAttempt&& attempt) : state_(state), attempt_(std::move(attempt)) {}

  // Runs the filters and asks the first extender.
  Progress Start() { return StartFilters(); }
  // Instead of Start(), for a pod that extenders have a say about only when it preempts. `outcome` is the attempt's:
  // kRefused.
  Progress StartPreemption(const runtime::Outcome& outcome);
  bool IsWaitingFor(std::uint64_t operation) const { return waiting_.contains(operation); }
  // An answer that it waits for.
  Progress TakeAnswer(ExtenderDone&& input);

  std::size_t prioritizing_count() const { return stage_ == ExtenderStage::kPrioritize ? waiting_.size() : 0; }

  const framework::PodInfo& pod() const { return *attempt_.queued.pod; }
  // The cycle goes on with the pod's new object.
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
  bool judges_nodes_ = true;             // extenders have a say about nodes, and not only about preemption
  runtime::ExtenderVerdicts answers_;    // what has been said so far, for the evaluations
  NodeBatches batches_;                  // of the nodes that passed the plugins' filters
  std::vector<std::string> node_names_;  // that are left of the nodes that are asked about
  std::size_t passed_count_ = 0;         // nodes that are asked about
  std::size_t left_count_ = 0;           // as extenders count, who may name a node twice
  std::size_t next_extender_ = 0;        // to be asked to filter
  // Who has been asked and has not answered yet, by operation: one that filters, or all that prioritize.
  std::map<std::uint64_t, std::size_t> waiting_;
  // Who has failed and may: not asked the same about the batches that follow, or one that hangs would cost each of them
  // its time limit.
  std::set<std::pair<std::size_t, ExtenderVerb>> failed_;
  const runtime::Outcome* outcome_ = nullptr;
  std::optional<ExtenderPreemption> preemption_;
  std::string error_;
};

}  // namespace berth::scheduler
