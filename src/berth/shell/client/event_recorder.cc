// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/shell/client/event_body.h"
#include "berth/shell/client/event_outage.h"
#include "berth/shell/client/event_room.h"
#include "berth/shell/client/event_series.h"
#include "berth/shell/client/request_lanes.h"

namespace berth::client {
namespace {

using codec::json::object;

constexpr std::string_view kPrefix = "/apis/events.k8s.io/v1";
constexpr std::string_view kEitherType = "application/vnd.kubernetes.protobuf, application/json";
constexpr std::size_t kNameBytesMax = 253;  // what the API server accepts
constexpr int kForbiddenTriesMax = 6;
constexpr std::size_t kGatheredMax = 64;
constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr int kLogLinesPerMinute = 10;

std::string Hex(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

// Where the event is stored.
std::string_view NamespaceOf(const Event& event) {
  return event.regarding.namespace_name.empty() ? std::string_view("default") : event.regarding.namespace_name;
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
        outage_(options_.backoff_min, options_.backoff_max, options_.seed),
        sends_protobuf_(rest.options().sends_protobuf),
        room_(options_.queue_max, options_.queue_bytes_max) {}

  void Record(Event event) {
    const SeriesKey key = KeyOf(event);
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    ++stats_.recorded;
    const Time now = loop_.Now();
    if (Series* known = series_.Find(key)) {
      if (now - known->observed_at < options_.series_idle) return Repeat(*known, key, now);
      EndSeries(*known);
      series_.Erase(key);
    }
    if (room_.IsFullFor(NamespaceOf(event))) {
      ++stats_.dropped;
      LogOften("Events are dropped: too many wait for the API server", event.regarding.name, "");
      return;
    }
    Create(event, key, now);
  }

  std::size_t Flush(Duration timeout) {
    std::unique_lock lock(mutex_);
    if (Queued() > 0) PostPump();
    is_idle_.wait_for(lock, timeout, [this] { return is_stopped_ || Queued() == 0; });
    return Queued();
  }

  void Restrain(bool is_restrained) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_restrained_, is_restrained) != is_restrained && Queued() > 0) PostPump();
  }

