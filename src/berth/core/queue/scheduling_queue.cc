// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/scheduling_queue.h"

#include <algorithm>

#include "berth/core/instruments/pod_traces.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/event_moves.h"
#include "berth/core/queue/pod_group_queue.h"
#include "berth/core/queue/pod_standing.h"
#include "berth/core/queue/pre_enqueue_gate.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/core/queue/queue_places.h"
#include "berth/core/queue/queue_records.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/update_events.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::PodInfo;
using framework::PodInfoPtr;

// Moves a pod whatever had refused it.
constexpr ClusterEvent kWildcardEvent{};

}  // namespace

class SchedulingQueue::Impl final : private EntityPlaces {
 public:
  Impl(const Options& options, const framework::QueueSortPlugin& sort,
       absl::flat_hash_map<std::string, ProfileHooks> profiles)
      : nominates_gated_pods(options.nominates_gated_pods),
        counts_from_flush(options.wildcards_reach_gated_pods),
        rejectors(std::move(profiles), options.wildcards_reach_gated_pods),
        records(rejectors, metrics),
        places(options, sort, records, rejectors, metrics),
        moves(rejectors, records, places.parked(), nominator) {}

  void Erase(Entry* entry) {
    places.Detach(entry);
    records.Free(entry);
  }

  void Add(PodInfoPtr pod, Time now) {
    const std::size_t uid_hash = ByUid::HashOf(pod->uid);
    if (records.by_uid().Find(pod->uid, uid_hash) != nullptr) return Update(nullptr, std::move(pod), now);
    // A queued pod of the same name has been deleted and created again, and the deletion was missed.
    const ByName::Key name = ByName::KeyOf(*pod);
    const std::size_t name_hash = ByName::HashOf(name);
    if (Entry* const namesake = records.by_name().Find(name, name_hash); namesake != nullptr) {
      nominator.DeleteNominated(namesake->info.pod->uid);
      Drop(namesake, now);
    }
    Entry* const entry = records.Create(std::move(pod), uid_hash, name_hash);
    entry->info.timestamp = now;
    if (IsMember(*entry->info.pod)) {
      if (!entry->info.pod->nominated_node_name.empty()) nominator.AddNominatedPod(entry->info.pod);
      return groups->Add(entry, false, now);
    }
    const bool is_active = places.MoveToActive(entry, now, Cause::kPodAdd);
    if ((is_active || nominates_gated_pods) && !entry->info.pod->nominated_node_name.empty()) {
      nominator.AddNominatedPod(entry->info.pod);
    }
  }

