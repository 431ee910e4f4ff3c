// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/encode_protobuf.h"
#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/base/utf8.h"
#include "berth/codec/json.h"
#include "berth/shell/client/event_backlog.h"
#include "berth/shell/client/request_lanes.h"

namespace berth::client {
namespace {

using codec::json::object;
using QueuedEventPtr = std::shared_ptr<QueuedEvent>;

constexpr std::string_view kPrefix = "/apis/events.k8s.io/v1";
constexpr std::string_view kEitherType = "application/vnd.kubernetes.protobuf, application/json";
constexpr std::size_t kInstanceBytesMax = 128;  // what the API server accepts
constexpr int kForbiddenTriesMax = 6;
constexpr int kSentBackInRowMax = 3;
constexpr std::size_t kGatheredMax = 64;
constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr int kLogLinesPerMinute = 10;

object ToJson(const ObjectReference& reference) {
  object json;
  const auto set = [&json](std::string_view key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  set("kind", reference.kind);
  set("namespace", reference.namespace_name);
  set("name", reference.name);
  set("uid", reference.uid);
  set("apiVersion", reference.api_version);
  set("resourceVersion", reference.resource_version);
  return json;
}

api::ObjectReferenceFields ToFields(const ObjectReference& reference) {
  return {reference.api_version, reference.kind, reference.namespace_name,
          reference.name,        reference.uid,  reference.resource_version};
}

// An events.k8s.io/v1 Event, in protobuf or in JSON.
std::string EventBody(const QueuedEvent& item, std::string_view hostname, Time made_at) {
  const Event& event = item.event;
  const std::string whole = event.scheduler_name + '-' + std::string(hostname);
  const std::string_view instance = CutUtf8(whole, kInstanceBytesMax);
  const std::string_view type = event.is_warning ? "Warning" : "Normal";
  if (item.was_protobuf) {
    api::EventFields fields;
    fields.namespace_name = item.namespace_name;
    fields.name = item.name;
    fields.event_time = made_at;
    fields.reporting_controller = event.scheduler_name;
    fields.reporting_instance = instance;
    fields.action = event.action;
    fields.reason = event.reason;
    fields.regarding = ToFields(event.regarding);
    if (event.related) fields.related = ToFields(*event.related);
    fields.note = event.note;
    fields.type = type;
    return api::EncodeEvent(fields);
  }
  object body{{"apiVersion", "events.k8s.io/v1"},
              {"kind", "Event"},
              {"metadata", object{{"namespace", item.namespace_name}, {"name", item.name}}},
              {"eventTime", FormatRfc3339Micro(made_at)},
              {"reportingController", event.scheduler_name},
              {"reportingInstance", instance},
              {"action", event.action},
              {"reason", event.reason},
              {"regarding", ToJson(event.regarding)},
              {"note", event.note},
              {"type", type}};
  if (event.related) body["related"] = ToJson(*event.related);
  return codec::WriteJson(body);
}

net::Request RequestFor(const QueuedEvent& item, const EventLoop& loop, std::string_view hostname) {
  net::Request request;
  if (item.is_patch) {
    request.method = "PATCH";
    request.target = ObjectPath(kPrefix, item.namespace_name, "events", item.name);
    request.headers.push_back({"Content-Type", "application/strategic-merge-patch+json"});
    const object series{{"count", item.count}, {"lastObservedTime", FormatRfc3339Micro(loop.WallAt(item.observed_at))}};
    request.body = codec::WriteJson(object{{"series", series}});
  } else {
    request.method = "POST";
    request.target = ObjectPath(kPrefix, item.namespace_name, "events");
    if (item.was_protobuf) request.headers.push_back({"Content-Type", std::string(api::kProtobufMediaType)});
    request.body = EventBody(item, hostname, loop.WallAt(item.made_at));
  }
  return request;
}

// What becomes of an event whose request has ended.
enum class Next : std::uint8_t {
  kSent,
  kGivenUp,
  kAtOnce,      // nothing is wrong with the event: it is sent again as soon as its lane lets it
  kServerAway,  // nothing is wrong with the event, so it keeps its place; all wait
  kLater,       // something is wrong with it, or with its namespace, or with the server now and then: others go on
};

// After no answer, or none that can be read.
Next AfterFailure(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnauthorized: return Next::kServerAway;
    // A webhook that hangs is one namespace's, most likely. Where it is not, each namespace waits by itself.
    case ErrorCode::kTimeout: return Next::kAtOnce;
    default: return Next::kGivenUp;
  }
}

// Counts failures in `item`, and says in `error` what was wrong.
Next AfterAnswer(QueuedEvent& item, const net::Response& response, int tries_max, Error& error) {
  const int status = response.status;
  if (status >= 200 && status < 300) return Next::kSent;
  // The server takes no protobuf.
  if (status == 415 && std::exchange(item.was_protobuf, false)) return Next::kAtOnce;
  const net::Request sent{item.is_patch ? "PATCH" : "POST", ObjectPath(kPrefix, item.namespace_name, "events"), {}, {}};
  error = ErrorFromResponse(sent, response);
  // The earlier try, whose answer was lost, had been stored.
  if (!item.is_patch && error.code == ErrorCode::kAlreadyExists) return Next::kSent;
  // A denial by admission is about this namespace's events, whatever its code says.
  const bool is_denied = error.code == ErrorCode::kDeniedByAdmission;
  if (!is_denied && (status == 429 || status == 503 || status == 401)) return Next::kServerAway;
  // An API server that has just started refuses what it has not read the rules for yet.
  const bool is_terminating = error.message.find("is being terminated") != std::string::npos;
  if (status == 403 && !is_terminating && ++item.failures < kForbiddenTriesMax) return Next::kLater;
  if (status >= 500 || is_denied || error.code == ErrorCode::kConflict) {
    if (++item.failures < tries_max) return Next::kLater;
  }
  return Next::kGivenUp;
}

}  // namespace

class EventRecorder::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(RestClient& rest, EventRecorderOptions options)
      : rest_(rest),
        loop_(rest.loop()),
        options_(std::move(options)),
        lanes_(std::make_shared<RequestLanes>(loop_, RequestLanesOptions{.in_flight_max = options_.in_flight_max,
                                                                         .backoff_min = options_.backoff_min,
                                                                         .backoff_max = options_.backoff_max,
                                                                         .seed = options_.seed,
                                                                         .pace = options_.pace})),
        sends_protobuf_(rest.options().sends_protobuf),
        backlog_(options_),
        random_(options_.seed) {}

