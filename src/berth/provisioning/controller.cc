// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/controller.h"

#include <algorithm>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/base/utf8.h"

namespace berth::provisioning {
namespace {

// Upstream's reasons and messages (cluster-autoscaler's provisioningrequest/conditions).
constexpr std::string_view kAcceptedReason = "Accepted";
constexpr std::string_view kFoundReason = "CapacityIsFound";
constexpr std::string_view kFoundMessage = "Capacity is found in the cluster";
constexpr std::string_view kNotFoundReason = "CapacityIsNotFound";
constexpr std::string_view kNoPodsReason = "FailedToCreatePods";
constexpr std::string_view kOverReason = "CapacityReservationTimeExpired";
constexpr std::string_view kOverMessage = "Capacity reservation time is expired";
constexpr std::string_view kExpiredReason = "Expired";
constexpr std::string_view kExpiredMessage = "ProvisioningRequest is expired";
// These are berth's own.
constexpr std::string_view kRevokedReason = "CapacityIsRevoked";
constexpr std::string_view kMovedReason = "CapacityIsMoved";

// Objects have seconds.
Time Seconds(Time time) { return std::chrono::floor<std::chrono::seconds>(time); }

bool IsEnded(const ProvisioningRequest& request) {
  return request.Is(kFailed) || request.Is(kBookingExpired) || request.Is(kCapacityRevoked);
}

bool IsRetried(const ProvisioningRequest& request) {
  const auto no_retry = request.parameters.find(kNoRetry);
  return no_retry == request.parameters.end() || no_retry->second != "true";
}

Places PlacesIn(const scheduler::BookingReport& report) {
  Places places;
  for (const scheduler::BookedSet& set : report.sets) places.push_back(set.nodes);
  return places;
}

}  // namespace

Controller::Controller(ControllerOutside& outside, ControllerOptions options)
    : outside_(outside),
      options_(std::move(options)),
      bookings_(options_.metrics->GetGauge("berth_provisioning_promises",
                                           "ProvisioningRequests whose room is kept now.", {})),
      pods_(options_.metrics->GetGauge("berth_provisioning_promised_pods",
                                       "Pods that the ProvisioningRequests whose room is kept asked for.", {})) {
  outside_.Push(scheduler::BookingsKept{kPodsMax});
}

// --- Requests ---

void Controller::SetRequest(RequestPtr request, Time now) {
  const std::string key = request->Key();
  const bool is_ours = IsForProcessor(*request, options_.instance) &&
                       (options_.namespaces.empty() || options_.namespaces.contains(request->namespace_name));
  const auto known = entries_.find(key);
  if (known != entries_.end() && (!is_ours || known->second.request->uid != request->uid)) RequestGone(key);
  if (!is_ours) return;
  const auto [at, is_new] = entries_.try_emplace(key);
  Entry& entry = at->second;
  entry.request = std::move(request);
  if (is_new) {
    entry.seen_at = entry.due = now;
    SayUnknownParameters(*entry.request);
  }
  if (IsEnded(*entry.request) && entry.phase != Phase::kEnded) {
    Release(entry);
    entry.phase = Phase::kEnded;
    entry.draft = {};
  }
  if (is_leading_ && entry.phase == Phase::kWaiting && entry.request->Is(kProvisioned)) Restore(entry, now);
  Plan(entry);
  Tick(now);
}

// What a request says in vain is said once, in the log.
void Controller::SayUnknownParameters(const ProvisioningRequest& request) const {
  for (const auto& [name, value] : request.parameters) {
    if (name == kProcessorInstance || (name == kNoRetry && (value == "true" || value == "false"))) continue;
    log::Warning("provisioning", "A parameter is ignored",
                 {{"request", request.Key()},
                  {"parameter", name},
                  {"value", value},
                  {"known", R"(processorInstance, and noRetry with "true" or "false")"}});
  }
}

void Controller::RequestGone(std::string_view key) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  Release(entry->second);
  agenda_.Remove(key);
  entries_.erase(entry);
}