  void Update(const PodInfoPtr& old_pod, PodInfoPtr pod, Time now) {
    Entry* const entry = records.by_uid().Find(pod->uid);
    if (entry == nullptr) return Add(std::move(pod), now);
    if (entry->place == Place::kInFlight) {
      const PodInfoPtr& before = old_pod != nullptr ? old_pod : entry->info.pod;
      for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) {
        places.in_flight().Record(rejectors.InternEvent(event), {.old_pod = before, .new_pod = pod});
      }
      return;
    }
    const PodInfoPtr before = old_pod != nullptr ? old_pod : entry->info.pod;
    const std::string& nomination = pod->nominated_node_name;
    const bool is_nominated_by_others = !nomination.empty() && nomination != nominator.NominatedNode(pod->uid);
    nominator.UpdateNominated(before.get(), pod);
    if (entry->place == kInGroup) return UpdateMember(entry, before, std::move(pod), now);
    if (IsParked(*entry)) {
      UpdateWaiting(entry, entry, before, std::move(pod), now);
      if (is_nominated_by_others) TryNomination(entry, now);
      return;
    }
    records.SetPod(entry, std::move(pod));
    if (entry->place == Place::kActive || entry->place == Place::kBackoff) places.Reorder(entry);
  }

  // Somebody else has nominated the pod for a node. It takes the room, or its next attempt gives the room back to those
  // that wait for it meanwhile.
  void TryNomination(Entry* entry, Time now) {
    if (entry->place != Place::kUnschedulable) return;
    constexpr ClusterEvent kUpdated{framework::EventResource::kUnschedulablePod, framework::action::kUpdate};
    places.Requeue(entry, Strategy::kAfterBackoff, now, EventCause(rejectors.InternEvent(kUpdated)));
  }

  void UpdateMember(Entry* member, const PodInfoPtr& before, PodInfoPtr pod, Time now) {
    Entry* const group = member->group->entry;
    if (!IsParked(*group)) return records.SetPod(member, std::move(pod));
    UpdateWaiting(member, group, before, std::move(pod), now);
  }

  // The update may be what the pod waited for: its rejectors and its gating plugin are asked. `updated` is the pod's
  // record; `entry` is the record that waits, which is the same one or its group's.
  void UpdateWaiting(Entry* updated, Entry* entry, const PodInfoPtr& before, PodInfoPtr pod, Time now) {
    records.SetPod(updated, pod);
    const EventSource source{.old_pod = before, .new_pod = pod};
    for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) {
      const EventId id = rejectors.InternEvent(event);
      const Strategy strategy = rejectors.IsWorthRequeuing(*pod, *entry->rejector_set, id, source);
      metrics.TakeHints(rejectors);
      if (strategy == Strategy::kSkip) continue;
      places.Requeue(entry, strategy, now, EventCause(id));
      if (!IsParked(*entry)) return places.LogUpdate(*entry, *updated->info.pod, EventCause(id));
    }
  }

  void Delete(std::string_view uid, Time now) {
    // `uid` may refer to memory of the pod that is freed with the entry.
    nominator.DeleteNominated(uid);
    Entry* const entry = records.by_uid().Find(uid);
    if (entry != nullptr && entry->place != Place::kInFlight) Drop(entry, now);
  }

  // Removes a waiting pod.
  void Drop(Entry* entry, Time now) {
    PodGroupEntity* const group = entry->place == kInGroup && entry->group->members.size() > 1 ? entry->group : nullptr;
    const bool held_group =
        group != nullptr && group->entry->place == Place::kGated && PreEnqueueGate::IsHeldBy(*entry, *group->entry);
    if (entry->is_traced) [[unlikely]]
      metrics.traces()->End(entry->info.pod->uid, "removed");
    Erase(entry);
    if (held_group) Reconsider(*group, now);
  }

  std::optional<QueuedPodInfo> Pop(Time now) {
    places.FlushBackoff(now);
    Entry* const entry = places.Pop();
    if (entry == nullptr) return std::nullopt;
    if (entry->group != nullptr) [[unlikely]] {
      ++entry->info.attempts;
      records.SetRejectors(entry, nullptr);
      popped_group = groups->Pop(entry);
      return popped_group.own;
    }
    return Fly(entry);
  }

  // Puts the pod in flight.
  const QueuedPodInfo& Fly(Entry* entry) {
    records.by_name().Erase(entry);
    ++entry->info.attempts;
    records.SetRejectors(entry, nullptr);
    places.in_flight().Add(entry);
    if (entry->is_traced) [[unlikely]]
      metrics.traces()->Pop(entry->info.pod->uid);
    entry->info.is_sampled = entry->is_traced;
    entry->info.record = entry;
    entry->info.record_sequence = entry->sequence;
    return entry->info;
  }

  bool AddUnschedulable(QueuedPodInfo info, const std::set<std::string>& unschedulable,
                        const std::set<std::string>& pending, Time now) {
    const std::size_t uid_hash = ByUid::HashOf(info.pod->uid);
    Entry* entry = records.by_uid().Find(info.pod->uid, uid_hash);
    if (entry != nullptr && entry->place != Place::kInFlight) return false;
    const ByName::Key name = ByName::KeyOf(*info.pod);
    const std::size_t name_hash = ByName::HashOf(name);
    if (records.by_name().Find(name, name_hash) != nullptr) {
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
      entry = records.Create(info.pod, uid_hash, name_hash);
    } else if (set != nullptr && !is_member) {
      strategy = StrategyAfterFlight(*entry, *info.pod, *set);
    }
    places.Detach(entry);
    entry->info = std::move(info);
    entry->name_hash = name_hash;
    records.by_name().Put(entry);
    entry->profile = profile;
    records.SetRejectors(entry, set);
    records.Renumber(entry);
    if (is_member) {
      groups->Add(entry, true, now);
    } else {
      places.Requeue(entry, strategy, now, Cause::kScheduleAttemptFailure);
    }
    return true;
  }

  // The strongest answer to the events during the attempt.
  Strategy StrategyAfterFlight(const Entry& entry, const PodInfo& pod, RejectorSet& set) {
    if (places.in_flight().HasLostEvents(entry)) return Strategy::kAfterBackoff;
    Strategy best = Strategy::kSkip;
    for (const InFlight::Event& event : places.in_flight().EventsSince(entry)) {
      best = std::max(best, rejectors.IsWorthRequeuing(pod, set, event.id, event.source));
      if (best == Strategy::kImmediately || (best == Strategy::kAfterBackoff && set.pending.empty())) break;
    }
    metrics.TakeHints(rejectors);
    return best;
  }

  void Done(std::string_view uid) {
    Entry* const entry = records.by_uid().Find(uid);
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
    const auto chosen = moves.Choose(event, id, source, limit);
    metrics.TakeHints(rejectors);
    for (const auto& [entry, strategy] : chosen) places.Requeue(entry, strategy, now, EventCause(id));
    places.in_flight().Record(id, source);
  }

  void Activate(std::string_view uid, Time now) {
    Entry* entry = records.by_uid().Find(uid);
    if (entry != nullptr && entry->place == kInGroup) entry = entry->group->entry;
    if (entry == nullptr || entry->place == Place::kActive) return;
    if (entry->place == kIncomplete || entry->place == kPending) return;
    if (entry->place == Place::kInFlight) {
      places.in_flight().Record(rejectors.InternEvent(kWildcardEvent), {.new_pod = entry->info.pod});
    } else {
      places.MoveToActive(entry, now, Cause::kForceActivate);
    }
  }

  void FlushUnschedulable(Time now) {
    due.clear();
    places.parked().Flush(now, due);
    for (const auto& [entry, strategy] : due) {
      entry->info.flushed_from = entry->rejector_set;
      if (counts_from_flush) entry->flushed = now;
      places.Requeue(entry, strategy, now, Cause::kUnschedulableTimeout);
    }
    // Upstream records the flush like an event, so that a pod that is just being refused is tried again as well.
    if (!due.empty()) places.in_flight().Record(rejectors.InternEvent(kWildcardEvent), {});
  }

  const Entry* FindNamed(const ByName::Key& name) const {
    if (const Entry* const waiting = records.by_name().Find(name)) return waiting;
    for (const auto& slot : records.by_uid()) {
      if (slot.entry->place == Place::kInFlight && ByName::KeyOf(*slot.entry->info.pod) == name) return slot.entry;
    }
    return nullptr;
  }

  // ---- Groups ----

  void ScheduleGroups(const framework::PodGroups& all) {
    groups = std::make_unique<PodGroupQueue>(static_cast<EntityPlaces&>(*this), all);
    places.SetGroups(groups.get());
    moves.SetGroups(groups.get());
  }
  bool IsMember(const PodInfo& pod) const { return groups != nullptr && !pod.pod_group_name.empty(); }

  QueuedPodGroup TakePoppedGroup() {
    for (Entry* const member : groups->TakeMembers()) popped_group.members.push_back(Fly(member));
    return std::exchange(popped_group, {});
  }

  Entry* NewRecord(PodInfoPtr pod) override { return records.CreateUnindexed(std::move(pod)); }
  void FreeRecord(Entry* entry) override { records.FreeUnindexed(entry); }
  void LeavePlace(Entry* entry) override { places.Detach(entry); }
  void EnterPlace(Entry* entry, Strategy strategy, Time now, Cause cause) override {
    places.Requeue(entry, strategy, now, cause);
  }
  void AdmitMember(PodGroupEntity& group, Entry* member) override { places.AdmitMember(group, member); }
  void Reconsider(PodGroupEntity& group, Time now) override {
    constexpr ClusterEvent kPodDeleted{framework::EventResource::kUnschedulablePod, framework::action::kDelete};
    if (group.entry->place != Place::kGated) return;
    places.Requeue(group.entry, Strategy::kAfterBackoff, now, EventCause(rejectors.InternEvent(kPodDeleted)));
  }

  QueueMetrics metrics;
  const bool nominates_gated_pods;
  const bool counts_from_flush;
  Rejectors rejectors;
  QueueRecords records;
  QueuePlaces places;
  Nominator nominator;
  EventMoves moves;
  std::vector<std::pair<Entry*, Strategy>> due;  // local to a flush; a member to reuse its memory

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
std::string SchedulingQueue::DescribeRescue(const QueuedPodInfo& bound, Time now) {
  return bound.flushed_from == nullptr ? std::string() : impl_->rejectors.DescribeRescue(*bound.flushed_from, now);
}
void SchedulingQueue::Tick(Time now) {
  impl_->places.FlushBackoff(now);
  impl_->FlushUnschedulable(now);
}
std::optional<Time> SchedulingQueue::NextWake() const { return impl_->places.NextWake(); }

