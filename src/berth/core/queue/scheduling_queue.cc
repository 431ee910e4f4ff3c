// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/scheduling_queue.h"

#include <algorithm>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/base/prefetch.h"
#include "berth/core/queue/backoff.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/in_flight.h"
#include "berth/core/queue/indexed_heap.h"
#include "berth/core/queue/order.h"
#include "berth/core/queue/pod_group_queue.h"
#include "berth/core/queue/pod_standing.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/run_and_heap.h"
#include "berth/core/queue/unschedulable_pods.h"
#include "berth/core/queue/update_events.h"
#include "berth/framework/guarded.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;

// Moves a pod whatever had refused it.
constexpr ClusterEvent kWildcardEvent{};

Status Ask(const framework::PreEnqueuePlugin& plugin, const PodInfo& pod) {
  Status status = framework::Guarded([&] { return plugin.PreEnqueue(pod); });
  if (status.code() == framework::Code::kError) {
    log::Warning("queue", "A PreEnqueue plugin fails: the pod is held back",
                 {{"plugin", plugin.Name()}, {"pod", pod.Key()}, {"error", status.Message()}});
  }
  return status;
}

}  // namespace

class SchedulingQueue::Impl final : private EntityPlaces {
 public:
  Impl(Options options, const framework::QueueSortPlugin& sort, absl::flat_hash_map<std::string, ProfileHooks> profiles)
      : nominates_gated_pods(options.nominates_gated_pods),
        counts_from_flush(options.wildcards_reach_gated_pods),
        logs_moves(options.logs_moves),
        backoff_policy{options.initial_backoff, options.max_backoff},
        order(sort),
        rejectors(std::move(profiles), options.wildcards_reach_gated_pods),
        active(ActiveLess{&order}),
        backoff(BackoffLess{{&order}}),
        error_backoff(ErrorBackoffLess{}),
        parked(options.unschedulable_max) {}

  // ---- Records ----

  // Makes a record for a pod that has none.
  Entry* Create(PodInfoPtr pod, std::size_t uid_hash, std::size_t name_hash) {
    Entry* const entry = pool.Take();
    entry->info.pod = std::move(pod);
    entry->uid_hash = uid_hash;
    entry->name_hash = name_hash;
    entry->profile = rejectors.FindProfile(entry->info.pod->spec().scheduler_name);
    entry->sequence = ++last_sequence;
    by_uid.Put(entry);
    by_name.Put(entry);
    return entry;
  }

  void Erase(Entry* entry) {
    Detach(entry);
    SetRejectors(entry, nullptr);
    by_uid.Erase(entry);
    by_name.Erase(entry);
    pool.Give(entry);
  }

  // Every change of a pod's rejectors goes through here, which keeps the metrics right.
  void SetRejectors(Entry* entry, RejectorSet* set) {
    RejectorSet* const before = std::exchange(entry->rejector_set, set);
    if (before == set) return;
    if (before != nullptr) metrics.ObserveRefused(*before, *entry->info.pod, -1);
    if (set != nullptr) metrics.ObserveRefused(*set, *entry->info.pod, +1);
  }

  void SetPod(Entry* entry, PodInfoPtr pod) {
    BERTH_DCHECK(entry->info.pod->uid == pod->uid, pod->uid);
    const bool is_waiting = entry->place == Place::kUnschedulable || entry->place == Place::kGated;
    const bool is_moved = is_waiting && entry->info.pod->pod_class != pod->pod_class;
    if (is_moved) entry->rejector_set->Unlink(entry);
    entry->info.pod = std::move(pod);
    if (is_moved) entry->rejector_set->Link(entry);
  }

  // ---- Places ----

  void Detach(Entry* entry) {
    switch (entry->place) {
      case Place::kActive: active.Remove(entry); break;
      case Place::kBackoff: backoff.Remove(entry); break;
      case Place::kErrorBackoff: error_backoff.Remove(entry); break;
      case Place::kUnschedulable:
      case Place::kGated: parked.Unpark(entry); break;
      case Place::kInFlight: in_flight.Remove(entry); break;
      default:
        if (IsPlaceOfMembers(entry->place)) groups->Leave(entry);
        break;
    }
    entry->place = kNowhere;
  }

  // Whether PreEnqueue admits the entry, which must be in no place.
  bool PassesGate(Entry* entry) {
    if (entry->profile == nullptr || entry->profile->hooks.pre_enqueue.empty()) return AskGate(entry);
    const Time began = metrics.BeginPreEnqueue();
    const bool passes = AskGate(entry);
    metrics.ObservePreEnqueue(*entry->profile, *entry->info.pod,
                              passes ? framework::Code::kSuccess : entry->gate.code(), began);
    return passes;
  }