// Enters what is due for the request, and when.
void Controller::Plan(const Entry& entry) {
  const auto says_end = [](const Draft& draft) {
    return std::ranges::find(draft.conditions, kBookingExpired, &Condition::type) != draft.conditions.end();
  };
  Plans plans;
  plans.is_asked = entry.phase == Phase::kAsked;
  if (entry.phase == Phase::kWaiting) plans.check = entry.due;
  if (entry.phase == Phase::kBooked && !says_end(entry.draft) && !says_end(entry.sent)) plans.end = entry.end;
  if (!entry.draft.empty() && entry.sent.empty()) plans.write = entry.write_at;
  agenda_.Set(entry.request->Key(), entry.request->creation_time, plans);
}

// Counts the pods of a promise; none: it has ended.
void Controller::SetBooked(const std::string& key, std::uint64_t pods) {
  const auto known = booked_pods_.try_emplace(key, 0).first;
  booked_pods_sum_ += pods - known->second;
  known->second = pods;
  if (pods == 0) booked_pods_.erase(known);
  bookings_.Set(static_cast<double>(booked_pods_.size()));
  pods_.Set(static_cast<double>(booked_pods_sum_));
}

// Ends the promise in the core.
void Controller::Release(Entry& entry) {
  if (entry.phase != Phase::kAsked && entry.phase != Phase::kBooked) return;
  outside_.Push(scheduler::BookingEnded{entry.request->Key(), entry.request->uid});
  SetBooked(entry.request->Key(), 0);
}

void Controller::Lead(Time now) {
  if (std::exchange(is_leading_, true)) return;
  std::vector<Entry*> promised;
  for (auto& [key, entry] : entries_) {
    if (entry.phase == Phase::kWaiting && entry.request->Is(kProvisioned)) promised.push_back(&entry);
  }
  std::ranges::stable_sort(promised, {},
                           [](const Entry* entry) { return entry->request->Find(kProvisioned)->transition_time; });
  for (Entry* const entry : promised) {
    Restore(*entry, now);
    Plan(*entry);
  }
  Tick(now);
}

void Controller::Restore(Entry& entry, Time now) {
  const ProvisioningRequest& request = *entry.request;
  entry.end = request.Find(kProvisioned)->transition_time + kBookedFor;
  entry.phase = Phase::kBooked;
  if (Wall(now) >= entry.end) return;  // Tick() ends it
  auto asked = PodsOf(request, sources_, PlacesOf(request.details, request.pod_sets.size()));
  if (!asked.ok()) return Revoke(entry, "the pods cannot be made after a restart: " + asked.error().message, now);
  asked->is_restored = true;
  entry.is_restored = true;
  entry.phase = Phase::kAsked;
  outside_.Push(*std::move(asked));
}

// Asks the core whether the request's pods have room.
void Controller::Check(Entry& entry, Time now) {
  const ProvisioningRequest& request = *entry.request;
  if (Wall(now) - request.creation_time > kRequestedFor && request.creation_time != Time{})
    return Fail(entry, kExpiredReason, std::string(kExpiredMessage), now);
  auto asked = PodsOf(request, sources_, {});
  if (asked.ok()) {
    entry.phase = Phase::kAsked;
    entry.is_restored = false;
    return outside_.Push(*std::move(asked));
  }
  if (asked.error().code == ErrorCode::kNotFound && now - entry.seen_at < kTemplateGrace) {
    entry.due = now + kRetryMin;
    return;
  }
  Fail(entry, kNoPodsReason, asked.error().message, now);
}

// --- Answers of the core ---