  EventRecorderStats Stats() const {
    const std::lock_guard lock(mutex_);
    EventRecorderStats stats = stats_;
    stats.queued = Queued();
    return stats;
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
      inbox_.clear();
    }
    is_idle_.notify_all();
    if (cancel_pause) cancel_pause();
    if (cancel_sweep) cancel_sweep();
    if (cancel_gather) cancel_gather();
  }

 private:
  using Series = EventSeries::Series;

  struct Item {
    bool is_patch = false;
    std::string namespace_name;
    std::string name;
    Event event;     // of a creation
    Time made_at{};  // of a creation
    bool was_protobuf = false;
    SeriesKey key;
    std::uint64_t series_id = 0;
    std::int64_t count = 0;  // of a patch
    Time observed_at{};      // of a patch
    int answers = 0;         // that were failures

    // About what it holds.
    std::size_t Bytes() const {
      std::size_t bytes = sizeof(Item) + namespace_name.size() + name.size() + event.note.size() + event.reason.size();
      // Names are in the event and in the key.
      for (const std::string* text : {&event.regarding.name, &event.regarding.uid, &event.regarding.namespace_name,
                                      &event.regarding.resource_version})
        bytes += 2 * text->size();
      return bytes;
    }
  };
  using ItemPtr = std::shared_ptr<Item>;

  int InFlightLimit() const {
    if (outage_.is_paused() || is_stopped_) return 0;
    // After a failure one event goes first, to see whether the server is back.
    if (outage_.is_probing()) return 1;
    // What fills up or lags behind has to be sent, whatever else there is to do.
    const bool is_behind = Queued() > options_.queue_max / 4 || lag_ > options_.lag_max;
    return is_restrained_ && !is_behind ? std::min(options_.in_flight_restrained_max, options_.in_flight_max)
                                        : options_.in_flight_max;
  }

  std::size_t Queued() const { return room_.count(); }

  // ---- recording; mutex_ is held

  void Repeat(Series& series, const SeriesKey& key, Time now) {
    ++series.count;
    series.observed_at = now;
    // The first repetition makes it a series, at once; later ones are told with the next refresh. While the event
    // itself is still on its way, its creation tells.
    if (series.count_sent == 1 && series.is_created && !room_.IsFullFor(series.namespace_name)) {
      Patch(series, key);
    } else {
      ++stats_.counted;
    }
  }

  void Create(Event& event, const SeriesKey& key, Time now) {
    Item item;
    item.key = key;
    item.series_id = series_.NewId();
    item.namespace_name = NamespaceOf(event);
    item.name = UniqueName(event.regarding);
    item.made_at = now;
    item.event = std::move(event);
    item.event.note = CutNote(std::move(item.event.note));
    Remember(item, now);
    Push(std::move(item));
  }

  // Two events of one object within a nanosecond of the clock still differ.
  std::string UniqueName(const ObjectReference& regarding) {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(loop_.WallNow().time_since_epoch()).count();
    name_ns_ = std::max(name_ns_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
    const std::string suffix = '.' + Hex(name_ns_);
    const bool is_too_long = regarding.name.size() + suffix.size() > kNameBytesMax;
    return (is_too_long ? regarding.uid : regarding.name) + suffix;
  }

  void Remember(const Item& item, Time now) {
    while (series_.size() >= options_.series_max) {
      auto oldest = series_.PopOldest();
      if (!oldest) break;
      EndSeries(*oldest);
    }
    if (options_.series_max == 0) return;
    Series series;
    series.id = item.series_id;
    series.namespace_name = item.namespace_name;
    series.name = item.name;
    series.observed_at = now;
    series.sent_at = now;
    series_.Add(item.key, std::move(series));
    if (!cancel_sweep_) ArmSweep();
  }

  void Patch(Series& series, const SeriesKey& key) {
    Item item;
    item.is_patch = true;
    item.key = key;
    item.series_id = series.id;
    item.namespace_name = series.namespace_name;
    item.name = series.name;
    item.count = series.count;
    item.observed_at = series.observed_at;
    series.count_sent = series.count;
    series.sent_at = loop_.Now();
    Push(std::move(item));
  }

  // Tells the final count, if it is news.
  void EndSeries(Series& series) {
    const bool is_news = series.is_created && series.count > series.count_sent;
    if (is_news && !room_.IsFullFor(series.namespace_name)) Patch(series, {});
  }

  void Push(Item item) {
    room_.Take(item.namespace_name, item.Bytes());
    inbox_.push_back(std::make_shared<Item>(std::move(item)));
    if (Queued() > inbox_.size() || options_.gather == Duration{0}) return PostPump();
    if (inbox_.size() >= kGatheredMax) return PostPump();
    if (std::exchange(is_gathering_, true)) return;
    cancel_gather_ = loop_.PostAfter(options_.gather, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->EndGathering();
    });
  }

  void EndGathering() {
    {
      const std::lock_guard lock(mutex_);
      is_gathering_ = false;
    }
    Pump();
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
    log::Warning("client", what,
                 {{"event", name}, {"reason", why}, {"dropped", stats_.dropped}, {"refused", stats_.refused}});
  }

  // ---- sending, on the loop's thread

  void Sweep() {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    cancel_sweep_ = {};
    const Time now = loop_.Now();
    series_.Sweep([&](const SeriesKey& key, Series& series) {
      if (now - series.observed_at >= options_.series_idle) {
        EndSeries(series);
        return false;
      }
      const bool is_due =
          series.is_created && series.count > series.count_sent && now - series.sent_at >= options_.series_refresh;
      if (is_due && !room_.IsFullFor(series.namespace_name)) Patch(series, key);
      return true;
    });
    if (series_.size() > 0) ArmSweep();
  }

  // The lanes' requests are sent while mutex_ is free.
  void Pump() {
    std::deque<ItemPtr> taken;
    int limit = 0;
    {
      const std::lock_guard lock(mutex_);
      is_pump_posted_ = false;
      taken.swap(inbox_);
      limit = InFlightLimit();
    }
    lanes_->SetInFlightMax(0);
    for (const ItemPtr& item : taken) Enqueue(item, false);
    lanes_->SetInFlightMax(limit);
  }

  void Enqueue(const ItemPtr& item, bool is_first) {
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

  bool Send(const ItemPtr& item, RequestLanes::Ended ended) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return false;
      if (!item->is_patch) lag_ = loop_.Now() - item->made_at;
    }
    net::Request request;
    if (item->is_patch) {
      request.method = "PATCH";
      request.target = ObjectPath(kPrefix, item->namespace_name, "events", item->name);
      request.headers.push_back({"Content-Type", "application/strategic-merge-patch+json"});
      const object series{{"count", item->count},
                          {"lastObservedTime", FormatRfc3339Micro(loop_.WallAt(item->observed_at))}};
      request.body = codec::WriteJson(object{{"series", series}});
    } else {
      request.method = "POST";
      request.target = ObjectPath(kPrefix, item->namespace_name, "events");
      item->was_protobuf = sends_protobuf_;
      if (item->was_protobuf) request.headers.push_back({"Content-Type", std::string(api::kProtobufMediaType)});
      const Time made_at = loop_.WallAt(item->made_at);
      request.body =
          EventBody(item->event, {item->namespace_name, item->name, options_.hostname, made_at}, item->was_protobuf);
    }
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

  // What becomes of an event whose request has ended.
  enum class Next : std::uint8_t {
    kDone,
    kAtOnce,      // as soon as its lane lets it: nothing is wrong with it
    kServerAway,  // nothing is wrong with this event, so it keeps its place; all wait
    kLater,       // something is wrong with it, or with its namespace, or with the server now and then: others go on
  };

  void OnAnswer(const ItemPtr& item, const Expected<net::Response>& result) {
    Next next = Next::kDone;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
      Error error;
      next = result.ok() ? AfterAnswer(*item, *result, error) : AfterFailure(*item, result.error(), error);
      if (next == Next::kServerAway && !outage_.RecordSentBack()) next = Next::kLater;
      if (next == Next::kDone) room_.GiveBack(item->namespace_name, item->Bytes());
      if (next == Next::kServerAway) Pause(error);
      if (next == Next::kLater) SendLater(item, error);
      if (Queued() == 0) is_idle_.notify_all();
      PostPump();
    }
    if (next == Next::kServerAway) lanes_->SetInFlightMax(0);
    if (next == Next::kServerAway || next == Next::kAtOnce) Enqueue(item, true);
  }

  // No answer, or none that can be read.
  Next AfterFailure(const Item& item, const Error& failure, Error& error) {
    error = failure;
    switch (failure.code) {
      case ErrorCode::kUnavailable:
      case ErrorCode::kTooManyRequests:
      case ErrorCode::kUnauthorized: return Next::kServerAway;
      // A webhook that hangs is one namespace's, most likely. Where it is not, each namespace waits by itself.
      case ErrorCode::kTimeout: return Next::kAtOnce;
      default: break;
    }
    Refuse(item, error);
    return Next::kDone;
  }

  Next AfterAnswer(Item& item, const net::Response& response, Error& error) {
    const int status = response.status;
    if (status >= 200 && status < 300) return Succeed(item);
    if (status == 415 && std::exchange(item.was_protobuf, false)) {
      sends_protobuf_ = false;
      return Next::kAtOnce;
    }
    const net::Request sent{
        item.is_patch ? "PATCH" : "POST", ObjectPath(kPrefix, item.namespace_name, "events"), {}, {}};
    error = ErrorFromResponse(sent, response);
    // The earlier try, whose answer was lost, had been stored.
    if (!item.is_patch && error.code == ErrorCode::kAlreadyExists) return Succeed(item);
    // A denial by admission is about this namespace's events, whatever its code says.
    const bool is_denied = error.code == ErrorCode::kDeniedByAdmission;
    if (!is_denied && (status == 429 || status == 503 || status == 401)) return Next::kServerAway;
    // An API server that has just started refuses what it has not read the rules for yet.
    const bool is_terminating = error.message.find("is being terminated") != std::string::npos;
    if (status == 403 && !is_terminating && ++item.answers < kForbiddenTriesMax) return Next::kLater;
    if (status >= 500 || is_denied || error.code == ErrorCode::kConflict) {
      if (++item.answers < options_.tries_max) return Next::kLater;
    }
    Refuse(item, error);
    return Next::kDone;
  }

  Next Succeed(const Item& item) {
    ++stats_.sent;
    outage_.RecordTaken();
    if (item.is_patch) return Next::kDone;
    Series* series = series_.Find(item.key, item.series_id);
    if (series == nullptr) return Next::kDone;
    series->is_created = true;
    if (series->count > 1 && !room_.IsFullFor(item.namespace_name)) Patch(*series, item.key);
    return Next::kDone;
  }

  void SendLater(const ItemPtr& item, const Error& error) {
    (void)loop_.PostAfter(outage_.DelayAfter(std::max(0, item->answers - 1), error), [weak = weak_from_this(), item] {
      if (const auto self = weak.lock()) self->Enqueue(item, false);
    });
  }

  // The server is away: nothing is sent for a while, then one event.
  void Pause(const Error& error) {
    const auto delay = outage_.Pause(error);
    if (!delay) return;
    const bool is_told =
        error.code == ErrorCode::kUnauthorized ? rest_.RecordRefusedCredential().has_value() : outage_.pauses() == 1;
    if (is_told) {
      log::Warning("client", "Events wait: " + error.message,
                   {{"queued", Queued()}, {"retry_in", FormatGoDuration(*delay)}});
    }
    cancel_pause_ = loop_.PostAfter(*delay, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      {
        const std::lock_guard lock(self->mutex_);
        self->outage_.EndPause();
      }
      self->Pump();
    });
  }

  void Refuse(const Item& item, const Error& error) {
    ++stats_.refused;
    LogOften("An event is given up", item.namespace_name + '/' + item.name, error.message);
    // A repetition shall make a new one.
    if (series_.Find(item.key, item.series_id) != nullptr) series_.Erase(item.key);
  }

  RestClient& rest_;
  EventLoop& loop_;
  const EventRecorderOptions options_;
  const std::shared_ptr<RequestLanes> lanes_;  // by namespace; the loop's

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable is_idle_;
  EventOutage outage_;
  bool is_stopped_ = false;
  std::atomic<bool> sends_protobuf_;  // until the server has refused it
  std::deque<ItemPtr> inbox_;         // of those that are queued: not in the lanes yet
  EventRoom room_;                    // of those that wait, are in flight or to be tried again
  bool is_restrained_ = false;
  Duration lag_{0};  // how old the last event was when it was sent
  bool is_pump_posted_ = false;
  std::function<void()> cancel_pause_;
  bool is_gathering_ = false;
  std::function<void()> cancel_gather_;

  EventSeries series_;
  std::uint64_t name_ns_ = 0;
  std::function<void()> cancel_sweep_;

  Time log_minute_{};
  int log_lines_ = 0;
  EventRecorderStats stats_;
};

EventRecorder::EventRecorder(RestClient& rest, EventRecorderOptions options)
    : impl_(std::make_shared<Impl>(rest, std::move(options))) {}

EventRecorder::~EventRecorder() { impl_->Stop(); }

void EventRecorder::Record(Event event) { impl_->Record(std::move(event)); }
void EventRecorder::Restrain(bool is_restrained) { impl_->Restrain(is_restrained); }
std::size_t EventRecorder::Flush(Duration timeout) { return impl_->Flush(timeout); }
EventRecorderStats EventRecorder::Stats() const { return impl_->Stats(); }

}  // namespace berth::client