  // Calls the PreEnqueue plugins, beginning with the one that gated the pod last time. A group passes if all its
  // members do.
  bool AskGate(Entry* entry) {
    if (entry->group != nullptr) return AskGate(entry, entry->group->members);
    return AskGate(entry, {&entry, 1});
  }
  bool AskGate(Entry* entry, std::span<Entry* const> pods) {
    const PluginId gating = entry->rejector_set == nullptr ? kNoPlugin : entry->rejector_set->gating;
    const auto is_refused_by = [&](const Entry& pod, std::size_t i) {
      Status status = Ask(*pod.profile->hooks.pre_enqueue[i], *pod.info.pod);
      if (status.IsSuccess()) return false;
      SetRejectors(entry, rejectors.WithGate(pod.profile, entry->rejector_set, pod.profile->pre_enqueue_ids[i]));
      entry->gate = std::move(status);
      return true;
    };
    for (const bool asks_gating : {true, false}) {
      if (asks_gating && gating == kNoPlugin) continue;
      for (const Entry* const pod : pods) {
        if (pod->profile == nullptr) continue;
        const auto& ids = pod->profile->pre_enqueue_ids;
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if ((ids[i] == gating) == asks_gating && is_refused_by(*pod, i)) return false;
        }
      }
    }
    if (gating != kNoPlugin) {
      SetRejectors(entry, rejectors.WithGate(entry->profile, entry->rejector_set, kNoPlugin));
      entry->gate = Status();
    }
    return true;
  }

  static bool IsParked(const Entry& entry) {
    return entry.place == Place::kUnschedulable || entry.place == Place::kGated;
  }

  void ObserveIncoming(const Entry& entry, Place place, Cause cause) {
    if (!entry.info.is_pod_group) {
      if (logs_moves) LogMove(entry, place, cause);
      return metrics.ObserveIncoming(place, cause);
    }
    RecordGroup(*entry.group, place, cause, true);
  }
  // As upstream: level 5 and the source name of the destination queue; after a failed attempt level 3.
  void LogMove(const Entry& entry, Place place, Cause cause) const {
    const bool is_active = place == Place::kActive;
    const bool is_backoff = place == Place::kBackoff || place == Place::kErrorBackoff;
    const bool has_failed = cause == Cause::kScheduleAttemptFailure;
    const log::Detail detail{has_failed ? 3 : 5, has_failed || (!is_active && !is_backoff) ? "scheduling_queue"
                                                 : is_active                               ? "active_queue"
                                                                                           : "backoff_queue"};
    if (!metrics.is_on() || !log::Enabled(detail)) return;
    const log::Field pod("pod", entry.info.pod->Key());
    const log::Field event("event", metrics.LabelOf(cause));
    const log::Field queue("queue", is_active ? "Active" : is_backoff ? "Backoff" : "Unschedulable");
    if (has_failed) {
      const Strategy hint = is_active ? Strategy::kImmediately : is_backoff ? Strategy::kAfterBackoff : Strategy::kSkip;
      return log::Info(detail, "queue", "Pod moved to an internal scheduling queue",
                       {pod,
                        event,
                        queue,
                        {"schedulingCycle", cycle_count},
                        {"hint", static_cast<int>(hint)},
                        {"unschedulable plugins", NamesOf(entry.rejector_set)}});
    }
    log::Info(detail, "queue",
              place == Place::kGated ? "Pod moved to an internal scheduling queue, because the pod is gated"
                                     : "Pod moved to an internal scheduling queue",
              {pod, event, queue});
  }
  std::string NamesOf(const RejectorSet* set) const {
    std::string names;
    if (set == nullptr) return names;
    for (const auto* plugins : {&set->unschedulable, &set->pending}) {
      for (const PluginId plugin : *plugins) names += (names.empty() ? "" : ",") + rejectors.PluginName(plugin);
    }
    return names;
  }
  void RecordGroup(const PodGroupEntity& group, Place place, Cause cause, bool is_moved) {
    metrics.ObserveIncomingGroup(place, cause, group.members.size(), group.root.is_composite, is_moved);
  }

  // Returns whether the pod entered activeQ; otherwise it is gated.
  bool MoveToActive(Entry* entry, Time now, Cause cause) {
    // PreEnqueue admitted pods in back-off before they went there.
    const bool is_from_backoff = entry->place == Place::kBackoff || entry->place == Place::kErrorBackoff;
    const bool was_parked = IsParked(*entry);
    Detach(entry);
    if (!is_from_backoff && !PassesGate(entry)) {
      parked.Park(entry);
      if (!was_parked) ObserveIncoming(*entry, entry->place, cause);
      return false;
    }
    if (!entry->info.initial_attempt_timestamp) entry->info.initial_attempt_timestamp = now;
    entry->place = Place::kActive;
    active.Push(entry, KeyOf(*entry));
    ObserveIncoming(*entry, Place::kActive, cause);
    return true;
  }

  void MoveToBackoff(Entry* entry, Time expiration, Cause cause) {
    const bool was_parked = IsParked(*entry);
    Detach(entry);
    if (!PassesGate(entry)) {
      parked.Park(entry);
      if (!was_parked) ObserveIncoming(*entry, entry->place, cause);
      return;
    }
    entry->backoff_expiration = expiration;
    // No rejectors means that an error brought the pod here. Pop does not take pods of this heap before their back-off
    // is over.
    entry->place = entry->rejector_set == nullptr ? Place::kErrorBackoff : Place::kBackoff;
    entry->rejector_set == nullptr ? error_backoff.Push(entry, KeyOf(*entry)) : backoff.Push(entry, KeyOf(*entry));
    ObserveIncoming(*entry, entry->place, cause);
  }

  void Requeue(Entry* entry, Strategy strategy, Time now, Cause cause) {
    if (strategy == Strategy::kSkip) {
      const bool was_parked = IsParked(*entry);
      Detach(entry);
      parked.Park(entry);
      if (!was_parked) ObserveIncoming(*entry, entry->place, cause);
      return;
    }
    const QueuedPodInfo& info = entry->info;
    const std::int32_t count =
        info.consecutive_errors_count > 0 ? info.consecutive_errors_count : info.unschedulable_count;
    const Time expiration = entry->group == nullptr
                                ? backoff_policy.Expiration(info.timestamp, count)
                                : backoff_policy.ExpirationOfGroup(info.timestamp, count, entry->group->members.size());
    if (strategy == Strategy::kAfterBackoff && !Backoff::IsOver(expiration, now))
      return MoveToBackoff(entry, expiration, cause);
    MoveToActive(entry, now, cause);
  }

  // ---- Calls ----

  void Add(PodInfoPtr pod, Time now) {
    const std::size_t uid_hash = ByUid::HashOf(pod->uid);
    if (by_uid.Find(pod->uid, uid_hash) != nullptr) return Update(nullptr, std::move(pod), now);
    // A queued pod of the same name has been deleted and created again, and the deletion was missed.
    const ByName::Key name = ByName::KeyOf(*pod);
    const std::size_t name_hash = ByName::HashOf(name);
    if (Entry* const namesake = by_name.Find(name, name_hash); namesake != nullptr) {
      nominator.DeleteNominated(namesake->info.pod->uid);
      Drop(namesake, now);
    }
    Entry* const entry = Create(std::move(pod), uid_hash, name_hash);
    entry->info.timestamp = now;
    if (IsMember(*entry->info.pod)) {
      if (!entry->info.pod->nominated_node_name.empty()) nominator.AddNominatedPod(entry->info.pod);
      return groups->Add(entry, false, now);
    }
    const bool is_active = MoveToActive(entry, now, Cause::kPodAdd);
    if ((is_active || nominates_gated_pods) && !entry->info.pod->nominated_node_name.empty()) {
      nominator.AddNominatedPod(entry->info.pod);
    }
  }

  void Update(const PodInfoPtr& old_pod, PodInfoPtr pod, Time now) {
    Entry* const entry = by_uid.Find(pod->uid);
    if (entry == nullptr) return Add(std::move(pod), now);
    if (entry->place == Place::kInFlight) {
      const PodInfoPtr& before = old_pod != nullptr ? old_pod : entry->info.pod;
      for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) {
        in_flight.Record(rejectors.InternEvent(event), {.old_pod = before, .new_pod = pod});
      }
      return;
    }
    const PodInfoPtr before = old_pod != nullptr ? old_pod : entry->info.pod;
    nominator.UpdateNominated(before.get(), pod);
    switch (entry->place) {
      case Place::kActive: SetPod(entry, std::move(pod)); return active.Reorder(entry, KeyOf(*entry));
      case Place::kBackoff: SetPod(entry, std::move(pod)); return backoff.Reorder(entry, KeyOf(*entry));
      case Place::kErrorBackoff: return SetPod(entry, std::move(pod));
      default: break;
    }
    if (!IsPlaceOfMembers(entry->place)) return UpdateWaiting(entry, entry, before, std::move(pod), now);
    if (entry->place == kInGroup) return UpdateMember(entry, before, std::move(pod), now);
    SetPod(entry, std::move(pod));
  }

  void UpdateMember(Entry* member, const PodInfoPtr& before, PodInfoPtr pod, Time now) {
    Entry* const group = member->group->entry;
    if (!IsParked(*group)) return SetPod(member, std::move(pod));
    UpdateWaiting(member, group, before, std::move(pod), now);
  }

  // The update may be what the pod waited for: its rejectors and its gating plugin are asked. `updated` is the pod's
  // record; `entry` is the record that waits, which is the same one or its group's.
  void UpdateWaiting(Entry* updated, Entry* entry, const PodInfoPtr& before, PodInfoPtr pod, Time now) {
    SetPod(updated, pod);
    const EventSource source{.old_pod = before, .new_pod = pod};
    for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) {
      const EventId id = rejectors.InternEvent(event);
      const Strategy strategy = rejectors.IsWorthRequeuing(*pod, *entry->rejector_set, id, source);
      metrics.TakeHints(rejectors);
      if (strategy == Strategy::kSkip) continue;
      Requeue(entry, strategy, now, EventCause(id));
      if (entry->place != Place::kUnschedulable && entry->place != Place::kGated) return;
    }
  }

  void Delete(std::string_view uid, Time now) {
    // `uid` may refer to memory of the pod that is freed with the entry.
    nominator.DeleteNominated(uid);
    Entry* const entry = by_uid.Find(uid);
    if (entry != nullptr && entry->place != Place::kInFlight) Drop(entry, now);
  }

  // Removes a waiting pod.
  void Drop(Entry* entry, Time now) {
    PodGroupEntity* const group = entry->place == kInGroup && entry->group->members.size() > 1 ? entry->group : nullptr;
    const bool held_group =
        group != nullptr && group->entry->place == Place::kGated && IsHeldByGate(*entry, *group->entry);
    Erase(entry);
    if (held_group) Reconsider(*group, now);
  }

  // Whether the plugin that gates the group refuses this member.
  static bool IsHeldByGate(const Entry& member, const Entry& group) {
    if (member.profile == nullptr) return false;
    const auto& ids = member.profile->pre_enqueue_ids;
    const auto gating = std::ranges::find(ids, group.rejector_set->gating);
    if (gating == ids.end()) return false;
    const auto& plugin = *member.profile->hooks.pre_enqueue[static_cast<std::size_t>(gating - ids.begin())];
    return !Ask(plugin, *member.info.pod).IsSuccess();
  }

  std::optional<QueuedPodInfo> Pop(Time now) {
    FlushBackoff(now);
    if (active.empty() && backoff.empty()) return std::nullopt;
    Entry* const entry = active.empty() ? backoff.front() : active.front();
    if (active.empty()) ObserveIncoming(*entry, Place::kActive, Cause::kPopFromBackoff);
    Detach(entry);
    PrefetchNext();
    ++cycle_count;
    if (entry->group != nullptr) [[unlikely]] {
      ++entry->info.attempts;
      SetRejectors(entry, nullptr);
      popped_group = groups->Pop(entry);
      return popped_group.own;
    }
    return Fly(entry);
  }

  // The pods that are popped next may have been added thousands of pods ago. While this pod is scheduled, the next pod
  // and its index slots are prefetched, and the entry of the pod after that.
  void PrefetchNext() {
    if (Entry* const next = active.Next(0)) {
      Prefetch(next->info.pod.get());
      by_uid.Prefetch(next);
      by_name.Prefetch(next);
    }
    if (const Entry* const after = active.Next(1)) Prefetch(after);
  }

  // Puts the pod in flight.
  const QueuedPodInfo& Fly(Entry* entry) {
    by_name.Erase(entry);
    ++entry->info.attempts;
    SetRejectors(entry, nullptr);
    in_flight.Add(entry);
    entry->info.record = entry;
    entry->info.record_sequence = entry->sequence;
    return entry->info;
  }

  // ---- Groups ----

  void ScheduleGroups(const framework::PodGroups& all) {
    groups = std::make_unique<PodGroupQueue>(static_cast<EntityPlaces&>(*this), all);
  }
  bool IsMember(const PodInfo& pod) const { return groups != nullptr && !pod.pod_group_name.empty(); }

  QueuedPodGroup TakePoppedGroup() {
    for (Entry* const member : groups->TakeMembers()) popped_group.members.push_back(Fly(member));
    return std::exchange(popped_group, {});
  }

  Entry* NewRecord(PodInfoPtr pod) override {
    Entry* const entry = pool.Take();
    entry->profile = rejectors.FindProfile(pod->spec().scheduler_name);
    entry->info.pod = std::move(pod);
    entry->sequence = ++last_sequence;
    return entry;
  }
  void FreeRecord(Entry* entry) override {
    SetRejectors(entry, nullptr);
    pool.Give(entry);
  }
  void LeavePlace(Entry* entry) override { Detach(entry); }
  void EnterPlace(Entry* entry, Strategy strategy, Time now, Cause cause) override {
    Requeue(entry, strategy, now, cause);
  }
  void AdmitMember(PodGroupEntity& group, Entry* member) override {
    // A gated group is checked again at the event that follows.
    if (IsParked(*group.entry) || AskGate(group.entry, {&member, 1}))
      return RecordGroup(group, group.entry->place, Cause::kPodAdd, false);
    Detach(group.entry);
    parked.Park(group.entry);
    RecordGroup(group, group.entry->place, Cause::kPodAdd, true);
  }
  void Reconsider(PodGroupEntity& group, Time now) override {
    constexpr ClusterEvent kPodDeleted{framework::EventResource::kUnschedulablePod, framework::action::kDelete};
    if (group.entry->place != Place::kGated) return;
    Requeue(group.entry, Strategy::kAfterBackoff, now, EventCause(rejectors.InternEvent(kPodDeleted)));
  }

  // How the event moves the entry. A group gets the strongest answer of its members.
  Strategy WorthOf(const Entry& entry, EventId event, const EventSource& source) {
    if (entry.group == nullptr) return rejectors.IsWorthRequeuing(*entry.info.pod, *entry.rejector_set, event, source);
    Strategy best = Strategy::kSkip;
    for (const Entry* const member : entry.group->members) {
      best = std::max(best, rejectors.IsWorthRequeuing(*member->info.pod, *entry.rejector_set, event, source));
      if (best == Strategy::kImmediately || (best != Strategy::kSkip && entry.rejector_set->pending.empty())) break;
    }
    return best;
  }

  // Chooses the group that the event is about, if it waits for such an event.
  void ChooseGroup(EventId event, const EventSource& source) {
    PodGroupEntity* group = nullptr;
    for (const PodInfoPtr& pod : {source.new_pod, source.old_pod}) {
      if (group == nullptr && pod != nullptr && !pod->pod_group_name.empty())
        group = groups->FindWaiting(framework::GroupOf(*pod));
    }
    for (const auto& object : {source.new_object, source.old_object}) {
      if (group != nullptr || !object) continue;
      if (const auto* of = std::get_if<std::shared_ptr<const api::PodGroup>>(&*object))
        group = groups->FindWaiting({(*of)->metadata.namespace_name, (*of)->metadata.name, false});
      if (const auto* of = std::get_if<std::shared_ptr<const api::CompositePodGroup>>(&*object))
        group = groups->FindWaiting({(*of)->metadata.namespace_name, (*of)->metadata.name, true});
    }
    if (group == nullptr || !IsParked(*group->entry)) return;
    const Relevance& relevance = rejectors.RelevanceOf(*group->entry->rejector_set, event);
    if (!relevance.reaches_gate || !relevance.is_of_pod_group) return;
    const Strategy strategy = WorthOf(*group->entry, event, source);
    if (strategy != Strategy::kSkip) to_move.emplace_back(group->entry, strategy);
  }

  bool AddUnschedulable(QueuedPodInfo info, const std::set<std::string>& unschedulable,
                        const std::set<std::string>& pending, Time now) {
    const std::size_t uid_hash = ByUid::HashOf(info.pod->uid);
    Entry* entry = by_uid.Find(info.pod->uid, uid_hash);
    if (entry != nullptr && entry->place != Place::kInFlight) return false;
    const ByName::Key name = ByName::KeyOf(*info.pod);
    const std::size_t name_hash = ByName::HashOf(name);
    if (by_name.Find(name, name_hash) != nullptr) {
      if (entry != nullptr) Erase(entry);
      return false;
    }
    const bool is_error = unschedulable.empty() && pending.empty();
    info.consecutive_errors_count = is_error ? info.consecutive_errors_count + 1 : 0;
    if (!is_error) ++info.unschedulable_count;
    const bool is_member = IsMember(*info.pod);
    info.timestamp = now;
    info.flushed_from = nullptr;

    Strategy strategy = Strategy::kAfterBackoff;
    const Profile* const profile = rejectors.FindProfile(info.pod->spec().scheduler_name);
    RejectorSet* const set = rejectors.Intern(profile, unschedulable, pending);
    if (entry == nullptr) {
      entry = Create(info.pod, uid_hash, name_hash);
    } else if (set != nullptr && !is_member) {
      strategy = StrategyAfterFlight(*entry, *info.pod, *set);
    }
    Detach(entry);
    entry->info = std::move(info);
    entry->name_hash = name_hash;
    by_name.Put(entry);
    entry->profile = profile;
    SetRejectors(entry, set);
    entry->sequence = ++last_sequence;
    if (is_member) {
      groups->Add(entry, true, now);
    } else {
      Requeue(entry, strategy, now, Cause::kScheduleAttemptFailure);
    }
    return true;
  }

  // The strongest answer to the events during the attempt.
  Strategy StrategyAfterFlight(const Entry& entry, const PodInfo& pod, RejectorSet& set) {
    if (in_flight.HasLostEvents(entry)) return Strategy::kAfterBackoff;
    Strategy best = Strategy::kSkip;
    for (const InFlight::Event& event : in_flight.EventsSince(entry)) {
      best = std::max(best, rejectors.IsWorthRequeuing(pod, set, event.id, event.source));
      if (best == Strategy::kImmediately || (best == Strategy::kAfterBackoff && set.pending.empty())) break;
    }
    metrics.TakeHints(rejectors);
    return best;
  }

  void Done(std::string_view uid) {
    Entry* const entry = by_uid.Find(uid);
    if (entry != nullptr && entry->place == Place::kInFlight) Erase(entry);
  }

  void Done(const QueuedPodInfo& popped) {
    // Records are reused, but each use has a new sequence number.
    auto* const entry = const_cast<Entry*>(static_cast<const Entry*>(popped.record));
    if (entry == nullptr || entry->sequence != popped.record_sequence) return Done(popped.pod->uid);
    if (entry->place == Place::kInFlight) Erase(entry);
  }

  void Move(const ClusterEvent& event, const EventSource& source, Time now, const MoveLimit& limit) {
    const EventId id = rejectors.InternEvent(event);
    if (!rejectors.IsOfInterest(id)) return;
    // Moving a pod changes the lists that are iterated here, so that pods are collected first.
    to_move.clear();
    nominated_there.reset();
    const Happening happening{id, source, limit, OwnerOf(source.old_pod), OwnerOf(source.new_pod)};
    for (RejectorSet* const set : parked.sets()) {
      const Relevance& relevance = rejectors.RelevanceOf(*set, id);
      if (!relevance.reaches_gate) continue;
      if (relevance.matches.empty() && set->profile != nullptr && !event.IsWildcard()) continue;
      if (relevance.is_of_pod_group && groups != nullptr && !event.IsWildcard()) continue;  // ChooseGroup()
      const bool is_of_class = relevance.is_of_class && !event.IsWildcard();
      for (const WaitingClass& waiting : set->waiting) {
        if (limit.priority_max && waiting.pod_class->priority() > *limit.priority_max) continue;
        if (is_of_class && waiting.first->group == nullptr && !MayHelpClass(waiting, happening)) {
          for (Entry* const entry : NominatedThere(happening)) {
            if (IsParked(*entry) && entry->rejector_set == set && entry->info.pod->pod_class.get() == waiting.pod_class)
              ChooseOne(entry, happening);
          }
          continue;
        }
        for (Entry* entry = waiting.first; entry != nullptr; entry = entry->later) ChooseOne(entry, happening);
      }
    }
    if (groups != nullptr) ChooseGroup(id, source);
    metrics.TakeHints(rejectors);
    for (const auto& [entry, strategy] : to_move) Requeue(entry, strategy, now, EventCause(id));
    in_flight.Record(id, source);
  }

  // The arguments of a call of Move.
  struct Happening {
    EventId id;
    const EventSource& source;
    const MoveLimit& limit;
    const Entry* old_owner;  // the queue's records of the event's pods
    const Entry* new_owner;

    bool IsExcluded(const Entry& entry) const {
      return !limit.excluded_uid.empty() && entry.info.pod->uid == limit.excluded_uid;
    }
  };

  const Entry* OwnerOf(const PodInfoPtr& pod) const {
    return pod == nullptr || parked.empty() ? nullptr : by_uid.Find(pod->uid);
  }

  // The records of pods that are nominated for the node of the event's pod.
  const std::vector<Entry*>& NominatedThere(const Happening& happening) {
    if (nominated_there) return *nominated_there;
    nominated_there.emplace();
    const PodInfo* const pod =
        happening.source.new_pod != nullptr ? happening.source.new_pod.get() : happening.source.old_pod.get();
    if (pod == nullptr || nominator.empty()) return *nominated_there;
    for (const PodInfoPtr& nominated : nominator.PodsForNode(pod->node_or_nomination())) {
      if (Entry* const entry = by_uid.Find(nominated->uid)) nominated_there->push_back(entry);
    }
    return *nominated_there;
  }

  void ChooseOne(Entry* entry, const Happening& happening) {
    if (happening.IsExcluded(*entry)) return;
    const Strategy strategy = WorthOf(*entry, happening.id, happening.source);
    if (strategy != Strategy::kSkip) to_move.emplace_back(entry, strategy);
  }

  // Whether the event helps any pod of the class, apart from those nominated for the event's node, which are asked one
  // by one. Hints that depend on the class treat all pods alike except these and the event's own pods.
  bool MayHelpClass(const WaitingClass& waiting, const Happening& happening) {
    const Entry* const first = waiting.first;
    for (const Entry* owner : {happening.old_owner, happening.new_owner}) {
      if (owner == nullptr || owner->rejector_set != first->rejector_set) continue;
      if (owner->info.pod->pod_class == first->info.pod->pod_class) return true;
    }
    const std::vector<Entry*>& nominated = NominatedThere(happening);
    const Entry* other = first;
    while (other != nullptr && std::ranges::find(nominated, other) != nominated.end()) other = other->later;
    return other != nullptr && rejectors.IsWorthRequeuing(*other->info.pod, *other->rejector_set, happening.id,
                                                          happening.source) != Strategy::kSkip;
  }

  void Activate(std::string_view uid, Time now) {
    Entry* entry = by_uid.Find(uid);
    if (entry != nullptr && entry->place == kInGroup) entry = entry->group->entry;
    if (entry == nullptr || entry->place == Place::kActive) return;
    if (entry->place == kIncomplete || entry->place == kPending) return;
    if (entry->place == Place::kInFlight) {
      in_flight.Record(rejectors.InternEvent(kWildcardEvent), {.new_pod = entry->info.pod});
    } else {
      MoveToActive(entry, now, Cause::kForceActivate);
    }
  }

  void FlushBackoff(Time now) {
    while (!backoff.empty() && Backoff::IsOver(backoff.front()->backoff_expiration, now)) {
      MoveToActive(backoff.front(), now, Cause::kBackoffComplete);
    }
    while (!error_backoff.empty() && Backoff::IsOver(error_backoff.front()->backoff_expiration, now)) {
      MoveToActive(error_backoff.front(), now, Cause::kBackoffComplete);
    }
  }

  void FlushUnschedulable(Time now) {
    to_move.clear();
    parked.Flush(now, to_move);
    for (const auto& [entry, strategy] : to_move) {
      entry->info.flushed_from = entry->rejector_set;
      if (counts_from_flush) entry->flushed = now;
      Requeue(entry, strategy, now, Cause::kUnschedulableTimeout);
    }
    // Upstream records the flush like an event, so that a pod that is just being refused is tried again as well.
    if (!to_move.empty()) in_flight.Record(rejectors.InternEvent(kWildcardEvent), {});
  }

  std::optional<Time> NextWake() const {
    Time next = Time::max();
    if (!backoff.empty()) next = std::min(next, Backoff::End(backoff.front()->backoff_expiration));
    if (!error_backoff.empty()) next = std::min(next, Backoff::End(error_backoff.front()->backoff_expiration));
    if (const std::optional<Time> flush = parked.NextFlush()) next = std::min(next, *flush);
    return next == Time::max() ? std::nullopt : std::optional(next);
  }

  const Entry* FindNamed(const ByName::Key& name) const {
    if (const Entry* const waiting = by_name.Find(name)) return waiting;
    for (const auto& slot : by_uid) {
      if (slot.entry->place == Place::kInFlight && ByName::KeyOf(*slot.entry->info.pod) == name) return slot.entry;
    }
    return nullptr;
  }

  QueueMetrics metrics;
  const bool nominates_gated_pods;
  const bool counts_from_flush;
  const bool logs_moves;
  const Backoff backoff_policy;
  Sort order;
  Rejectors rejectors;
  EntryPool pool;
  EntryIndex<ByUid> by_uid;
  EntryIndex<ByName> by_name;  // does not contain pods in flight
  std::uint64_t last_sequence = 0;
  std::uint64_t cycle_count = 0;  // pods and groups that were popped

  RunAndHeap<Entry, ActiveLess> active;
  IndexedHeap<Entry, BackoffLess> backoff;
  IndexedHeap<Entry, ErrorBackoffLess> error_backoff;
  InFlight in_flight{metrics};
  Nominator nominator;

  UnschedulablePods parked;
  std::vector<std::pair<Entry*, Strategy>> to_move;    // local to a call; a member to reuse its memory
  std::optional<std::vector<Entry*>> nominated_there;  // local to a call of Move; computed on demand

  std::unique_ptr<PodGroupQueue> groups;  // null: pods are scheduled one by one
  QueuedPodGroup popped_group;            // kept from Pop to TakePoppedGroup()
};

