// SPDX-License-Identifier: Apache-2.0
// PodGroupQueue: pods that are scheduled as groups. The pods of one root group wait together: one record for the group
// is in the queue's places (activeQ, back-off, gated) beside the records of single pods, and its members are in none of
// these. Upstream: QueuedPodGroupInfo, incompletePodGroupPods and pendingPodGroupPods of backend/queue. Internal to the
// queue; within turns only.
//
//                      its PodGroup, or a group above, is not known
//   a member --Add--+-------------------------------------------------> incomplete --PodGroupAdded--> (again)
//                   | its root group waits                               ^
//                   +----------------------> member of that group -------+ PodGroupGone
//                   | is in flight                                       |
//                   +----------------------> pending --------------------+
//                   | neither                    | EndGroup: the group waits again, with these members
//                   +----------------------> a new group, with one member
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/framework/pod_groups.h"

namespace berth::queue {

// A root group that waits or is in flight. Heaps and rejector sets hold `entry`: its pod stands for the group, and its
// counters are the group's.
struct PodGroupEntity {
  framework::PodGroupKey root;
  Entry* entry = nullptr;
  std::vector<Entry*> members;  // Entry::position is the index
};

// The queue's operations that PodGroupQueue needs.
class EntityPlaces {
 public:
  virtual ~EntityPlaces() = default;
  // Makes a record that is in no place and no index; frees such a record.
  virtual Entry* NewRecord(framework::PodInfoPtr pod) = 0;
  virtual void FreeRecord(Entry* entry) = 0;
  // Takes the record out of its place, or puts it into the place that `strategy` and the PreEnqueue plugins determine.
  virtual void LeavePlace(Entry* entry) = 0;
  virtual void EnterPlace(Entry* entry, Strategy strategy, Time now, Cause cause) = 0;
  // Handles a new member of a waiting group. If a PreEnqueue plugin refuses the member, the group is gated.
  virtual void AdmitMember(PodGroupEntity& group, Entry* member) = 0;
  // Handles the loss of members of a waiting group. If the group is gated, its gate is checked again.
  virtual void Reconsider(PodGroupEntity& group, Time now) = 0;
};

class PodGroupQueue {
 public:
  // `places` and `groups` must outlive it.
  PodGroupQueue(EntityPlaces& places, const framework::PodGroups& groups) : places_(places), groups_(groups) {}

  // `member` must be in no place. `is_failed_attempt`: it comes back from a cycle.
  void Add(Entry* member, bool is_failed_attempt, Time now);
  // Takes `member` out of its place, one of the three for members. A group without members is freed.
  void Leave(Entry* member);

  // Takes the group whose record was popped. Afterwards its members are in no place, in the order in which they will be
  // tried. One group at a time is in flight, until End().
  QueuedPodGroup Pop(Entry* entry);
  std::vector<Entry*> TakeMembers();  // the popped group's members in that order; call once
  void End(PodGroupEnd end, Time now);

  // The object of a group was added: pods that waited for it, or for a group below it, join their groups.
  void ObjectAdded(const framework::PodGroupKey& group, Time now);
  // The object of a group in `old_root` was deleted: members without a root become incomplete.
  void ObjectGone(const framework::PodGroupKey& old_root, Time now);

  // The waiting group that contains this group; null: none waits.
  PodGroupEntity* FindWaiting(const framework::PodGroupKey& group) const;

  std::size_t waiting_count() const { return waiting_.size(); }
  // Adds the numbers of groups, members and incomplete pods to the queue's sizes.
  void AddSizes(instruments::QueueSizes& sizes) const;
  // The number of groups in back-off whose last cycle ended with a refusal.
  std::size_t CountRefused() const;

 private:
  PodGroupEntity& NewEntity(const framework::PodGroupKey& root, const Entry& first);
  static void Join(PodGroupEntity& group, Entry* member);
  void AddIncomplete(Entry* member);
  void Free(PodGroupEntity& group);

  EntityPlaces& places_;
  const framework::PodGroups& groups_;
  absl::flat_hash_map<framework::PodGroupKey, std::unique_ptr<PodGroupEntity>> waiting_;  // by root
  absl::flat_hash_map<framework::PodGroupKey, std::vector<Entry*>> incomplete_;           // by PodGroup
  std::unique_ptr<PodGroupEntity> popped_;                                                // null: no group is in flight
  std::vector<Entry*> pending_;
  bool is_attempted_pending_ = false;  // a pod in pending_ was tried in this cycle
};

}  // namespace berth::queue
