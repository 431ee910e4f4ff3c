// SPDX-License-Identifier: Apache-2.0
// CoreState: what the parts of the core share. The Scheduler owns it; each part holds a reference. Within turns only;
// one turn at a time.
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

struct CoreState {
  // `objects` must outlive it. `release` is what the profiles were made for; see ProfileSet for them.
  CoreState(SchedulerOptions options, const framework::Release& release, framework::Objects& objects,
            ProfileSet::Owned profiles);
  CoreState(const CoreState&) = delete;
  CoreState& operator=(const CoreState&) = delete;

  // The pod as the core keeps it, with the scheduler and the named group that it belongs to.
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);
  // The time of day, for what plugins compare with objects or write into them. All else goes by `now`.
  Time WallNow() const { return now + wall_ahead; }
  // A turn is at this time.
  void SetNow(Time of_turn) {
    now = of_turn;
    stopwatch.BeginTurn(of_turn);
  }
  // The record of a decision about the pod, in this cycle; what comes of it is not in it yet.
  Decision& BeginDecision(const queue::QueuedPodInfo& queued);
  // Brings the nominations by row to where nominator and node table are now.
  void UpdateNominations() { nominations.Update(queue.nominator(), cache.nodes()); }

  const SchedulerOptions options;
  struct UnreadMetrics {
    MetricRegistry registry;
    instruments::SchedulerMetrics metrics{registry};
  };
  const std::unique_ptr<UnreadMetrics> unread_metrics;  // where the options give none
  instruments::SchedulerMetrics& metrics;
  instruments::Stopwatch stopwatch;
  framework::Objects& objects;
  Time now{};                                               // of the turn: set when it begins
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
};

}  // namespace berth::scheduler