  void Record(Event event) {
    const SeriesKey key = KeyOf(event);
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    const bool is_taken = backlog_.Record(event, key, loop_.Now(), loop_.WallNow());
    if (!is_taken) LogOften("Events are dropped: too many wait for the API server", event.regarding.name, "");
    if (backlog_.has_series() && !cancel_sweep_) ArmSweep();
    Gather();
  }

  std::size_t Flush(Duration timeout) {
    std::unique_lock lock(mutex_);
    if (backlog_.count() > 0) PostPump();
    is_idle_.wait_for(lock, timeout, [this] { return is_stopped_ || backlog_.count() == 0; });
    return backlog_.count();
  }

  void Restrain(bool is_restrained) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_restrained_, is_restrained) != is_restrained && backlog_.count() > 0) PostPump();
  }

  EventRecorderStats Stats() const {
    const std::lock_guard lock(mutex_);
    return backlog_.Stats();
  }

  void Stop() {
    std::function<void()> cancel_pause;
    std::function<void()> cancel_sweep;
    std::function<void()> cancel_gather;
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      cancel_gather = std::move(cancel_gather_);
      cancel_pause = std::move(cancel_pause_);
      cancel_sweep = std::move(cancel_sweep_);
      (void)backlog_.TakeNew();
    }
    is_idle_.notify_all();
    if (cancel_pause) cancel_pause();
    if (cancel_sweep) cancel_sweep();
    if (cancel_gather) cancel_gather();
  }

 private:
  // ---- with mutex_ held

  int InFlightLimit() const {
    if (is_paused_ || is_stopped_) return 0;
    // After a failure one event goes first, to see whether the server is back.
    if (is_probing_) return 1;
    // What fills up or lags behind has to be sent, whatever else there is to do.
    const bool is_behind = backlog_.count() > options_.queue_max / 4 || lag_ > options_.lag_max;
    return is_restrained_ && !is_behind ? std::min(options_.in_flight_restrained_max, options_.in_flight_max)
                                        : options_.in_flight_max;
  }

  // Sends what is new, at once if something is under way anyway.
  void Gather() {
    const std::size_t count = backlog_.new_count();
    if (count == 0) return;
    if (backlog_.count() > count || options_.gather == Duration{0} || count >= kGatheredMax) return PostPump();
    if (std::exchange(is_gathering_, true)) return;
    cancel_gather_ = loop_.PostAfter(options_.gather, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      {
        const std::lock_guard lock(self->mutex_);
        self->is_gathering_ = false;
      }
      self->Pump();
    });
  }

  void PostPump() {
    if (is_pump_posted_ || is_stopped_) return;
    is_pump_posted_ = true;
    loop_.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Pump();
    });
  }

  void ArmSweep() {
    cancel_sweep_ = loop_.PostAfter(options_.series_idle, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Sweep();
    });
  }

  void LogOften(std::string_view what, const std::string& name, const std::string& why) {
    const Time now = loop_.Now();
    if (now - log_minute_ >= std::chrono::minutes(1)) {
      log_minute_ = now;
      log_lines_ = 0;
    }
    if (++log_lines_ > kLogLinesPerMinute) return;
    const EventRecorderStats stats = backlog_.Stats();
    log::Warning("client", what,
                 {{"event", name}, {"reason", why}, {"dropped", stats.dropped}, {"refused", stats.refused}});
  }

  // How long an event waits after this many failures: not shorter than the server asks for.
  Duration DelayAfter(int failures, const Error& error) {
    const Duration wait = WithJitter(Doubled(options_.backoff_min, options_.backoff_max, failures), random_);
    return std::max(wait, std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax));
  }

  void SendLater(const QueuedEventPtr& item, const Error& error) {
    (void)loop_.PostAfter(DelayAfter(std::max(0, item->failures - 1), error), [weak = weak_from_this(), item] {
      if (const auto self = weak.lock()) self->Enqueue(item, false);
    });
  }

  // The server is away: nothing is sent for a while, then one event.
  void Pause(const Error& error) {
    is_probing_ = true;
    if (std::exchange(is_paused_, true)) return;
    const Duration delay = DelayAfter(pauses_++, error);
    const bool is_logged =
        error.code == ErrorCode::kUnauthorized ? rest_.RecordRefusedCredential().has_value() : pauses_ == 1;
    if (is_logged) {
      log::Warning("client", "Events wait: " + error.message,
                   {{"queued", backlog_.count()}, {"retry_in", FormatGoDuration(delay)}});
    }
    cancel_pause_ = loop_.PostAfter(delay, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      {
        const std::lock_guard lock(self->mutex_);
        self->is_paused_ = false;
      }
      self->Pump();
    });
  }

  // ---- on the loop's thread, without mutex_

  void Sweep() {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    cancel_sweep_ = {};
    backlog_.Sweep(loop_.Now());
    Gather();
    if (backlog_.has_series()) ArmSweep();
  }

  // The lanes' requests are sent while mutex_ is free.
  void Pump() {
    std::deque<QueuedEventPtr> taken;
    int limit = 0;
    {
      const std::lock_guard lock(mutex_);
      is_pump_posted_ = false;
      taken = backlog_.TakeNew();
      limit = InFlightLimit();
    }
    lanes_->SetInFlightMax(0);
    for (const QueuedEventPtr& item : taken) Enqueue(item, false);
    lanes_->SetInFlightMax(limit);
  }

  void Enqueue(const QueuedEventPtr& item, bool is_first) {
    const auto start = [weak = weak_from_this(), item](RequestLanes::Ended ended) {
      const auto self = weak.lock();
      return self && self->Send(item, std::move(ended));
    };
    if (is_first) {
      lanes_->AddFirst(item->namespace_name, start);
    } else {
      lanes_->Add(item->namespace_name, start);
    }
  }

  bool Send(const QueuedEventPtr& item, RequestLanes::Ended ended) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return false;
      if (!item->is_patch) lag_ = loop_.Now() - item->made_at;
    }
    item->was_protobuf = !item->is_patch && sends_protobuf_;
    net::Request request = RequestFor(*item, loop_, options_.hostname);
    // Nobody reads the answer; protobuf is the smaller one.
    if (rest_.options().takes_protobuf) request.headers.push_back({"Accept", std::string(kEitherType)});
    rest_.Do(std::move(request), {.timeout = kTimeout, .tries = 1, .any_status = true},
             [weak = weak_from_this(), item, ended = std::move(ended)](const Expected<net::Response>& result) {
               const auto self = weak.lock();
               if (!self) return;
               self->OnAnswer(item, result);
               ended(EndOf(result));
             });
    return true;
  }

  void OnAnswer(const QueuedEventPtr& item, const Expected<net::Response>& result) {
    Next next = Next::kSent;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
      Error error;
      if (result.ok()) {
        const bool was_protobuf = item->was_protobuf;
        next = AfterAnswer(*item, *result, options_.tries_max, error);
        if (was_protobuf && !item->was_protobuf) sends_protobuf_ = false;
      } else {
        error = result.error();
        next = AfterFailure(error);
      }
      // A server that sends an event back now and then is not away: only that event waits.
      if (next == Next::kServerAway && ++sent_back_in_row_ < kSentBackInRowMax && !is_probing_) next = Next::kLater;
      switch (next) {
        case Next::kSent:
          sent_back_in_row_ = pauses_ = 0;
          is_probing_ = false;
          backlog_.RecordSent(*item, loop_.Now());
          break;
        case Next::kGivenUp:
          backlog_.GiveUp(*item);
          LogOften("An event is given up", item->namespace_name + '/' + item->name, error.message);
          break;
        case Next::kServerAway: Pause(error); break;
        case Next::kLater: SendLater(item, error); break;
        case Next::kAtOnce: break;
      }
      if (backlog_.count() == 0) is_idle_.notify_all();
      PostPump();
    }
    if (next == Next::kServerAway) lanes_->SetInFlightMax(0);
    if (next == Next::kServerAway || next == Next::kAtOnce) Enqueue(item, true);
  }

  RestClient& rest_;
  EventLoop& loop_;
  const EventRecorderOptions options_;
  const std::shared_ptr<RequestLanes> lanes_;  // by namespace; the loop's

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable is_idle_;
  bool is_stopped_ = false;
  std::atomic<bool> sends_protobuf_;  // until the server has refused it
  EventBacklog backlog_;
  bool is_restrained_ = false;
  Duration lag_{0};  // how old the last event was when it was sent
  bool is_pump_posted_ = false;
  bool is_gathering_ = false;
  std::function<void()> cancel_gather_;
  std::function<void()> cancel_sweep_;

  // Whether the API server is away or overloaded, and for how long all wait then.
  Random random_;
  int sent_back_in_row_ = 0;  // events, with which nothing was wrong
  bool is_paused_ = false;
  bool is_probing_ = false;  // the first event after a pause shows whether the server is back
  int pauses_ = 0;           // in a row, the one at hand included
  std::function<void()> cancel_pause_;

  Time log_minute_{};
  int log_lines_ = 0;
};

EventRecorder::EventRecorder(RestClient& rest, EventRecorderOptions options)
    : impl_(std::make_shared<Impl>(rest, std::move(options))) {}

EventRecorder::~EventRecorder() { impl_->Stop(); }

void EventRecorder::Record(Event event) { impl_->Record(std::move(event)); }
void EventRecorder::Restrain(bool is_restrained) { impl_->Restrain(is_restrained); }
std::size_t EventRecorder::Flush(Duration timeout) { return impl_->Flush(timeout); }
EventRecorderStats EventRecorder::Stats() const { return impl_->Stats(); }

}  // namespace berth::client