const PodInfoPtr* SchedulingQueue::FindWaiting(std::string_view uid) const {
  const Entry* const entry = impl_->records.by_uid().Find(uid);
  return entry != nullptr && entry->place != Place::kInFlight ? &entry->info.pod : nullptr;
}
LastWrittenStatus* SchedulingQueue::FindLastWritten(std::string_view uid) {
  Entry* const entry = impl_->records.by_uid().Find(uid);
  return entry != nullptr && entry->place != Place::kInFlight ? &entry->info.last_written : nullptr;
}
bool SchedulingQueue::IsInFlight(std::string_view uid) const {
  const Entry* const entry = impl_->records.by_uid().Find(uid);
  return entry != nullptr && entry->place == Place::kInFlight;
}
std::optional<PodStanding> SchedulingQueue::Find(std::string_view uid) const {
  const Entry* const entry = impl_->records.by_uid().Find(uid);
  return entry == nullptr ? std::nullopt : std::optional(StandingOf(*entry, impl_->rejectors));
}
std::optional<PodStanding> SchedulingQueue::FindNamed(std::string_view namespace_name, std::string_view name) const {
  const Entry* const entry = impl_->FindNamed({namespace_name, name});
  return entry == nullptr ? std::nullopt : std::optional(StandingOf(*entry, impl_->rejectors));
}
std::vector<PodStanding> SchedulingQueue::Dump(const PodRange& range) const {
  return StandingsOf(impl_->records.by_uid(), range, impl_->rejectors);
}

