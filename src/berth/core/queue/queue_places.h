// SPDX-License-Identifier: Apache-2.0
// QueuePlaces: activeQ, the back-off heaps, the unschedulable pods and the pods in flight. A record is in one of them
// at most, or among the members of a group. Internal to the queue; within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/core/queue/backoff.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/in_flight.h"
#include "berth/core/queue/indexed_heap.h"
#include "berth/core/queue/order.h"
#include "berth/core/queue/pre_enqueue_gate.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/core/queue/queue_records.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/run_and_heap.h"
#include "berth/core/queue/unschedulable_pods.h"

namespace berth::queue {

class PodGroupQueue;
struct PodGroupEntity;

class QueuePlaces {
 public:
  // All must outlive it.
  QueuePlaces(const SchedulingQueue::Options& options, const framework::QueueSortPlugin& sort, QueueRecords& records,
              Rejectors& rejectors, QueueMetrics& metrics);

  // Members of groups leave their place through it. Null until then: there are no groups.
  void SetGroups(PodGroupQueue* groups) { groups_ = groups; }

  // Takes the entry out of its place.
  void Detach(Entry* entry);
  // The next pod or group that is to be scheduled, taken out of its place; null: there is none.
  Entry* Pop();
  // Moves the entry to the place that `strategy`, its back-off and the PreEnqueue plugins determine.
  void Requeue(Entry* entry, Strategy strategy, Time now, Cause cause);
  // Returns whether the entry is in activeQ now; otherwise it is gated.
  bool MoveToActive(Entry* entry, Time now, Cause cause);
  // Moves the pods whose back-off is over to activeQ.
  void FlushBackoff(Time now);
  // After a change of what the entry is ordered by, in activeQ or backoffQ.
  void Reorder(Entry* entry);
  // Handles a new member of a waiting group. If a PreEnqueue plugin refuses the member, the group is gated.
  void AdmitMember(PodGroupEntity& group, Entry* member);
  // Logs that an update of `pod` moved the entry, which is the pod's or its group's, to its present place.
  void LogUpdate(const Entry& entry, const framework::PodInfo& pod, Cause cause) const;

  // When FlushBackoff() or the flush of unschedulable pods has something to do; nullopt: never.
  std::optional<Time> NextWake() const;
  bool HasReady() const { return !active_.empty() || !backoff_.empty(); }
  std::size_t active_count() const { return active_.size(); }
  std::size_t backoff_count() const { return backoff_.size() + error_backoff_.size(); }

  UnschedulablePods& parked() { return parked_; }
  const UnschedulablePods& parked() const { return parked_; }
  InFlight& in_flight() { return in_flight_; }
  const InFlight& in_flight() const { return in_flight_; }

 private:
  void MoveToBackoff(Entry* entry, Time expiration, Cause cause);
  void Park(Entry* entry, bool was_parked, Cause cause);
  void PrefetchNext();
  void ObserveIncoming(const Entry& entry, Place place, Cause cause);
  void ObserveGroup(const PodGroupEntity& group, Place place, Cause cause, bool is_moved);
  void TraceMove(const Entry& entry, std::string_view uid, Place place, Cause cause) const;
  void LogMove(const Entry& entry, Place place, Cause cause) const;
  void LogDestination(const Entry& entry, Place place, Cause cause) const;
  void LogFailedAttempt(const Entry& entry, Place place) const;

  QueueRecords& records_;
  Rejectors& rejectors_;
  QueueMetrics& metrics_;
  PreEnqueueGate gate_;
  PodGroupQueue* groups_ = nullptr;
  const bool logs_moves_;
  const Backoff backoff_policy_;
  Sort order_;
  RunAndHeap<Entry, ActiveLess> active_;
  IndexedHeap<Entry, BackoffLess> backoff_;
  IndexedHeap<Entry, ErrorBackoffLess> error_backoff_;
  InFlight in_flight_;
  UnschedulablePods parked_;
  std::uint64_t cycle_count_ = 0;  // entries that were popped
};

}  // namespace berth::queue
