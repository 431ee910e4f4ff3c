// SPDX-License-Identifier: Apache-2.0
// PodGroupQueue: pods that are scheduled as groups. The pods of one root group wait together: the group has one record
// of its own in the queue's places (activeQ, back-off, gated), beside the records of single pods, and its members have
// none. Upstream: QueuedPodGroupInfo, incompletePodGroupPods and pendingPodGroupPods of backend/queue. Internal to the
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

// A root group that waits, or is in flight. Its own record is what heaps and rejector sets hold: the pod in it stands
// for the group, and its counters are the group's.
struct PodGroupEntity {
  framework::PodGroupKey root;
  Entry* entry = nullptr;
  std::vector<Entry*> members;  // each knows its position
};

// What groups need of the queue whose places they share with single pods.
class EntityPlaces {
 public:
  virtual ~EntityPlaces() = default;
  // A record in no place and no index, and its end.
  virtual Entry* NewRecord(framework::PodInfoPtr pod) = 0;
  virtual void FreeRecord(Entry* entry) = 0;
  // Out of its place; and into the one that it is worth. PreEnqueue plugins may gate it there.
  virtual void LeavePlace(Entry* entry) = 0;
  virtual void EnterPlace(Entry* entry, Strategy strategy, Time now, Cause cause) = 0;
  // A waiting group has got another member. One that has passed its gate is gated if a PreEnqueue plugin refuses that.
  virtual void AdmitMember(PodGroupEntity& group, Entry* member) = 0;
  // A waiting group has lost members. Where one of them kept it gated, it is so no longer.
  virtual void Reconsider(PodGroupEntity& group, Time now) = 0;
};

class PodGroupQueue {
 public:
  // Both must outlive it.
  PodGroupQueue(EntityPlaces& places, const framework::PodGroups& groups) : places_(places), groups_(groups) {}

  // `member` is in no place. `is_failed_attempt`: it comes back from a cycle.
  void Add(Entry* member, bool is_failed_attempt, Time now);
  // `member` is in one of the places for members, and leaves it. A group without members ends.
  void Leave(Entry* member);

  // The group's record has been popped and is in no place. Its members, in the order in which they are tried, are in no
  // place either. One group at a time is in flight, until End().
  QueuedPodGroup Pop(Entry* entry);
  std::vector<Entry*> TakeMembers();  // of the group that was popped, in the same order; once
  void End(PodGroupEnd end, Time now);

  // A group's object, or one above it, has come: pods that waited for it join their groups.
  void ObjectAdded(const framework::PodGroupKey& group, Time now);
  // The object of a group in `old_root` is gone: members that have lost their root are incomplete.
  void ObjectGone(const framework::PodGroupKey& old_root, Time now);

  // The waiting group that the pod or the group with that key belongs to; null: none.
  PodGroupEntity* FindWaiting(const framework::PodGroupKey& group) const;

  std::size_t waiting_count() const { return waiting_.size(); }
  // Adds what is known here to the sizes of the queue: groups, members and pods without a group that waits.
  void AddSizes(instruments::QueueSizes& sizes) const;
  // Groups in back-off whose last cycle ended with a refusal.
  std::size_t CountRefused() const;

 private:
  PodGroupEntity& NewEntity(const framework::PodGroupKey& root, const Entry& first);
  static void Join(PodGroupEntity& group, Entry* member);
  void AddIncomplete(Entry* member);
  void Free(PodGroupEntity& group);

  EntityPlaces& places_;
  const framework::PodGroups& groups_;
  absl::flat_hash_map<framework::PodGroupKey, std::unique_ptr<PodGroupEntity>> waiting_;  // by root
  absl::flat_hash_map<framework::PodGroupKey, std::vector<Entry*>> incomplete_;           // by their PodGroup
  std::unique_ptr<PodGroupEntity> popped_;                                                // null: none is in flight
  std::vector<Entry*> pending_;
  bool is_attempted_pending_ = false;  // one of pending_ was tried in this cycle
};

}  // namespace berth::queue
