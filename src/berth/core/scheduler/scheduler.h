// SPDX-License-Identifier: Apache-2.0
// Scheduler: the deterministic core. Inputs come in through Handle(), ScheduleOne() makes decisions, and TakeOutputs()
// returns what is to be done outside. It has no sockets, no threads and no clock: the same inputs, times and seed give
// the same outputs. One thread at a time; it never blocks. README.md shows its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/queue/pod_range.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/outside_request.h"

namespace berth::cache {
class Cache;
class PodClasses;
}  // namespace berth::cache

namespace berth::queue {
class SchedulingQueue;
}  // namespace berth::queue

namespace berth::runtime {
struct ProfilePlugins;
}  // namespace berth::runtime

namespace berth::scheduler {

// Most sources need few of these. Who calls a function that returns one includes its header.
class CoreHandle;
class DecisionLog;
class Overlay;
struct SchedulerOptions;

// One of our pods that has no node.
struct UnboundPod {
  std::string key;  // "namespace/name"
  std::string why;  // one line
};

// One of our pods that has a node and waits at Permit.
struct PermitWaiter {
  std::string uid;
  std::string node_name;             // that is kept for it
  std::vector<std::string> plugins;  // that have not allowed it yet
};

class Scheduler {
 public:
  // There must be at least one profile, scheduler names must be unique, and all profiles must have the same queue_sort
  // plugin. The plugins were made with `handle`, which must outlive the scheduler.
  Scheduler(SchedulerOptions options, CoreHandle& handle,
            std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles);
  ~Scheduler();

  // Sets how far the time of day is ahead of `now`. `now` never goes back and never jumps. 0 until the first call.
  void SetWallAhead(Duration ahead);
  void Handle(Input input, Time now);
  // Runs one scheduling cycle if a pod is ready. Returns false when none is, or while the last cycle waits for
  // extenders: their responses end it, in Handle().
  bool ScheduleOne(Time now);
  // Handles what is due: back-offs, Permit deadlines, retries.
  void Tick(Time now);
  // When Tick() has something to do next; nullopt: only after an input.
  std::optional<Time> NextWake() const;
  // Swaps the outputs into the vector, in order. Passing it back on the next call reuses its memory.
  void TakeOutputs(std::vector<Output>& outputs);

  // Whether the cycle of decisions().Newest() waits for extenders.
  bool IsWaitingForExtenders() const;
  // Cancels that cycle and ignores the responses to come. The pod is in no queue afterwards.
  void CancelExtenderCycle(std::string_view why);

  // The next decisions are those of a new core that has the same objects: evaluators are made anew, and so are the
  // draws among equals, with `seed`. Between cycles.
  void StartOver(std::uint64_t seed);

  // For questions of the form "what if?". While the overlay has changes, no other function may be called.
  std::unique_ptr<Overlay> MakeOverlay(Time now);

  // The kinds of objects whose ObjectSet and ObjectGone the plugins need, ascending.
  std::vector<framework::ObjectKind> ObjectsRead() const;
  // The sources of outside data that plugins read. OutsideDone::source is an index into these.
  using OutsideRequest = scheduler::OutsideRequest;
  const std::vector<OutsideRequest>& outside_sources() const;
  // Whether each of these has answered, or has failed, at least once.
  bool HasHeardOutside() const;

  // Whether every pod of ours is placed, refused or gated, so that nothing happens before the next input.
  bool IsIdle() const;
  // Sorted by namespace and name; all of them, or a range.
  std::vector<UnboundPod> Unbound(const queue::PodRange& range = {}) const;
  // In no order; `count_max` at most.
  std::vector<PermitWaiter> AtPermit(std::size_t count_max) const;
  // Binding cycles under way.
  std::size_t binding_count() const;
  // Binding cycles with a request or work under way that is not late. The shell stops calling ScheduleOne() while there
  // are too many. Cycles that wait (Permit, a volume, a response that does not come) do not count.
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