SchedulingQueue::SchedulingQueue(Options options, const framework::QueueSortPlugin& sort,
                                 absl::flat_hash_map<std::string, ProfileHooks> profiles)
    : impl_(std::make_unique<Impl>(options, sort, std::move(profiles))) {}
SchedulingQueue::~SchedulingQueue() = default;

void SchedulingQueue::SetMetrics(instruments::SchedulerMetrics& metrics, instruments::Stopwatch& stopwatch) {
  impl_->metrics.Begin(metrics, stopwatch, impl_->rejectors);
  impl_->rejectors.SetStopwatch(stopwatch);
}

void SchedulingQueue::SetPodGroups(const framework::PodGroups& groups) { impl_->ScheduleGroups(groups); }
QueuedPodGroup SchedulingQueue::TakePoppedGroup() { return impl_->TakePoppedGroup(); }
void SchedulingQueue::EndGroup(PodGroupEnd end, Time now) { impl_->groups->End(end, now); }
std::size_t SchedulingQueue::refused_group_count() const { return impl_->groups ? impl_->groups->CountRefused() : 0; }
void SchedulingQueue::PodGroupAdded(const framework::PodGroupKey& group, Time now) {
  if (impl_->groups) impl_->groups->ObjectAdded(group, now);
}
void SchedulingQueue::PodGroupGone(const framework::PodGroupKey& old_root, Time now) {
  if (impl_->groups) impl_->groups->ObjectGone(old_root, now);
}

