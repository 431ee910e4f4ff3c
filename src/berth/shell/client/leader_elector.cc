// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/leader_elector.h"

#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include "berth/base/log.h"
#include "berth/codec/json.h"

namespace berth::client {
namespace {

using codec::json::object;

constexpr std::string_view kPrefix = "/apis/coordination.k8s.io/v1";

std::string NameOf(const LeaderElectorOptions& options) { return options.namespace_name + '/' + options.name; }

net::Request RequestFor(const LeaderElectorOptions& options, std::string method, std::string body = {}) {
  net::Request request;
  const bool is_create = method == "POST";
  request.method = std::move(method);
  request.target = ObjectPath(kPrefix, options.namespace_name, "leases", is_create ? "" : options.name);
  request.body = std::move(body);
  return request;
}

std::int64_t WholeSeconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// A core/v1 Event as client-go's legacy recorder writes it, which kube-scheduler uses for its lease.
std::string EventJson(const LeaderElectorOptions& options, const Lease& lease, std::string_view what, Time wall) {
  char suffix[24];
  std::snprintf(suffix, sizeof(suffix), "%llx",
                static_cast<unsigned long long>(wall.time_since_epoch().count()) * 1000ULL);
  object involved{{"apiVersion", "coordination.k8s.io/v1"},
                  {"kind", "Lease"},
                  {"namespace", options.namespace_name},
                  {"name", options.name},
                  {"resourceVersion", lease.resource_version()}};
  if (!lease.uid().empty()) involved["uid"] = lease.uid();
  return codec::WriteJson(
      object{{"apiVersion", "v1"},
             {"kind", "Event"},
             {"metadata", object{{"namespace", options.namespace_name}, {"name", options.name + '.' + suffix}}},
             {"involvedObject", std::move(involved)},
             {"reason", "LeaderElection"},
             {"message", options.identity + ' ' + std::string(what)},
             {"source", object{{"component", options.component}}},
             {"firstTimestamp", FormatRfc3339(wall)},
             {"lastTimestamp", FormatRfc3339(wall)},
             {"count", 1},
             {"type", "Normal"},
             {"reportingComponent", options.component},
             {"reportingInstance", ""}});
}

}  // namespace

Expected<void> LeaderElectorOptions::Check() const {
  if (lease_duration <= renew_deadline) return InvalidError("leaseDuration must be greater than renewDeadline");
  if (renew_deadline <= std::chrono::duration_cast<Duration>(retry_period * LeaderElector::kJitterFactor)) {
    return InvalidError("renewDeadline must be greater than retryPeriod*JitterFactor");
  }
  if (retry_period < Duration(1)) return InvalidError("retryPeriod must be greater than zero");
  if (lease_duration < std::chrono::seconds(1)) {
    return InvalidError("leaseDuration must be at least 1s: a Lease counts whole seconds");
  }
  if (identity.empty()) return InvalidError("Lock identity is empty");
  return {};
}

LeaderElector::LeaderElector(RestClient& rest, std::shared_ptr<net::WriteFence> fence, LeaderElectorOptions options,
                             Callbacks callbacks)
    : rest_(rest),
      fence_(std::move(fence)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      random_(options_.seed) {}

LeaderElector::~LeaderElector() {
  *alive_ = false;
  if (cancel_pause_) cancel_pause_();
  if (cancel_deadline_) cancel_deadline_();
}

void LeaderElector::Start() {
  rest_.loop().Dispatch([this, alive = alive_] {
    if (!*alive || state_ != State::kIdle) return;
    state_ = State::kStandby;
    log::Info("client", "Attempting to acquire leader lease...",
              {{"lock", NameOf(options_)}, {"identity", options_.identity}});
    Try();
  });
}

bool LeaderElector::IsHealthy(Duration tolerance) const {
  if (!is_leader_) return true;
  return Now() - Time(Duration(renewed_at_.load())) <= options_.lease_duration + tolerance;
}

// ---- attempts

void LeaderElector::Try() {
  cancel_pause_ = nullptr;
  if (state_ == State::kLeading && Now() >= Deadline()) return Lose("it was not renewed in time");
  if (!lease_ || !IsOurs(observed_) || Now() >= ObservedEnd()) return Get();
  LeaseRecord record = NewRecord();
  record.acquire_time = observed_.acquire_time;
  record.lease_transitions = observed_.lease_transitions;
  Write(Step::kRenewing, std::move(record));
}

LeaseRecord LeaderElector::NewRecord() const {
  const std::string now = FormatRfc3339Micro(rest_.loop().WallNow());
  return {options_.identity, WholeSeconds(options_.lease_duration), now, now, 0};
}

void LeaderElector::Send(Step step, net::Request request, Answer answer) {
  step_ = step;
  sent_at_ = Now();
  // The timeout is that of client-go: after one request that hangs there is time for another.
  Duration timeout = std::max<Duration>(std::chrono::seconds(1), options_.renew_deadline / 2);
  if (state_ == State::kLeading) timeout = std::clamp(Deadline() - sent_at_, Duration(1000), timeout);
  rest_.Do(std::move(request), {.timeout = timeout, .tries = 1, .body_bytes_max = kLeaseBytesMax},
           [this, alive = alive_, number = ++request_, answer](Expected<net::Response> response) {
             if (*alive && number == request_) (this->*answer)(std::move(response));
           });
}

void LeaderElector::Get() { Send(Step::kGetting, RequestFor(options_, "GET"), &LeaderElector::OnGot); }

void LeaderElector::Write(Step step, LeaseRecord record) {
  lease_->SetRecord(std::move(record));
  const char* const method = step == Step::kCreating ? "POST" : "PUT";
  Send(step, RequestFor(options_, method, lease_->Json()), &LeaderElector::OnStored);
}

void LeaderElector::OnGot(Expected<net::Response> answer) {
  if (!answer.ok() && answer.error().code == ErrorCode::kNotFound) return OnMissing();
  if (!answer.ok()) return Fail(answer.error());
  auto parsed = Lease::Parse(answer->body);
  if (!parsed.ok()) return Fail(parsed.error());
  lease_ = *std::move(parsed);
  LeaseRecord record = lease_->record();
  const std::string& holder = record.holder_identity;
  if (state_ == State::kLeading && !IsOurs(record)) {
    // Somebody may have emptied the record by hand. It can be taken again as long as nobody else has held it since.
    const bool is_untouched = holder.empty() && record.lease_transitions == observed_.lease_transitions;
    if (!is_untouched) return Lose(holder.empty() ? "another has held it" : holder + " holds it");
  }
  if (record != observed_) {
    observed_ = record;
    observed_at_ = Now();
  }
  if (!holder.empty() && !IsOurs(record) && Now() < ObservedEnd()) {
    if (holder != logged_holder_ && MayLog()) {
      logged_holder_ = holder;
      log::Info("client", "Standing by: another holds the lease", {{"lock", NameOf(options_)}, {"holder", holder}});
    }
    const auto least = std::chrono::duration_cast<Duration>(options_.retry_period / (1 + kJitterFactor));
    return Pause(std::min(RandomBetween(least, options_.retry_period), ObservedEnd() - Now()));
  }
  LeaseRecord wanted = NewRecord();
  wanted.lease_transitions = record.lease_transitions + (IsOurs(record) ? 0 : 1);
  if (IsOurs(record)) {
    if (!record.acquire_time.empty()) wanted.acquire_time = record.acquire_time;
    ++slow_path_count_;
  }
  Write(Step::kUpdating, std::move(wanted));
}

void LeaderElector::OnMissing() {
  // The Lease was deleted while another process held it. That process goes on until it notices.
  const bool may_be_held = !observed_.holder_identity.empty() && !IsOurs(observed_) && Now() < ObservedEnd();
  if (may_be_held) return Pause(std::min(options_.retry_period, ObservedEnd() - Now()));
  lease_.emplace(options_.namespace_name, options_.name);
  Write(Step::kCreating, NewRecord());
}

void LeaderElector::OnStored(Expected<net::Response> answer) {
  if (!answer.ok()) {
    // Somebody has changed the Lease, or the answer was lost. Its present content decides what follows.
    if (step_ == Step::kRenewing) return Get();
    return Fail(answer.error());
  }
  auto parsed = Lease::Parse(answer->body);
  if (!parsed.ok()) return Fail(parsed.error());
  if (!IsOurs(parsed->record())) {
    return Fail(InvalidError("the server has stored another holder than was sent: \"" +
                             parsed->record().holder_identity + '"'));
  }
  lease_ = *std::move(parsed);
  OnRenewed(lease_->record());
}

void LeaderElector::OnRenewed(const LeaseRecord& record) {
  if (state_ == State::kLeading && Now() >= held_until_) return Lose("the fence had closed before it was renewed");
  // Other candidates go by the stored duration. It counts here only up to the duration that was asked for.
  const Duration duration =
      std::chrono::seconds(std::min(record.lease_duration_seconds, WholeSeconds(options_.lease_duration)));
  const Time until = sent_at_ + duration - duration / kMarginDivisor;
  if (Now() >= until) return Fail({ErrorCode::kTimeout, "the answer took longer than the lease lasts"});
  observed_ = record;
  observed_at_ = Now();
  renewed_at_ = observed_at_.time_since_epoch().count();
  held_until_ = until;
  renew_since_ = observed_at_ + options_.retry_period;
  fence_->HoldUntil(until);
  const bool is_new = state_ == State::kStandby;
  if (is_new) state_ = State::kLeading;
  ArmDeadline();
  Pause(options_.retry_period);
  if (is_new) Lead();
}

void LeaderElector::Lead() {
  is_leader_ = true;
  log::Info("client", "Successfully acquired lease", {{"lock", NameOf(options_)}, {"identity", options_.identity}});
  RecordEvent("became leader", [] {});
  if (callbacks_.on_started_leading) callbacks_.on_started_leading();
}

void LeaderElector::Lose(const std::string& why) {
  fence_->Close();
  state_ = State::kLost;
  step_ = Step::kPausing;
  is_leader_ = false;
  ++request_;
  if (cancel_pause_) std::exchange(cancel_pause_, nullptr)();
  if (cancel_deadline_) std::exchange(cancel_deadline_, nullptr)();
  if (callbacks_.on_lost) callbacks_.on_lost(why);
}

void LeaderElector::Fail(const Error& error) {
  // All clients that use a refused credential share one log line about it.
  const bool is_logged =
      error.code == ErrorCode::kUnauthorized ? rest_.RecordRefusedCredential().has_value() : MayLog();
  if (is_logged) {
    log::Warning("client",
                 is_leader_ ? "The leader election lease could not be renewed"
                            : "The leader election lease could not be acquired",
                 {{"lock", NameOf(options_)}, {"error", error.message}});
  }
  const auto most = std::chrono::duration_cast<Duration>(options_.retry_period * (1 + kJitterFactor));
  Pause(state_ == State::kLeading ? options_.retry_period : RandomBetween(options_.retry_period, most));
}

void LeaderElector::Pause(Duration delay) {
  step_ = Step::kPausing;
  cancel_pause_ = rest_.loop().PostAfter(delay, [this, alive = alive_] {
    if (*alive) Try();
  });
}

void LeaderElector::ArmDeadline() {
  if (cancel_deadline_) cancel_deadline_();
  cancel_deadline_ = rest_.loop().PostAfter(Deadline() - Now(), [this, alive = alive_] {
    if (!*alive || state_ != State::kLeading) return;
    cancel_deadline_ = nullptr;
    if (Now() < Deadline()) return ArmDeadline();
    Lose("it was not renewed in time");
  });
}

Duration LeaderElector::RandomBetween(Duration least, Duration most) {
  return least + Duration(random_.Below(static_cast<std::uint64_t>((most - least).count()) + 1));
}

bool LeaderElector::MayLog() {
  if (logged_at_ && Now() - *logged_at_ < kLogPeriod) return false;
  logged_at_ = Now();
  return true;
}

// ---- the end

void LeaderElector::Withdraw(std::function<void(bool)> done) {
  rest_.loop().Dispatch([this, alive = alive_, done = std::move(done)] {
    if (!*alive) return;
    if (state_ == State::kLeading) return done(true);
    Release([done](bool) { done(false); });
  });
}

void LeaderElector::Release(std::function<void(bool)> done) {
  rest_.loop().Dispatch([this, alive = alive_, done = std::move(done)] {
    if (!*alive) return;
    if (state_ == State::kLeading) {
      on_released_ = done;
      return BeginRelease();
    }
    LeaveToRunOut(done);
  });
}

void LeaderElector::LeaveToRunOut(std::function<void(bool)> done) {
  rest_.loop().Dispatch([this, alive = alive_, done = std::move(done)] {
    if (!*alive) return;
    const bool was_leader = state_ == State::kLeading;
    fence_->Close();
    if (state_ != State::kLost) state_ = State::kReleased;
    step_ = Step::kPausing;
    is_leader_ = false;
    ++request_;
    if (cancel_pause_) std::exchange(cancel_pause_, nullptr)();
    if (cancel_deadline_) std::exchange(cancel_deadline_, nullptr)();
    done(was_leader);
  });
}

void LeaderElector::BeginRelease() {
  fence_->Close();
  state_ = State::kReleasing;
  ++request_;
  if (cancel_pause_) std::exchange(cancel_pause_, nullptr)();
  if (cancel_deadline_) cancel_deadline_();
  cancel_deadline_ = rest_.loop().PostAfter(kReleaseMax, [this, alive = alive_] {
    if (!*alive) return;
    release_parts_ = 1;
    EndRelease();
  });
  release_parts_ = 2;
  RecordEvent("stopped leading", [this] { EndRelease(); });
  GiveBack();
}

void LeaderElector::GiveBack() { Send(Step::kGetting, RequestFor(options_, "GET"), &LeaderElector::OnGivingBack); }

// Handles the answers to the read and to the write of a release.
void LeaderElector::OnGivingBack(Expected<net::Response> answer) {
  if (step_ == Step::kUpdating) {
    // On a conflict a renewal that was under way may have changed the Lease: the release reads it again.
    const bool is_changed = !answer.ok() && answer.error().code == ErrorCode::kConflict;
    return is_changed ? GiveBack() : EndRelease();
  }
  if (!answer.ok()) return EndRelease();
  auto parsed = Lease::Parse(answer->body);
  if (!parsed.ok() || !IsOurs(parsed->record())) return EndRelease();
  lease_ = *std::move(parsed);
  LeaseRecord record = NewRecord();
  record.holder_identity.clear();
  record.lease_duration_seconds = 1;
  record.lease_transitions = lease_->record().lease_transitions;
  lease_->SetRecord(std::move(record));
  Send(Step::kUpdating, RequestFor(options_, "PUT", lease_->Json()), &LeaderElector::OnGivingBack);
}

void LeaderElector::EndRelease() {
  if (state_ != State::kReleasing || --release_parts_ > 0) return;
  state_ = State::kReleased;
  step_ = Step::kPausing;
  is_leader_ = false;
  ++request_;
  if (cancel_deadline_) std::exchange(cancel_deadline_, nullptr)();
  std::exchange(on_released_, nullptr)(true);
}

// The event is sent once, since only people read it.
void LeaderElector::RecordEvent(std::string_view what, std::function<void()> done) {
  net::Request request;
  request.method = "POST";
  request.target = ObjectPath("/api/v1", options_.namespace_name, "events");
  request.body = EventJson(options_, *lease_, what, rest_.loop().WallNow());
  rest_.Do(std::move(request), {.timeout = kReleaseMax, .tries = 1},
           [alive = alive_, done = std::move(done)](const Expected<net::Response>& answer) {
             if (!answer.ok()) log::Debug("client", "An event was not stored", {{"error", answer.error().message}});
             if (*alive) done();
           });
}

}  // namespace berth::client
