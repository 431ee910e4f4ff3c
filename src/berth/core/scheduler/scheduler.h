// SPDX-License-Identifier: Apache-2.0
// Scheduler: the deterministic core. Inputs come in through Handle(), decisions are made by ScheduleOne(), and what is
// to be done outside comes out of TakeOutputs(). It has no sockets, no threads and no clock: the same inputs, times and
// seed give the same outputs. One thread at a time; nothing in it waits. README.md shows its parts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/outside_request.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/scheduler_options.h"

namespace berth::scheduler {

// A pod of ours that has no node.
struct UnboundPod {
  std::string key;  // "namespace/name"
  std::string why;  // one line
};

class Scheduler {
 public:
  // At least one profile; scheduler names are unique and all profiles have the same queue_sort plugin. `handle` is the
  // one that the plugins were made with; it must outlive the scheduler.
  Scheduler(SchedulerOptions options, CoreHandle& handle,
            std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles);
  ~Scheduler();

  // How far the time of day is ahead of the `now` of all that follows, which never goes back and never jumps. 0 until
  // it is said.
  void SetWallAhead(Duration ahead);
  void Handle(Input input, Time now);
  // One scheduling cycle, if a pod is ready. False when none is, or while the last one waits for extenders: it ends
  // with their answers, in Handle().
  bool ScheduleOne(Time now);
  // Does what is due by now: back-offs, Permit deadlines, retries.
  void Tick(Time now);
  // When Tick has something to do next; nullopt: only after an input.
  std::optional<Time> NextWake() const;
  // What is to be done outside, in order. The vector is handed over whole, to be passed back empty and reused.
  void TakeOutputs(std::vector<Output>& outputs);

  // The cycle that decisions().Newest() tells of waits for extenders.
  bool IsWaitingForExtenders() const;
  // Gives such a cycle up; its answers are then of no use. The pod is in no queue any more.
  void CancelExtenderCycle(std::string_view why);

  // For questions of the form "what if". While it has changes, nothing else here may be called.
  std::unique_ptr<Overlay> MakeOverlay(Time now);

  // The kinds of objects whose ObjectSet and ObjectGone the plugins need, ascending.
  std::vector<framework::ObjectKind> ObjectsRead() const;
  // What the plugins want to be told from outside: the answer to the request i is OutsideDone{i, ...}.
  using OutsideRequest = scheduler::OutsideRequest;
  const std::vector<OutsideRequest>& outside_sources() const;
  // Each of these has been answered, or has failed, once.
  bool HasHeardOutside() const;

  // Every pod of ours is placed, refused or gated: unless something changes outside, nothing is left to do.
  bool IsIdle() const;
  // By namespace and name; all of them, or a part.
  std::vector<UnboundPod> Unbound(const queue::PodRange& range = {}) const;
  // Binding cycles under way.
  std::size_t binding_count() const;
  // Those that are busy: a request or work of theirs is under way, and not for long. The shell stops calling
  // ScheduleOne() while there are too many. What waits (Permit, a volume, an answer that does not come) does not count.
  std::size_t busy_binding_count() const;
  Counts counts() const;
  const cache::Cache& cache() const;
  const queue::SchedulingQueue& queue() const;
  const DecisionLog& decisions() const;
  const cache::PodClasses& pod_classes() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace berth::scheduler
