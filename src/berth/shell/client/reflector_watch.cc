// Watches of a Reflector: their events, and what follows from their end.
#include <algorithm>

#include "berth/base/log.h"
#include "berth/shell/client/reflector_impl.h"

namespace berth::client {
namespace {

// Watches in a row that brought garbage and nothing else, after which the list is the better source.
constexpr int kGarbledWatchesMax = 3;
// A watch that ends sooner than this without bringing anything is not opened again at once.
constexpr Duration kWatchShort = std::chrono::seconds(1);

constexpr std::string_view kProtobufWatchTypes = "application/vnd.kubernetes.protobuf;stream=watch, application/json";

}  // namespace

void Reflector::Impl::StartWatch() { OpenWatch(false); }

void Reflector::Impl::OpenWatch(bool is_initial) {
  BeginPhase();
  const std::uint64_t phase = phase_;
  is_initial_ = is_initial;
  if (is_initial_) store_.BeginRound();
  frames_.Reset(WatchFrames::Format::kLines);
  status_ = 0;
  initial_events_ = 0;
  is_watch_open_ = false;
  is_watch_fruitful_ = false;
  watch_opened_at_ = loop_.Now();
  RestStreamCallbacks callbacks;
  callbacks.on_head = InPhase([](Impl& self, const net::Response& head) { self.OnHead(head); });
  callbacks.on_open = InPhase([](Impl& self) {
    self.is_watch_open_ = true;
    self.watch_opened_at_ = self.loop_.Now();
    using Format = WatchFrames::Format;
    self.frames_.Reset(self.is_protobuf_ ? Format::kLengths : Format::kLines);
    ++self.stats_.watches;
  });
  callbacks.on_bytes = InPhase([](Impl& self, std::string_view bytes) { self.OnBytes(bytes); });
  callbacks.on_end = InPhase([](Impl& self, Expected<void> result) { self.OnWatchEnd(std::move(result)); });
  auto stream = rest_.Stream(WatchRequest(), {}, std::move(callbacks));
  // It may have ended already, and another phase begun.
  if (IsPhase(phase)) stream_ = std::move(stream);
}

net::Request Reflector::Impl::WatchRequest() {
  const auto spread = static_cast<std::uint64_t>(std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::seconds>(options_.watch_max - options_.watch_min).count()));
  const auto seconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(options_.watch_min).count()) +
      random_.Below(spread);
  net::Request request;
  request.target = WithQuery(options_.path, {{"watch", "true"},
                                             {"allowWatchBookmarks", "true"},
                                             {"sendInitialEvents", is_initial_ ? "true" : ""},
                                             {"resourceVersionMatch", is_initial_ ? "NotOlderThan" : ""},
                                             {"resourceVersion", is_initial_ ? "" : resource_version_},
                                             {"timeoutSeconds", std::to_string(seconds)},
                                             {"labelSelector", options_.label_selector},
                                             {"fieldSelector", options_.field_selector}});
  if (takes_protobuf_) request.headers.push_back({"Accept", std::string(kProtobufWatchTypes)});
  return request;
}

void Reflector::Impl::OnBytes(std::string_view bytes) {
  const std::uint64_t phase = phase_;
  const auto taken = frames_.Feed(bytes, [this, phase](std::string_view event) {
    if (frames_.format() == WatchFrames::Format::kLengths) {
      TakeFrame(event);
    } else {
      TakeLine(event);
    }
    return IsPhase(phase);
  });
  if (!taken.ok() && IsPhase(phase)) Relist(taken.error());
}

void Reflector::Impl::TakeFrame(std::string_view frame) {
  const auto event = api::ReadProtobufWatchEvent(frame);
  if (!event.ok()) return FailWatch(event.error(), true);
  const auto envelope = api::UnwrapUnknown(event->object);
  if (!envelope.ok()) return FailWatch(envelope.error(), true);
  if (event->type == "ERROR") {
    const auto status = api::ReadProtobufStatus(envelope->raw);
    if (!status.ok()) return FailWatch(status.error(), true);
    return OnErrorEvent(status->code, status->message);
  }
  const auto meta = api::ReadProtobufMeta(envelope->raw);
  if (!meta.ok()) return FailWatch(meta.error(), true);
  TakeEvent(event->type, {*meta, nullptr, envelope->raw}, event->type);
}

