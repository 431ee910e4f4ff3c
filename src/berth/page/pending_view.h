// SPDX-License-Identifier: Apache-2.0
// PendingView: the pods that wait for a node, folded by owner and by what they wait for, as the page shows them first.
// Values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/page/decision_feed.h"
#include "berth/whatif/additions.h"

namespace berth::whatif {
struct ClusterState;
struct PendingPods;
}  // namespace berth::whatif

namespace berth::page {

// Pods by their place in the scheduling queue.
struct QueueCounts {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0, permit = 0;

  QueueCounts& operator+=(const QueueCounts& more);
};

codec::json::object QueueJson(const QueueCounts& counts);

struct PendingClass {
  whatif::Workload owner;
  std::size_t count = 0;
  Time oldest{};           // creation of the pod that waits longest
  std::string sample;      // its name; its namespace is the owner's
  std::string scheduler;   // schedulerName
  std::string group;       // PodGroup; empty: none
  std::string_view state;  // "Refused", ...: as in the contract
  std::string message;
  std::vector<Reason> reasons;
  std::optional<std::size_t> nodes;  // that were looked at
  std::optional<std::int32_t> attempts;
  std::optional<QueueCounts> queue;
  std::optional<Time> backoff_until;
  std::vector<std::string> waits_for;

  // The same as long as owner, state and reasons are.
  std::string Id() const;
};

struct PendingView {
  // Classes beyond it are only counted.
  static constexpr std::size_t kClassesMax = 500;

  std::string_view by = "evaluation";  // or "scheduler"
  Time as_of{};
  std::size_t pods = 0;
  std::size_t not_looked_at = 0;
  std::vector<PendingClass> classes;
};

// One pod that waits, as a running scheduler has it.
struct WaitingPod {
  const api::Pod* pod = nullptr;
  std::string_view state = "Undecided";
  std::string message{};
  std::vector<Reason> reasons{};
  std::optional<std::size_t> nodes{};
  std::optional<std::int32_t> attempts{};
  std::optional<QueueCounts> queue{};  // of this pod: one of them is 1
  std::optional<Time> backoff_until{};
  std::vector<std::string> waits_for{};
};

// "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: ..." as reasons without
// their plugins; empty: it is no such text.
std::vector<Reason> ReasonsIn(std::string_view message);

// Folds them. Pods of one owner that wait for the same reasons are one class, whatever the numbers of nodes: these
// change with each attempt. Numbers and message are those of the pod that waits longest.
PendingView Fold(const std::vector<WaitingPod>& pods);
// `state` is the one that was asked about.
PendingView FromEvaluation(const whatif::PendingPods& pending, const whatif::ClusterState& state, Time now);

// The schema Pending without `revision`. `with_time` false: without `asOf`, which changes when nothing has happened.
codec::json::object PendingJson(const PendingView& view, bool with_time = true);

}  // namespace berth::page