void Controller::Take(const scheduler::BookingReport& report, Time now) {
  const auto at = entries_.find(report.request);
  if (at == entries_.end() || at->second.request->uid != report.uid) return;
  Entry& entry = at->second;
  using enum scheduler::BookingState;
  switch (report.state) {
    case kBooked:
      if (entry.phase == Phase::kAsked) Booked(entry, report, now);
      break;
    case kRefused:
      if (entry.phase == Phase::kAsked) Refused(entry, report.why, now);
      break;
    case kMoved:
      if (entry.phase != Phase::kBooked) break;
      entry.draft.details = DetailsOf(PlacesIn(report));
      outside_.RecordEvent(*entry.request, false, std::string(kMovedReason),
                           "The room is kept on other nodes: " + report.why);
      break;
    case kLost:
      if (entry.phase == Phase::kBooked) Revoke(entry, report.why, now);
      break;
  }
  Plan(entry);
  Tick(now);
}

void Controller::Booked(Entry& entry, const scheduler::BookingReport& report, Time now) {
  entry.phase = Phase::kBooked;
  entry.refusals = 0;
  std::uint64_t pods = 0;
  for (const scheduler::BookedSet& set : report.sets) pods += set.count;
  SetBooked(report.request, pods);
  auto details = DetailsOf(PlacesIn(report));
  if (entry.is_restored) {
    const bool is_moved =
        PlacesOf(details, report.sets.size()) != PlacesOf(entry.request->details, entry.request->pod_sets.size());
    if (is_moved) entry.draft.details = std::move(details);
    return Count("restored");
  }
  entry.end = Seconds(Wall(now)) + kBookedFor;
  Add(entry, kAccepted, true, kAcceptedReason, "ProvisioningRequest is accepted by berth", now);
  Add(entry, kProvisioned, true, kFoundReason, std::string(kFoundMessage), now);
  entry.draft.details = std::move(details);
  Count("provisioned");
}

void Controller::Refused(Entry& entry, const std::string& why, Time now) {
  if (entry.is_restored) return Revoke(entry, "after a restart there is no room any more: " + why, now);
  if (!IsRetried(*entry.request)) return Fail(entry, kNotFoundReason, "Capacity is not found: " + why, now);
  entry.phase = Phase::kWaiting;
  entry.due = now + Doubled(kRetryMin, kRetryMax, entry.refusals++);
  Add(entry, kAccepted, true, kAcceptedReason, "ProvisioningRequest is accepted by berth", now);
  Add(entry, kProvisioned, false, kNotFoundReason, "Capacity is not found, berth will try to find it later: " + why,
      now);
  Count("not_found");
}

// The room is not kept any more. A promise that nobody has read yet was never given.
void Controller::Revoke(Entry& entry, const std::string& why, Time now) {
  SetBooked(entry.request->Key(), 0);
  const bool is_read = entry.request->Is(kProvisioned) || !entry.sent.empty();
  if (!is_read) {
    entry.draft = {};
    entry.phase = Phase::kWaiting;
    entry.due = now + kRetryMin;
    return;
  }
  entry.phase = Phase::kEnded;
  Add(entry, kCapacityRevoked, true, kRevokedReason, "The room is not kept any more: " + why, now);
  outside_.RecordEvent(*entry.request, true, std::string(kCapacityRevoked), "The room is not kept any more: " + why);
  log::Warning("provisioning", "Promised room is lost", {{"request", entry.request->Key()}, {"why", why}});
  Count("revoked");
}

void Controller::Fail(Entry& entry, std::string_view reason, const std::string& why, Time now) {
  entry.phase = Phase::kEnded;
  Add(entry, kAccepted, true, kAcceptedReason, "ProvisioningRequest is accepted by berth", now);
  Add(entry, kFailed, true, reason, why, now);
  outside_.RecordEvent(*entry.request, true, std::string(reason), why);
  Count("failed");
}

// --- Writes ---

void Controller::Add(Entry& entry, std::string_view type, bool is_true, std::string_view reason, std::string message,
                     Time now) {
  if (message.size() > kMessageBytesMax) message = CutUtf8(message, kMessageBytesMax);
  Condition condition{std::string(type),  is_true ? "True" : "False", std::string(reason),
                      std::move(message), entry.request->generation,  Seconds(Wall(now))};
  std::vector<Condition>& drafted = entry.draft.conditions;
  std::erase_if(drafted, [&](const Condition& each) { return each.type == type; });
  const Condition* const written = entry.sent.empty() ? entry.request->Find(type) : nullptr;
  if (written != nullptr && written->status == condition.status && written->reason == condition.reason &&
      written->message == condition.message)
    return;
  drafted.push_back(std::move(condition));
}