void SchedulingQueue::Add(PodInfoPtr pod, Time now) { impl_->Add(std::move(pod), now); }
void SchedulingQueue::Update(const PodInfoPtr& old_pod, PodInfoPtr new_pod, Time now) {
  impl_->Update(old_pod, std::move(new_pod), now);
}
void SchedulingQueue::Delete(std::string_view uid, Time now) { impl_->Delete(uid, now); }
std::optional<QueuedPodInfo> SchedulingQueue::Pop(Time now) { return impl_->Pop(now); }
bool SchedulingQueue::AddUnschedulable(QueuedPodInfo info, const std::set<std::string>& unschedulable_plugins,
                                       const std::set<std::string>& pending_plugins, Time now) {
  return impl_->AddUnschedulable(std::move(info), unschedulable_plugins, pending_plugins, now);
}
void SchedulingQueue::Done(std::string_view uid) { impl_->Done(uid); }
void SchedulingQueue::Done(const QueuedPodInfo& popped) { impl_->Done(popped); }
void SchedulingQueue::Move(const ClusterEvent& event, const EventSource& source, Time now, const MoveLimit& limit) {
  impl_->Move(event, source, now, limit);
}
void SchedulingQueue::Activate(std::span<const std::string> uids, Time now) {
  for (const std::string& uid : uids) impl_->Activate(uid, now);
}
std::string SchedulingQueue::TellRescue(const QueuedPodInfo& bound, Time now) {
  return bound.flushed_from == nullptr ? std::string() : impl_->rejectors.TellRescue(*bound.flushed_from, now);
}
void SchedulingQueue::Tick(Time now) {
  impl_->FlushBackoff(now);
  impl_->FlushUnschedulable(now);
}
std::optional<Time> SchedulingQueue::NextWake() const { return impl_->NextWake(); }

