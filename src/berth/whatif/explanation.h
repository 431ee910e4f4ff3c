// SPDX-License-Identifier: Apache-2.0
// Explanation: why a pod is where it is, or why it is nowhere, as the scheduler's plugins say it now. A plain value;
// answers/explanation_text.h writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/smallest_changes.h"

namespace berth::whatif {

enum class PodState : std::uint8_t {
  kPlaced,   // it is on a node
  kFits,     // it has no node, and would be placed now
  kRefused,  // no node takes it
  kGated,    // a PreEnqueue plugin holds it back
  kDeleted,  // it is being deleted: nobody schedules it
  kWaits,    // for its group, or for a scheduler that is not the one that was asked; a node may have room
  kEnded,    // its containers have run: nobody schedules it any more
  kFailed,   // a plugin failed
};

// "Placed", "Fits", ...: as in JSON.
std::string_view ToString(PodState state);

struct Refusal {
  std::string plugin;
  std::string reason;
  bool is_resolvable = false;  // without a pod or two on the node, say; see Code::kUnschedulable
};

// One step of the funnel: how many nodes a plugin refused for one reason.
struct FunnelStep {
  std::string plugin;
  std::string reason;
  std::size_t refused = 0;       // nodes that no plugin before it had refused
  std::size_t would_refuse = 0;  // all that it refuses for that reason
};

struct NodeScore {
  std::string plugin;
  std::int64_t raw = 0;
  std::int64_t normalized = 0;
  std::int64_t weight = 1;
  std::int64_t weighted() const { return normalized * weight; }
};

struct NodeVerdict {
  std::string node;
  std::vector<Refusal> refusals;  // empty: feasible
  std::int64_t total = 0;         // of a feasible node; 0 when it was the only one
  std::vector<NodeScore> scores;
};

struct PreemptionAnswer {
  std::string node;  // the one that would be chosen; empty: none
  std::vector<std::string> victims;
  std::int64_t pdb_violations = 0;
  std::size_t candidate_count = 0;
  std::string why_not;  // upstream's words
};

// Where a running scheduler's queue has the pod.
struct QueueStanding {
  queue::Place place = queue::Place::kActive;
  std::optional<Time> backoff_until;
  std::vector<std::string> refused_by;  // the plugins that refused it, sorted
  std::vector<std::string> woken_by;    // the events that one of them waits for
};

// What a running scheduler keeps of a pod; an explanation finds everything else anew. Times are of day.
struct LiveRecord {
  Time asked_at{};
  std::optional<scheduler::Decision> decision;
  std::size_t decisions_max = 0;  // the scheduler keeps that many of all pods, the newest
  std::optional<QueueStanding> queue;
  // What takes part in decisions and was not asked for this explanation, one line each.
  std::vector<std::string> not_asked;
};

struct Explanation {
  std::string pod;  // "namespace/name"
  PodState state = PodState::kRefused;
  std::string scheduler_name;
  // The scheduler is none of the configuration's profiles: the first of them was asked instead.
  std::optional<std::string> asked_profile;
  std::string node;     // where it is; of kFits where it would go
  std::string message;  // kRefused: upstream's text; kGated, kWaits, kFailed: why
  // What the cluster's own scheduler wrote last into the PodScheduled condition; empty: nothing.
  std::string condition;

  std::size_t node_count = 0;
  std::size_t feasible_count = 0;
  std::vector<FunnelStep> funnel;
  // Feasible ones first, the best of them first; then by the number of refusals.
  std::vector<NodeVerdict> nodes;
  std::size_t best_count = 0;  // of `nodes`, from the first: equally good ones

  std::optional<PreemptionAnswer> preemption;  // kRefused
  std::optional<ChangeSearch> changes;         // kRefused
  std::vector<std::string> blocking_objects;   // kRefused: claims that stand in the way (blocking_objects.h)
  std::vector<std::string> woken_by;           // kRefused: the events after which it is tried again

  // kPlaced: where it stands among all nodes, if it were decided again now, from 1; 0: its node refuses it now.
  std::size_t rank = 0;

  // What there was no time for, one line each; see ExplainLimits.
  std::vector<std::string> left_out;
  // What a running scheduler keeps; absent: no scheduler was asked.
  std::optional<LiveRecord> live;
};

struct ExplainInputs {
  scheduler::Overlay& overlay;          // changed on the way, see Overlay::UndoTo()
  const queue::SchedulingQueue& queue;  // of the same core
  const api::Pod& pod;
};

struct ExplainLimits {
  // Is called again and again; once it returns true nothing more is tried, and left_out says what is missing. What has
  // begun is finished: the evaluation of the pod on all nodes, at least. Empty: there is no limit.
  std::function<bool()> is_over;
};

// Explains a pod that the overlay's core has, or could have.
Explanation Explain(const ExplainInputs& inputs, const ExplainLimits& limits = {});

// The cluster must hold the pod, "namespace/name"; else the error names the nearest ones. Pods that have ended are
// found among `finished_pods` of the state. Changes nothing.
Expected<Explanation> ExplainPod(OfflineCluster& cluster, const ClusterState& state, const std::string& namespace_name,
                                 const std::string& name, const ExplainLimits& limits = {});

}  // namespace berth::whatif