void Reflector::Impl::TakeLine(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  const auto event = reader_.Parse(line);
  const auto object = event.ok() ? codec::FindMember(*event, "object") : std::nullopt;
  if (!object || !object->is_object()) {
    return FailWatch(InvalidError("the watch brought no event: \"" + Shown(line) + '"'), true);
  }
  const std::string_view type = codec::StringOrEmpty(*event, "type");
  if (type == "ERROR") {
    return OnErrorEvent(codec::FindInt(*object, "code").value_or(0), codec::StringOrEmpty(*object, "message"));
  }
  TakeEvent(type, {ReadJsonMeta(*object), &*object, {}}, line);
}

void Reflector::Impl::TakeEvent(std::string_view type, const Arrival& object, std::string_view shown) {
  const std::string_view version = object.meta.resource_version;
  const bool is_change = type == "ADDED" || type == "MODIFIED";
  const bool is_bookmark = type == "BOOKMARK";
  if (version.empty() || (!is_change && type != "DELETED" && !is_bookmark)) {
    return FailWatch(InvalidError("the watch brought an event of an unknown type or without a resourceVersion: \"" +
                                  Shown(shown) + '"'),
                     true);
  }
  is_watch_fruitful_ = true;
  if (is_initial_) return TakeInitialEvent(type, object);
  // First: a handler that stops us must not find the same event again.
  resource_version_.assign(version);
  watch_failures_ = 0;
  garbled_watches_ = 0;
  if (is_change) {
    store_.Upsert(object, Source::kWatch);
  } else if (is_bookmark) {
    ++stats_.bookmarks;
  } else {
    store_.Remove(object);
  }
}

void Reflector::Impl::OnErrorEvent(std::int64_t code, std::string_view message) {
  Error error;
  error.code = code == 410 ? ErrorCode::kGone : ErrorCode::kInternal;
  error.message = Shown(message);
  if (error.message.empty()) error.message = "the watch ended with an ERROR event without a message";
  Relist(error);
}

void Reflector::Impl::OnWatchEnd(Expected<void> result) {
  if (IsTypeRefused() && takes_protobuf_) {
    log::Info("client", "Watching as JSON: the API server refuses protobuf", {{"resource", options_.name}});
    takes_protobuf_ = false;
    return is_initial_ ? StreamList() : StartWatch();
  }
  if (is_initial_) return OnInitialEnd(result);
  if (result.ok()) {
    const bool was_cut = !frames_.is_between_events();
    const bool was_short = !is_watch_fruitful_ && loop_.Now() - watch_opened_at_ < kWatchShort;
    if (was_cut) return FailWatch(InvalidError("the watch ended within an event"), false);
    if (was_short) {
      return FailWatch(Error{ErrorCode::kUnavailable, "the watch ended at once and brought nothing"}, false);
    }
    watch_failures_ = 0;
    return StartWatch();
  }
  const Duration lasted = is_watch_open_ ? loop_.Now() - watch_opened_at_ : Duration::zero();
  if (result.error().code == ErrorCode::kTimeout && lasted > options_.backoff_max) {
    // Silence on a quiet resource, where the server sends no bookmarks, or the peer has gone without a word. Asking
    // again tells which.
    log::Debug("client", "Watching again after silence", {{"resource", options_.name}});
    watch_failures_ = 0;
    return StartWatch();
  }
  switch (result.error().code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kForbidden:
    case ErrorCode::kTooLarge:
    case ErrorCode::kCancelled:
      if (lasted > options_.backoff_max) watch_failures_ = 0;
      return FailWatch(result.error(), false);
    default: return Relist(result.error());
  }
}

// Watches again from where we are.
void Reflector::Impl::FailWatch(const Error& error, bool is_garbled) {
  if (is_initial_) return FailList(error);
  if (is_garbled && ++garbled_watches_ >= kGarbledWatchesMax) return Relist(error);
  const Duration delay = Backoff(watch_failures_++, error);
  Report(error.Wrap("while watching " + options_.name), delay);
  if (is_stopped_) return;
  After(delay, [](Impl& self) { self.StartWatch(); });
}

// History is lost. The first time the list follows at once, since until then we are blind.
void Reflector::Impl::Relist(const Error& error) {
  garbled_watches_ = 0;
  const bool is_repeated = relisted_at_ && loop_.Now() - *relisted_at_ < 2 * options_.backoff_max;
  if (!is_repeated) relist_failures_ = 0;
  const bool is_immediate = error.code == ErrorCode::kGone && !is_repeated;
  const Duration delay = is_immediate ? Duration::zero() : Backoff(relist_failures_++, error);
  relisted_at_ = loop_.Now();
  Report(error.Wrap("while watching " + options_.name + " (listing again)"), delay);
  if (is_stopped_) return;
  After(delay, [](Impl& self) { self.StartList(); });
}

}  // namespace berth::client
