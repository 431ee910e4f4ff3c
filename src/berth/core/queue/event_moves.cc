// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/event_moves.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "berth/core/queue/pod_group_queue.h"

namespace berth::queue {

using framework::PodInfo;
using framework::PodInfoPtr;

std::span<const EventMoves::Move> EventMoves::Choose(const framework::ClusterEvent& event, EventId id,
                                                     const EventSource& source, const MoveLimit& limit) {
  chosen_.clear();
  nominated_there_.reset();
  const Arguments arguments{id, source, limit, OwnerOf(source.old_pod), OwnerOf(source.new_pod)};
  for (RejectorSet* const set : parked_.sets()) {
    const Relevance& relevance = rejectors_.RelevanceOf(*set, id);
    if (!relevance.reaches_gate) continue;
    if (relevance.matches.empty() && set->profile != nullptr && !event.IsWildcard()) continue;
    if (relevance.is_of_pod_group && groups_ != nullptr && !event.IsWildcard()) continue;  // ChooseGroup()
    const bool is_of_class = relevance.is_of_class && !event.IsWildcard();
    for (const WaitingClass& waiting : set->waiting) {
      if (limit.priority_max && waiting.pod_class->priority() > *limit.priority_max) continue;
      if (is_of_class && waiting.first->group == nullptr && !MayHelpClass(waiting, arguments)) {
        for (Entry* const entry : NominatedThere(arguments)) {
          if (IsParked(*entry) && entry->rejector_set == set && entry->info.pod->pod_class.get() == waiting.pod_class)
            ChooseOne(entry, arguments);
        }
        continue;
      }
      for (Entry* entry = waiting.first; entry != nullptr; entry = entry->later) ChooseOne(entry, arguments);
    }
  }
  if (groups_ != nullptr) ChooseGroup(id, source);
  return chosen_;
}

const Entry* EventMoves::OwnerOf(const PodInfoPtr& pod) const {
  return pod == nullptr || parked_.empty() ? nullptr : records_.by_uid().Find(pod->uid);
}

// The records of pods that are nominated for the node of the event's pod.
const std::vector<Entry*>& EventMoves::NominatedThere(const Arguments& arguments) {
  if (nominated_there_) return *nominated_there_;
  nominated_there_.emplace();
  const EventSource& source = arguments.source;
  const PodInfo* const pod = source.new_pod != nullptr ? source.new_pod.get() : source.old_pod.get();
  if (pod == nullptr || nominator_.empty()) return *nominated_there_;
  for (const PodInfoPtr& nominated : nominator_.PodsForNode(pod->node_or_nomination())) {
    if (Entry* const entry = records_.by_uid().Find(nominated->uid)) nominated_there_->push_back(entry);
  }
  return *nominated_there_;
}

// Whether the event helps any pod of the class, apart from those nominated for the event's node, which are asked one
// by one. Hints that depend on the class treat all pods alike except these and the event's own pods.
bool EventMoves::MayHelpClass(const WaitingClass& waiting, const Arguments& arguments) {
  const Entry* const first = waiting.first;
  for (const Entry* owner : {arguments.old_owner, arguments.new_owner}) {
    if (owner == nullptr || owner->rejector_set != first->rejector_set) continue;
    if (owner->info.pod->pod_class == first->info.pod->pod_class) return true;
  }
  const std::vector<Entry*>& nominated = NominatedThere(arguments);
  const Entry* other = first;
  while (other != nullptr && std::ranges::find(nominated, other) != nominated.end()) other = other->later;
  return other != nullptr && rejectors_.IsWorthRequeuing(*other->info.pod, *other->rejector_set, arguments.id,
                                                         arguments.source) != Strategy::kSkip;
}

// How the event moves the entry. A group gets the strongest answer of its members.
Strategy EventMoves::WorthOf(const Entry& entry, EventId event, const EventSource& source) {
  if (entry.group == nullptr) return rejectors_.IsWorthRequeuing(*entry.info.pod, *entry.rejector_set, event, source);
  Strategy best = Strategy::kSkip;
  for (const Entry* const member : entry.group->members) {
    best = std::max(best, rejectors_.IsWorthRequeuing(*member->info.pod, *entry.rejector_set, event, source));
    if (best == Strategy::kImmediately || (best != Strategy::kSkip && entry.rejector_set->pending.empty())) break;
  }
  return best;
}

void EventMoves::ChooseOne(Entry* entry, const Arguments& arguments) {
  const std::string_view excluded = arguments.limit.excluded_uid;
  if (!excluded.empty() && entry->info.pod->uid == excluded) return;
  const Strategy strategy = WorthOf(*entry, arguments.id, arguments.source);
  if (strategy != Strategy::kSkip) chosen_.emplace_back(entry, strategy);
}

// Chooses the group that the event is about, if it waits for such an event.
void EventMoves::ChooseGroup(EventId event, const EventSource& source) {
  PodGroupEntity* group = nullptr;
  for (const PodInfoPtr& pod : {source.new_pod, source.old_pod}) {
    if (group == nullptr && pod != nullptr && !pod->pod_group_name.empty())
      group = groups_->FindWaiting(framework::GroupOf(*pod));
  }
  for (const auto& object : {source.new_object, source.old_object}) {
    if (group != nullptr || !object) continue;
    if (const auto* of = std::get_if<std::shared_ptr<const api::PodGroup>>(&*object))
      group = groups_->FindWaiting({(*of)->metadata.namespace_name, (*of)->metadata.name, false});
    if (const auto* of = std::get_if<std::shared_ptr<const api::CompositePodGroup>>(&*object))
      group = groups_->FindWaiting({(*of)->metadata.namespace_name, (*of)->metadata.name, true});
  }
  if (group == nullptr || !IsParked(*group->entry)) return;
  const Relevance& relevance = rejectors_.RelevanceOf(*group->entry->rejector_set, event);
  if (!relevance.reaches_gate || !relevance.is_of_pod_group) return;
  const Strategy strategy = WorthOf(*group->entry, event, source);
  if (strategy != Strategy::kSkip) chosen_.emplace_back(group->entry, strategy);
}

}  // namespace berth::queue
