// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/queue_places.h"

#include <algorithm>
#include <string>

#include "berth/base/log.h"
#include "berth/base/prefetch.h"
#include "berth/core/queue/pod_group_queue.h"

namespace berth::queue {
namespace {

std::string NamesOf(const RejectorSet* set, const Rejectors& rejectors) {
  std::string names;
  if (set == nullptr) return names;
  for (const auto* plugins : {&set->unschedulable, &set->pending}) {
    for (const PluginId plugin : *plugins) names += (names.empty() ? "" : ",") + rejectors.PluginName(plugin);
  }
  return names;
}

bool IsBackoff(Place place) { return place == Place::kBackoff || place == Place::kErrorBackoff; }

// The name of the queue that has the place, as logs have it.
std::string_view NameOfQueue(Place place) {
  return place == Place::kActive ? "Active" : IsBackoff(place) ? "Backoff" : "Unschedulable";
}

// The name of the span of a wait.
std::string_view NameOfWait(Place place) {
  switch (place) {
    case Place::kActive: return "activeQ";
    case Place::kBackoff: return "backoffQ";
    case Place::kErrorBackoff: return "error backoffQ";
    case Place::kGated: return "gated";
    default: return "unschedulable";
  }
}

// The kind and the name of a pod or group, as kube-scheduler 1.37 logs them: a composite group is a "podgroup", too.
log::Field TypeOf(const Entry& entry) { return {"type", entry.info.is_pod_group ? "podgroup" : "pod"}; }
std::string EntityOf(const Entry& entry) {
  return entry.info.is_pod_group ? entry.group->root.Text() : entry.info.pod->Key();
}

}  // namespace

QueuePlaces::QueuePlaces(const SchedulingQueue::Options& options, const framework::QueueSortPlugin& sort,
                         QueueRecords& records, Rejectors& rejectors, QueueMetrics& metrics)
    : records_(records),
      rejectors_(rejectors),
      metrics_(metrics),
      gate_(records, rejectors, metrics),
      logs_moves_(options.logs_moves),
      backoff_policy_{options.initial_backoff, options.max_backoff},
      order_(sort),
      active_(ActiveLess{&order_}),
      backoff_(BackoffLess{{&order_}}),
      error_backoff_(ErrorBackoffLess{}),
      in_flight_(metrics),
      parked_(options.unschedulable_max) {}

void QueuePlaces::Detach(Entry* entry) {
  switch (entry->place) {
    case Place::kActive: active_.Remove(entry); break;
    case Place::kBackoff: backoff_.Remove(entry); break;
    case Place::kErrorBackoff: error_backoff_.Remove(entry); break;
    case Place::kUnschedulable:
    case Place::kGated: parked_.Unpark(entry); break;
    case Place::kInFlight: in_flight_.Remove(entry); break;
    default:
      if (IsPlaceOfMembers(entry->place)) groups_->Leave(entry);
      break;
  }
  entry->place = kNowhere;
}

Entry* QueuePlaces::Pop() {
  if (active_.empty() && backoff_.empty()) return nullptr;
  Entry* const entry = active_.empty() ? backoff_.front() : active_.front();
  if (active_.empty()) ObserveIncoming(*entry, Place::kActive, Cause::kPopFromBackoff);
  Detach(entry);
  PrefetchNext();
  ++cycle_count_;
  return entry;
}

// The pods that are popped next may have been added thousands of pods ago. While this pod is scheduled, the next pod
// and its index slots are prefetched, and the entry of the pod after that.
void QueuePlaces::PrefetchNext() {
  if (Entry* const next = active_.Next(0)) {
    Prefetch(next->info.pod.get());
    records_.by_uid().Prefetch(next);
    records_.by_name().Prefetch(next);
  }
  if (const Entry* const after = active_.Next(1)) Prefetch(after);
}

void QueuePlaces::Requeue(Entry* entry, Strategy strategy, Time now, Cause cause) {
  if (strategy == Strategy::kSkip) {
    const bool was_parked = IsParked(*entry);
    Detach(entry);
    return Park(entry, was_parked, cause);
  }
  const QueuedPodInfo& info = entry->info;
  const std::int32_t count =
      info.consecutive_errors_count > 0 ? info.consecutive_errors_count : info.unschedulable_count;
  const Time expiration = entry->group == nullptr
                              ? backoff_policy_.Expiration(info.timestamp, count)
                              : backoff_policy_.ExpirationOfGroup(info.timestamp, count, entry->group->members.size());
  if (strategy == Strategy::kAfterBackoff && !Backoff::IsOver(expiration, now))
    return MoveToBackoff(entry, expiration, cause);
  MoveToActive(entry, now, cause);
}

bool QueuePlaces::MoveToActive(Entry* entry, Time now, Cause cause) {
  // PreEnqueue admitted pods in back-off before they went there.
  const bool is_from_backoff = entry->place == Place::kBackoff || entry->place == Place::kErrorBackoff;
  const bool was_parked = IsParked(*entry);
  Detach(entry);
  if (!is_from_backoff && !gate_.Admits(entry)) {
    Park(entry, was_parked, cause);
    return false;
  }
  if (!entry->info.initial_attempt_timestamp) entry->info.initial_attempt_timestamp = now;
  entry->place = Place::kActive;
  active_.Push(entry, KeyOf(*entry));
  ObserveIncoming(*entry, Place::kActive, cause);
  return true;
}

void QueuePlaces::MoveToBackoff(Entry* entry, Time expiration, Cause cause) {
  const bool was_parked = IsParked(*entry);
  Detach(entry);
  if (!gate_.Admits(entry)) return Park(entry, was_parked, cause);
  entry->backoff_expiration = expiration;
  // No rejectors means that an error brought the pod here. Pop does not take pods of this heap before their back-off
  // is over.
  entry->place = entry->rejector_set == nullptr ? Place::kErrorBackoff : Place::kBackoff;
  entry->rejector_set == nullptr ? error_backoff_.Push(entry, KeyOf(*entry)) : backoff_.Push(entry, KeyOf(*entry));
  ObserveIncoming(*entry, entry->place, cause);
}

void QueuePlaces::Park(Entry* entry, bool was_parked, Cause cause) {
  parked_.Park(entry);
  if (!was_parked) ObserveIncoming(*entry, entry->place, cause);
}

void QueuePlaces::FlushBackoff(Time now) {
  while (!backoff_.empty() && Backoff::IsOver(backoff_.front()->backoff_expiration, now)) {
    MoveToActive(backoff_.front(), now, Cause::kBackoffComplete);
  }
  while (!error_backoff_.empty() && Backoff::IsOver(error_backoff_.front()->backoff_expiration, now)) {
    MoveToActive(error_backoff_.front(), now, Cause::kBackoffComplete);
  }
}

void QueuePlaces::Reorder(Entry* entry) {
  entry->place == Place::kActive ? active_.Reorder(entry, KeyOf(*entry)) : backoff_.Reorder(entry, KeyOf(*entry));
}

void QueuePlaces::AdmitMember(PodGroupEntity& group, Entry* member) {
  // A gated group is checked again at the event that follows.
  if (IsParked(*group.entry) || gate_.AdmitsAll(group.entry, {&member, 1}))
    return ObserveGroup(group, group.entry->place, Cause::kPodAdd, false);
  Detach(group.entry);
  parked_.Park(group.entry);
  ObserveGroup(group, group.entry->place, Cause::kPodAdd, true);
}

std::optional<Time> QueuePlaces::NextWake() const {
  Time next = Time::max();
  if (!backoff_.empty()) next = std::min(next, Backoff::End(backoff_.front()->backoff_expiration));
  if (!error_backoff_.empty()) next = std::min(next, Backoff::End(error_backoff_.front()->backoff_expiration));
  if (const std::optional<Time> flush = parked_.NextFlush()) next = std::min(next, *flush);
  return next == Time::max() ? std::nullopt : std::optional(next);
}

void QueuePlaces::ObserveIncoming(const Entry& entry, Place place, Cause cause) {
  if (logs_moves_) LogMove(entry, place, cause);
  if (entry.is_traced) [[unlikely]]
    TraceMove(entry, entry.info.pod->uid, place, cause);
  if (entry.info.is_pod_group) return ObserveGroup(*entry.group, place, cause, true);
  metrics_.ObserveIncoming(place, cause);
}

void QueuePlaces::ObserveGroup(const PodGroupEntity& group, Place place, Cause cause, bool is_moved) {
  if (metrics_.traces() != nullptr) [[unlikely]] {
    for (const Entry* const member : group.members) {
      if (member->is_traced) TraceMove(*group.entry, member->info.pod->uid, place, cause);
    }
  }
  metrics_.ObserveIncomingGroup(place, cause, group.members.size(), group.root.is_composite, is_moved);
}

// `entry` is the record that waits: the pod's, or its group's.
void QueuePlaces::TraceMove(const Entry& entry, std::string_view uid, Place place, Cause cause) const {
  metrics_.traces()->Enter(uid, NameOfWait(place), metrics_.LabelOf(cause), NamesOf(entry.rejector_set, rejectors_));
}

void QueuePlaces::LogMove(const Entry& entry, Place place, Cause cause) const {
  if (!metrics_.is_on()) return;
  LogDestination(entry, place, cause);
  if (cause == Cause::kScheduleAttemptFailure) LogFailedAttempt(entry, place);
}

// As upstream: level 5 and the source name of the destination queue. kube-scheduler 1.36 has such a line for pods
// alone.
void QueuePlaces::LogDestination(const Entry& entry, Place place, Cause cause) const {
  const bool is_active = place == Place::kActive;
  const bool is_backoff = IsBackoff(place);
  const log::Detail detail{5, is_active ? "active_queue" : is_backoff ? "backoff_queue" : "scheduling_queue"};
  // A refused pod that goes on to wait has only the line of its failed attempt.
  if (place == Place::kUnschedulable && cause == Cause::kScheduleAttemptFailure) return;
  if (!log::Enabled(detail)) return;
  const log::Field event("event", metrics_.LabelOf(cause));
  const log::Field queue("queue", NameOfQueue(place));
  if (metrics_.has_entities()) {
    return log::Info(detail, "queue",
                     place == Place::kGated ? "Entity moved to an internal scheduling queue, because it is gated"
                                            : "Entity moved to an internal scheduling queue",
                     {TypeOf(entry), {"entity", EntityOf(entry)}, event, queue});
  }
  if (entry.info.is_pod_group) return;
  log::Info(detail, "queue",
            place == Place::kGated ? "Pod moved to an internal scheduling queue, because the pod is gated"
                                   : "Pod moved to an internal scheduling queue",
            {{"pod", entry.info.pod->Key()}, event, queue});
}

void QueuePlaces::LogFailedAttempt(const Entry& entry, Place place) const {
  const log::Detail detail{3, "scheduling_queue"};
  if (!log::Enabled(detail)) return;
  const log::Field event("event", metrics_.LabelOf(Cause::kScheduleAttemptFailure));
  const log::Field queue("queue", NameOfQueue(place));
  const log::Field cycle("schedulingCycle", cycle_count_);
  const log::Field plugins("unschedulable plugins", NamesOf(entry.rejector_set, rejectors_));
  if (entry.info.is_pod_group) {
    if (!metrics_.has_entities()) return;
    return log::Info(detail, "queue", "Pod group moved to an internal scheduling queue",
                     {{"podGroup", EntityOf(entry)}, event, queue, cycle, plugins});
  }
  const Strategy hint = place == Place::kActive ? Strategy::kImmediately
                        : IsBackoff(place)      ? Strategy::kAfterBackoff
                                                : Strategy::kSkip;
  log::Info(detail, "queue", "Pod moved to an internal scheduling queue",
            {{"pod", entry.info.pod->Key()}, event, queue, cycle, {"hint", static_cast<int>(hint)}, plugins});
}

void QueuePlaces::LogUpdate(const Entry& entry, const framework::PodInfo& pod, Cause cause) const {
  const log::Detail detail{5, "scheduling_queue"};
  if (!logs_moves_ || !metrics_.is_on() || !log::Enabled(detail)) return;
  const log::Field updated("pod", pod.Key());
  const log::Field event("event", metrics_.LabelOf(cause));
  const log::Field queue("queue", NameOfQueue(entry.place));
  if (metrics_.has_entities()) {
    return log::Info(detail, "queue", "Entity moved to an internal scheduling queue because the Pod is updated",
                     {TypeOf(entry), {"entity", EntityOf(entry)}, updated, event, queue});
  }
  if (entry.info.is_pod_group) return;
  log::Info(detail, "queue", "Pod moved to an internal scheduling queue because the Pod is updated",
            {updated, event, queue});
}

}  // namespace berth::queue