const PodInfoPtr* SchedulingQueue::FindWaiting(std::string_view uid) const {
  const Entry* const entry = impl_->by_uid.Find(uid);
  return entry != nullptr && entry->place != Place::kInFlight ? &entry->info.pod : nullptr;
}
StatusTold* SchedulingQueue::FindTold(std::string_view uid) {
  Entry* const entry = impl_->by_uid.Find(uid);
  return entry != nullptr && entry->place != Place::kInFlight ? &entry->info.told : nullptr;
}
bool SchedulingQueue::IsInFlight(std::string_view uid) const {
  const Entry* const entry = impl_->by_uid.Find(uid);
  return entry != nullptr && entry->place == Place::kInFlight;
}
std::optional<PodStanding> SchedulingQueue::Find(std::string_view uid) const {
  const Entry* const entry = impl_->by_uid.Find(uid);
  return entry == nullptr ? std::nullopt : std::optional(StandingOf(*entry, impl_->rejectors));
}
std::optional<PodStanding> SchedulingQueue::FindNamed(std::string_view namespace_name, std::string_view name) const {
  const Entry* const entry = impl_->FindNamed({namespace_name, name});
  return entry == nullptr ? std::nullopt : std::optional(StandingOf(*entry, impl_->rejectors));
}
std::vector<PodStanding> SchedulingQueue::Dump(const PodRange& range) const {
  return StandingsOf(impl_->by_uid, range, impl_->rejectors);
}

