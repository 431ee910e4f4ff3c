// SPDX-License-Identifier: Apache-2.0
// QueueRecords: the queue's records of pods and groups, found by uid and by name. Internal to the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "berth/base/check.h"
#include "berth/core/instruments/pod_traces.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/core/queue/rejectors.h"

namespace berth::queue {

class QueueRecords {
 public:
  // Both must outlive it.
  QueueRecords(Rejectors& rejectors, QueueMetrics& metrics) : rejectors_(rejectors), metrics_(metrics) {}

  // A record of a pod that has none. It is in both indexes.
  Entry* Create(framework::PodInfoPtr pod, std::size_t uid_hash, std::size_t name_hash) {
    Entry* const entry = CreateUnindexed(std::move(pod));
    entry->uid_hash = uid_hash;
    entry->name_hash = name_hash;
    by_uid_.Put(entry);
    by_name_.Put(entry);
    if (instruments::PodTraces* const traces = metrics_.traces(); traces != nullptr) [[unlikely]]
      entry->is_traced = traces->Begin(*entry->info.pod);
    return entry;
  }
  // A record that only its holder finds: a group's.
  Entry* CreateUnindexed(framework::PodInfoPtr pod) {
    Entry* const entry = pool_.Take();
    entry->profile = rejectors_.FindProfile(pod->spec().scheduler_name);
    entry->info.pod = std::move(pod);
    Renumber(entry);
    return entry;
  }
  // The record must be in no place.
  void Free(Entry* entry) {
    by_uid_.Erase(entry);
    by_name_.Erase(entry);
    FreeUnindexed(entry);
  }
  void FreeUnindexed(Entry* entry) {
    SetRejectors(entry, nullptr);
    pool_.Give(entry);
  }

  // From now on it is the latest arrival among equals.
  void Renumber(Entry* entry) { entry->sequence = ++last_sequence_; }

  // Every change of a pod's rejectors goes through here, which keeps the metrics right.
  void SetRejectors(Entry* entry, RejectorSet* set) {
    RejectorSet* const before = std::exchange(entry->rejector_set, set);
    if (before == set) return;
    if (before != nullptr) metrics_.ObserveRefused(*before, *entry->info.pod, -1);
    if (set != nullptr) metrics_.ObserveRefused(*set, *entry->info.pod, +1);
  }

  // Replaces the pod's object.
  void SetPod(Entry* entry, framework::PodInfoPtr pod) {
    BERTH_DCHECK(entry->info.pod->uid == pod->uid, pod->uid);
    const bool is_moved = IsParked(*entry) && entry->info.pod->pod_class != pod->pod_class;
    if (is_moved) entry->rejector_set->Unlink(entry);
    entry->info.pod = std::move(pod);
    if (is_moved) entry->rejector_set->Link(entry);
  }

  EntryIndex<ByUid>& by_uid() { return by_uid_; }
  const EntryIndex<ByUid>& by_uid() const { return by_uid_; }
  // Does not contain pods in flight.
  EntryIndex<ByName>& by_name() { return by_name_; }
  const EntryIndex<ByName>& by_name() const { return by_name_; }

 private:
  Rejectors& rejectors_;
  QueueMetrics& metrics_;
  EntryPool pool_;
  EntryIndex<ByUid> by_uid_;
  EntryIndex<ByName> by_name_;
  std::uint64_t last_sequence_ = 0;
};

}  // namespace berth::queue