void Controller::Send(Entry& entry) {
  std::vector<Condition> conditions = entry.request->conditions;
  for (const Condition& each : entry.draft.conditions) SetCondition(conditions, each);
  outside_.PatchStatus(
      *entry.request,
      StatusPatch(*entry.request, conditions, entry.draft.details ? *entry.draft.details : entry.request->details));
  entry.sent = std::exchange(entry.draft, {});
}

void Controller::Written(const std::string& key, const std::string& uid, const std::optional<Error>& error, Time now) {
  const auto at = entries_.find(key);
  if (at == entries_.end() || at->second.request->uid != uid) return;
  Entry& entry = at->second;
  Draft sent = std::exchange(entry.sent, {});
  if (!error) {
    entry.write_failures = 0;
    const bool is_over = std::ranges::any_of(
        sent.conditions, [](const Condition& each) { return each.type == kBookingExpired && each.status == "True"; });
    if (is_over && entry.phase == Phase::kBooked) {
      Release(entry);
      entry.phase = Phase::kEnded;
    }
    // The object with what was written comes by the watch; until then nothing is written on top of the old one.
    entry.write_at = now + kWriteRetryMin;
    Plan(entry);
    return Tick(now);
  }
  if (error->code == ErrorCode::kNotFound) return Plan(entry);  // the watch will say that it is gone
  // What was to be written, under what is to be written now. Nothing is written twice: after a conflict, or with an
  // unknown outcome, the watch brings another object first.
  for (Condition& each : sent.conditions) {
    if (std::ranges::find(entry.draft.conditions, each.type, &Condition::type) == entry.draft.conditions.end())
      entry.draft.conditions.push_back(std::move(each));
  }
  if (!entry.draft.details) entry.draft.details = std::move(sent.details);
  entry.write_at = now + Doubled(kWriteRetryMin, kWriteRetryMax, entry.write_failures++);
  Plan(entry);
  log::Warning("provisioning", "Cannot write a request's status", {{"request", key}, {"err", error->message}});
}

// --- Time ---

void Controller::Expire(Entry& entry, Time now) {
  Add(entry, kBookingExpired, true, kOverReason, std::string(kOverMessage), now);
  Count("expired");
}

void Controller::Tick(Time now) {
  if (!is_leading_) return;
  while (agenda_.asked_count() < kAskedMax) {
    const std::optional<std::string> key = agenda_.FirstCheck(now);
    if (!key) break;
    Entry& entry = entries_.find(*key)->second;
    Check(entry, now);
    Plan(entry);
  }
  for (const std::string& key : agenda_.Ended(Wall(now))) {
    Entry& entry = entries_.find(key)->second;
    Expire(entry, now);
    Plan(entry);
  }
  for (const std::string& key : agenda_.ToWrite(now)) {
    Entry& entry = entries_.find(key)->second;
    Send(entry);
    Plan(entry);
  }
}

std::optional<Time> Controller::NextWake() const {
  if (!is_leading_) return std::nullopt;
  std::optional<Time> wake = agenda_.NextWrite();
  const auto note = [&wake](std::optional<Time> time) {
    if (time && (!wake || *time < *wake)) wake = time;
  };
  if (agenda_.asked_count() < kAskedMax) note(agenda_.NextCheck());
  if (const std::optional<Time> end = agenda_.NextEnd()) note(*end - wall_ahead_);
  return wake;
}

void Controller::Count(std::string_view result) {
  options_.metrics
      ->GetCounter("berth_provisioning_answers_total", "What became of checks of ProvisioningRequests.",
                   {{"result", std::string(result)}})
      .Add();
}

}  // namespace berth::provisioning