std::size_t SchedulingQueue::active_count() const { return impl_->active.size(); }
std::size_t SchedulingQueue::backoff_count() const { return impl_->backoff.size() + impl_->error_backoff.size(); }
std::size_t SchedulingQueue::unschedulable_count() const { return impl_->parked.unschedulable_count(); }
std::size_t SchedulingQueue::gated_count() const { return impl_->parked.gated_count(); }
std::size_t SchedulingQueue::waiting_group_count() const { return impl_->groups ? impl_->groups->waiting_count() : 0; }

instruments::QueueSizes SchedulingQueue::sizes() const {
  instruments::QueueSizes sizes;
  sizes.entities = {active_count(), backoff_count(), unschedulable_count(), gated_count()};
  if (impl_->groups) impl_->groups->AddSizes(sizes);
  return sizes;
}

std::size_t SchedulingQueue::in_flight_count() const { return impl_->in_flight.size(); }
std::size_t SchedulingQueue::in_flight_event_count() const { return impl_->in_flight.event_count(); }
bool SchedulingQueue::HasReadyPod() const { return !impl_->active.empty() || !impl_->backoff.empty(); }

Nominator& SchedulingQueue::nominator() { return impl_->nominator; }
const Nominator& SchedulingQueue::nominator() const { return impl_->nominator; }

}  // namespace berth::queue
