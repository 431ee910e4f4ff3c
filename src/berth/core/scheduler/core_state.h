// SPDX-License-Identifier: Apache-2.0
// CoreState: the state that the parts of the core share. The Scheduler owns it; each part holds a reference. Within
// turns only; turns do not overlap.
#pragma once

#include <memory>

#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/core/cache/cache.h"
#include "berth/core/cache/named_pod_groups.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/core/queue/row_nominations.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/operation_runner.h"
#include "berth/core/scheduler/outputs.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/framework/objects.h"

namespace berth::scheduler {

class Bookings;

struct CoreState {
  // `objects` must outlive it. The profiles were made for `release`; ProfileSet says what they must satisfy.
  CoreState(SchedulerOptions options, const framework::Release& release, framework::Objects& objects,
            ProfileSet::Owned profiles);
  CoreState(const CoreState&) = delete;
  CoreState& operator=(const CoreState&) = delete;

  // The pod as the core keeps it: with its scheduler and its named group.
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);
  // The time of day, for values that plugins compare with objects or write into them. All waits use `now`.
  Time WallNow() const { return now + wall_ahead; }
  // Begins a turn at this time.
  void SetNow(Time of_turn) {
    now = of_turn;
    stopwatch.BeginTurn(of_turn);
  }
  // Adds a record of a decision about the pod to the log. The caller fills in the outcome.
  Decision& BeginDecision(const queue::QueuedPodInfo& queued);
  // Updates the nominations by row from the nominator and the node table.
  void UpdateNominations() { nominations.Update(queue.nominator(), cache.nodes()); }

  const SchedulerOptions options;
  struct UnreadMetrics {
    MetricRegistry registry;
    instruments::SchedulerMetrics metrics{registry};
  };
  const std::unique_ptr<UnreadMetrics> unread_metrics;  // set when the options have no metrics
  instruments::SchedulerMetrics& metrics;
  instruments::Stopwatch stopwatch;
  framework::Objects& objects;
  Time now{};                                               // of the turn
  Duration wall_ahead{0};                                   // how far the time of day is ahead of `now`
  const std::unique_ptr<cache::PodGroupStates> pod_groups;  // null: pods are scheduled one by one
  cache::NamedPodGroups named_groups;
  const framework::Release release;
  cache::Cache cache;
  cache::PodClasses classes;
  ProfileSet profiles;
  queue::SchedulingQueue queue;
  queue::RowNominations nominations;
  Outputs outputs;
  OperationRunner operations{outputs};
  DecisionLog decisions;
  Counts counts;
  Bookings* bookings = nullptr;  // set from BookingsKept on; null: no room is promised
};

}  // namespace berth::scheduler