std::size_t SchedulingQueue::active_count() const { return impl_->places.active_count(); }
std::size_t SchedulingQueue::backoff_count() const { return impl_->places.backoff_count(); }
std::size_t SchedulingQueue::unschedulable_count() const { return impl_->places.parked().unschedulable_count(); }
std::size_t SchedulingQueue::gated_count() const { return impl_->places.parked().gated_count(); }
std::size_t SchedulingQueue::waiting_group_count() const { return impl_->groups ? impl_->groups->waiting_count() : 0; }

instruments::QueueSizes SchedulingQueue::sizes() const {
  instruments::QueueSizes sizes;
  sizes.entities = {active_count(), backoff_count(), unschedulable_count(), gated_count()};
  if (impl_->groups) impl_->groups->AddSizes(sizes);
  return sizes;
}

std::size_t SchedulingQueue::in_flight_count() const { return impl_->places.in_flight().size(); }
std::size_t SchedulingQueue::in_flight_event_count() const { return impl_->places.in_flight().event_count(); }
bool SchedulingQueue::HasReadyPod() const { return impl_->places.HasReady(); }

Nominator& SchedulingQueue::nominator() { return impl_->nominator; }
const Nominator& SchedulingQueue::nominator() const { return impl_->nominator; }

}  // namespace berth::queue
