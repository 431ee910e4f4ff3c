// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/pod_group_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "berth/base/check.h"

namespace berth::queue {

using framework::PodGroupKey;
using framework::PodInfo;
using framework::PodInfoPtr;

namespace {

// The pod that stands for a group where entities are sorted: PrioritySort and similar plugins read its priority.
PodInfoPtr StandIn(const framework::PodGroups& groups, const PodGroupKey& root, const PodInfo& first) {
  auto stand_in_class = std::make_shared<framework::PodClass>();
  stand_in_class->namespace_name = root.namespace_name;
  stand_in_class->spec.scheduler_name = first.spec().scheduler_name;
  stand_in_class->spec.priority = framework::PriorityOf(groups, root);
  auto stand_in = std::make_shared<PodInfo>();
  stand_in->name = root.name;
  stand_in->uid = root.EntityText();
  stand_in->pod_class = std::move(stand_in_class);
  return stand_in;
}

// Upstream: PodGroupMemberPodsOrderingFunc. Members of one PodGroup are adjacent; the cycle decides the order of
// PodGroups.
bool IsTriedBefore(const Entry* a, const Entry* b) {
  const auto key = [](const Entry* entry) {
    const QueuedPodInfo& info = entry->info;
    return std::tuple(std::string_view(info.pod->pod_group_name), -std::int64_t{info.pod->priority()}, -info.attempts,
                      info.timestamp, std::string_view(info.pod->name));
  };
  return key(a) < key(b);
}

}  // namespace

void PodGroupQueue::Join(PodGroupEntity& group, Entry* member) {
  member->place = kInGroup;
  member->group = &group;
  member->position = static_cast<std::uint32_t>(group.members.size());
  group.members.push_back(member);
}

PodGroupEntity& PodGroupQueue::NewEntity(const PodGroupKey& root, const Entry& first) {
  auto made = std::make_unique<PodGroupEntity>();
  made->root = root;
  made->entry = places_.NewRecord(StandIn(groups_, root, *first.info.pod));
  made->entry->group = made.get();
  made->entry->info.timestamp = first.info.timestamp;
  made->entry->info.initial_attempt_timestamp = first.info.initial_attempt_timestamp;
  made->entry->info.is_pod_group = true;
  return *waiting_.emplace(root, std::move(made)).first->second;
}

void PodGroupQueue::AddIncomplete(Entry* member) {
  member->place = kIncomplete;
  member->group = nullptr;
  std::vector<Entry*>& list = incomplete_[framework::GroupOf(*member->info.pod)];
  member->position = static_cast<std::uint32_t>(list.size());
  list.push_back(member);
}

void PodGroupQueue::Add(Entry* member, bool is_failed_attempt, Time now) {
  const std::optional<PodGroupKey> root = groups_.RootOf(framework::GroupOf(*member->info.pod));
  if (!root) return AddIncomplete(member);
  if (const auto found = waiting_.find(*root); found != waiting_.end()) {
    PodGroupEntity& group = *found->second;
    Join(group, member);
    return places_.AdmitMember(group, member);
  }
  if (popped_ && popped_->root == *root) {
    member->place = kPending;
    member->position = static_cast<std::uint32_t>(pending_.size());
    pending_.push_back(member);
    is_attempted_pending_ = is_attempted_pending_ || is_failed_attempt;
    return;
  }
  PodGroupEntity& group = NewEntity(*root, *member);
  Join(group, member);
  if (!is_failed_attempt) return places_.EnterPlace(group.entry, Strategy::kImmediately, now, Cause::kPodAdd);
  // The member's binding failed after its group had left the queue with its counters, so that the member's counters are
  // used. Upstream retries at once as long as bindings fail.
  group.entry->info.unschedulable_count = member->info.unschedulable_count;
  group.entry->info.consecutive_errors_count = member->info.consecutive_errors_count;
  places_.EnterPlace(group.entry, Strategy::kAfterBackoff, now, Cause::kScheduleAttemptFailure);
}

void PodGroupQueue::Leave(Entry* member) {
  std::vector<Entry*>* list = nullptr;
  const auto incomplete =
      member->place == kIncomplete ? incomplete_.find(framework::GroupOf(*member->info.pod)) : incomplete_.end();
  if (member->place == kInGroup) {
    list = &member->group->members;
  } else if (member->place == kPending) {
    list = &pending_;
  } else {
    BERTH_CHECK(incomplete != incomplete_.end(), member->info.pod->uid);
    list = &incomplete->second;
  }
  BERTH_CHECK(member->position < list->size() && (*list)[member->position] == member, member->info.pod->uid);
  Entry* const last = list->back();
  (*list)[member->position] = last;
  last->position = member->position;
  list->pop_back();
  PodGroupEntity* const group = std::exchange(member->group, nullptr);
  if (member->place == kIncomplete) {
    if (list->empty()) incomplete_.erase(incomplete);
  } else if (group != nullptr && group->members.empty()) {
    Free(*group);
  }
  member->place = kNowhere;
}

void PodGroupQueue::Free(PodGroupEntity& group) {
  places_.LeavePlace(group.entry);
  places_.FreeRecord(group.entry);
  waiting_.erase(PodGroupKey(group.root));
}

QueuedPodGroup PodGroupQueue::Pop(Entry* entry) {
  BERTH_CHECK(!popped_, popped_->root.Text());
  const auto found = waiting_.find(entry->group->root);
  popped_ = std::move(found->second);
  waiting_.erase(found);
  std::ranges::sort(popped_->members, IsTriedBefore);
  for (Entry* member : popped_->members) {
    member->group = nullptr;
    member->place = kNowhere;
  }
  return {popped_->root, popped_->entry->info, {}};
}

std::vector<Entry*> PodGroupQueue::TakeMembers() { return std::exchange(popped_->members, {}); }

void PodGroupQueue::End(PodGroupEnd end, Time now) {
  BERTH_CHECK(popped_ != nullptr && popped_->members.empty());
  const std::unique_ptr<PodGroupEntity> popped = std::move(popped_);
  const std::vector<Entry*> pending = std::exchange(pending_, {});
  const bool is_attempted_pending = std::exchange(is_attempted_pending_, false);
  if (pending.empty()) {
    places_.FreeRecord(popped->entry);
    return;
  }
  PodGroupEntity& group = NewEntity(popped->root, *pending.front());
  const QueuedPodInfo& before = popped->entry->info;
  QueuedPodInfo& info = group.entry->info;
  info.timestamp = before.timestamp;
  info.attempts = before.attempts;
  info.unschedulable_count = before.unschedulable_count;
  info.consecutive_errors_count = before.consecutive_errors_count;
  info.initial_attempt_timestamp = before.initial_attempt_timestamp;
  const std::uint64_t sequence = popped->entry->sequence;
  places_.FreeRecord(popped->entry);
  for (Entry* member : pending) Join(group, member);
  switch (end) {
    case PodGroupEnd::kScheduled:
      info.unschedulable_count = 0;
      info.consecutive_errors_count = 0;
      break;
    case PodGroupEnd::kRefused:
      ++info.unschedulable_count;
      info.consecutive_errors_count = 0;
      break;
    case PodGroupEnd::kRefusedForNow:
      info.unschedulable_count = 1;
      info.consecutive_errors_count = 0;
      break;
    case PodGroupEnd::kError: ++info.consecutive_errors_count; break;
  }
  // If some members were placed and others not, the rest of the group is tried next, so that it may preempt: it keeps
  // its position.
  if (end == PodGroupEnd::kScheduled && is_attempted_pending) {
    group.entry->sequence = sequence;
  } else {
    info.timestamp = now;
  }
  places_.EnterPlace(group.entry, end == PodGroupEnd::kScheduled ? Strategy::kImmediately : Strategy::kAfterBackoff,
                     now, Cause::kScheduleAttemptFailure);
}

void PodGroupQueue::ObjectAdded(const PodGroupKey& group, Time now) {
  if (!groups_.RootOf(group)) return;
  // Only PodGroups below this group can gain a root by its object.
  for (const PodGroupKey& leaf : framework::LeavesOf(groups_, group)) {
    const auto found = incomplete_.find(leaf);
    if (found == incomplete_.end()) continue;
    const std::vector<Entry*> members = std::move(found->second);
    incomplete_.erase(found);
    for (Entry* member : members) Add(member, false, now);
  }
}

void PodGroupQueue::ObjectGone(const PodGroupKey& old_root, Time now) {
  const auto found = waiting_.find(old_root);
  std::vector<Entry*> members = found != waiting_.end()                ? found->second->members
                                : popped_ && popped_->root == old_root ? pending_
                                                                       : std::vector<Entry*>();
  for (Entry* member : members) {
    if (groups_.RootOf(framework::GroupOf(*member->info.pod)) == old_root) continue;
    Leave(member);
    AddIncomplete(member);
  }
  if (const auto left = waiting_.find(old_root); left != waiting_.end()) places_.Reconsider(*left->second, now);
}

void PodGroupQueue::AddSizes(instruments::QueueSizes& sizes) const {
  for (const auto& [root, group] : waiting_) {
    const Place place = group->entry->place;
    const std::size_t queue = place == Place::kActive          ? 0
                              : place <= Place::kErrorBackoff  ? 1
                              : place == Place::kUnschedulable ? 2
                                                               : 3;
    ++(root.is_composite ? sizes.composite_groups : sizes.groups)[queue];
    sizes.members[queue] += group->members.size();
  }
  for (const auto& [group, members] : incomplete_) sizes.incomplete += members.size();
  sizes.pending += pending_.size();
}

std::size_t PodGroupQueue::CountRefused() const {
  return static_cast<std::size_t>(std::ranges::count_if(waiting_, [](const auto& each) {
    const Entry& entry = *each.second->entry;
    const bool is_backing_off = entry.place == Place::kBackoff || entry.place == Place::kErrorBackoff;
    return is_backing_off && entry.info.consecutive_errors_count == 0;
  }));
}

PodGroupEntity* PodGroupQueue::FindWaiting(const PodGroupKey& group) const {
  if (waiting_.empty()) return nullptr;
  const std::optional<PodGroupKey> root = groups_.RootOf(group);
  const auto found = root ? waiting_.find(*root) : waiting_.end();
  return found == waiting_.end() ? nullptr : found->second.get();
}

}  // namespace berth::queue
