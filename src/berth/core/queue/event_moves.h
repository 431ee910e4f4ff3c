// SPDX-License-Identifier: Apache-2.0
// EventMoves: which waiting pods an event may help, by the queueing hints of the plugins that refused them. Internal to
// the queue; within turns only.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/core/queue/entry.h"
#include "berth/core/queue/nominator.h"
#include "berth/core/queue/queue_records.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/queue/unschedulable_pods.h"

namespace berth::queue {

class PodGroupQueue;

class EventMoves {
 public:
  // All must outlive it.
  EventMoves(Rejectors& rejectors, const QueueRecords& records, const UnschedulablePods& parked,
             const Nominator& nominator)
      : rejectors_(rejectors), records_(records), parked_(parked), nominator_(nominator) {}

  void SetGroups(const PodGroupQueue* groups) { groups_ = groups; }

  using Move = std::pair<Entry*, Strategy>;
  // The parked pods and groups that the event helps, and how each is to be moved. Valid until the next call.
  std::span<const Move> Choose(const framework::ClusterEvent& event, EventId id, const EventSource& source,
                               const MoveLimit& limit);

 private:
  // The arguments of a call of Choose.
  struct Arguments {
    EventId id;
    const EventSource& source;
    const MoveLimit& limit;
    const Entry* old_owner;  // the queue's records of the event's pods
    const Entry* new_owner;
  };

  const Entry* OwnerOf(const framework::PodInfoPtr& pod) const;
  const std::vector<Entry*>& NominatedThere(const Arguments& arguments);
  bool MayHelpClass(const WaitingClass& waiting, const Arguments& arguments);
  Strategy WorthOf(const Entry& entry, EventId event, const EventSource& source);
  void ChooseOne(Entry* entry, const Arguments& arguments);
  void ChooseGroup(EventId event, const EventSource& source);

  Rejectors& rejectors_;
  const QueueRecords& records_;
  const UnschedulablePods& parked_;
  const Nominator& nominator_;
  const PodGroupQueue* groups_ = nullptr;               // null: pods are scheduled one by one
  std::vector<Move> chosen_;                            // a member to reuse its memory
  std::optional<std::vector<Entry*>> nominated_there_;  // of one call; computed on demand
};

}  // namespace berth::queue
