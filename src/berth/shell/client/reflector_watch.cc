// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_watch.h"

#include <algorithm>

#include "berth/base/log.h"
#include "berth/codec/json_slices.h"

namespace berth::client {
namespace {

// After this many watches in a row that brought nothing but garbage, the reflector lists again.
constexpr int kGarbledWatchesMax = 3;
// A watch that ends sooner than this without bringing anything is not opened again at once.
constexpr Duration kWatchShort = std::chrono::seconds(1);
// A watch that brought something and lasted this long is opened again after a short random wait, since all clients of a
// server may lose their watches at the same moment.
constexpr Duration kWatchLong = std::chrono::seconds(5);
constexpr Duration kReopenMax = std::chrono::milliseconds(100);
// A watch that brings only blank lines for this long is given up.
constexpr Duration kBlankMax = std::chrono::seconds(10);

constexpr std::string_view kProtobufWatchTypes = "application/vnd.kubernetes.protobuf;stream=watch, application/json";

}  // namespace

void ReflectorWatch::StartInitial(Consistency consistency) {
  asked_version_ = consistency == Consistency::kLatest ? std::string() : shared_.VersionToAskFor();
  OpenInitial();
}

void ReflectorWatch::OpenInitial() {
  Open(true);
  if (is_initial_) WaitForSilence();
}

void ReflectorWatch::Open(bool is_initial) {
  shared_.phases.Begin();
  const std::uint64_t phase = shared_.phases.current();
  is_initial_ = is_initial;
  if (is_initial_) shared_.store.BeginRound();
  frames_.Reset(WatchFrames::Format::kLines);
  shared_.status = 0;
  initial_events_ = 0;
  is_open_ = false;
  is_fruitful_ = false;
  opened_at_ = shared_.loop.Now();
  RestStreamCallbacks callbacks;
  callbacks.on_head = shared_.phases.InPhase([this](const net::Response& head) { shared_.OnHead(head); });
  callbacks.on_open = shared_.phases.InPhase([this] {
    is_open_ = true;
    opened_at_ = event_at_ = shared_.loop.Now();
    using Format = WatchFrames::Format;
    frames_.Reset(shared_.is_protobuf ? Format::kLengths : Format::kLines);
    ++shared_.stats.watches;
    if (!is_initial_) shared_.RecordSuccess();
  });
  callbacks.on_bytes = shared_.phases.InPhase([this](std::string_view bytes) { OnBytes(bytes); });
  callbacks.on_end = shared_.phases.InPhase([this](const Expected<void>& result) { OnEnd(result); });
  auto stream = shared_.rest.Stream(MakeRequest(), {}, std::move(callbacks));
  shared_.phases.KeepStream(phase, std::move(stream));
}

net::Request ReflectorWatch::MakeRequest() {
  const auto spread = static_cast<std::uint64_t>(std::max<std::int64_t>(
      1,
      std::chrono::duration_cast<std::chrono::seconds>(shared_.options.watch_max - shared_.options.watch_min).count()));
  const auto seconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(shared_.options.watch_min).count()) +
      shared_.random.Below(spread);
  net::Request request;
  request.target = WithQuery(shared_.options.path, {{"watch", "true"},
                                                    {"allowWatchBookmarks", "true"},
                                                    {"sendInitialEvents", is_initial_ ? "true" : ""},
                                                    {"resourceVersionMatch", is_initial_ ? "NotOlderThan" : ""},
                                                    {"resourceVersion", is_initial_ ? asked_version_ : version_},
                                                    {"timeoutSeconds", std::to_string(seconds)},
                                                    {"labelSelector", shared_.options.label_selector},
                                                    {"fieldSelector", shared_.options.field_selector}});
  if (shared_.takes_protobuf) request.headers.push_back({"Accept", std::string(kProtobufWatchTypes)});
  return request;
}

void ReflectorWatch::OnBytes(std::string_view bytes) {
  const std::uint64_t phase = shared_.phases.current();
  const auto taken = frames_.Feed(bytes, [this, phase](std::string_view event) {
    if (frames_.format() == WatchFrames::Format::kLengths) {
      TakeFrame(event);
    } else {
      TakeLine(event);
    }
    return shared_.phases.Is(phase);
  });
  if (!taken.ok() && shared_.phases.Is(phase)) LoseHistory(taken.error());
}

// A blank line is a sign of life of the connection. A peer that sends nothing else, not even bookmarks, is no API
// server.
void ReflectorWatch::TakeBlank() {
  if (shared_.loop.Now() - event_at_ < kBlankMax) return;
  Fail(Error{ErrorCode::kUnavailable, "the watch brings blank lines and nothing else"}, false);
}

void ReflectorWatch::TakeFrame(std::string_view frame) {
  const auto event = api::ReadProtobufWatchEvent(frame);
  if (!event.ok()) return Fail(event.error(), true);
  const auto envelope = api::UnwrapUnknown(event->object);
  if (!envelope.ok()) return Fail(envelope.error(), true);
  if (event->type == "ERROR") {
    const auto status = api::ReadProtobufStatus(envelope->raw);
    if (!status.ok()) return Fail(status.error(), true);
    return OnErrorEvent(status->code, status->message);
  }
  const auto meta = api::ReadProtobufMeta(envelope->raw);
  if (!meta.ok()) return Fail(meta.error(), true);
  TakeEvent(event->type, {*meta, nullptr, envelope->raw}, event->type);
}

void ReflectorWatch::TakeLine(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return TakeBlank();
  const auto event = shared_.reader.Parse(line);
  if (!event.ok()) return TakeUnreadable(line, event.error());
  const auto object = codec::FindMember(*event, "object");
  if (!object || !object->is_object()) {
    return Fail(InvalidError("the watch brought no event: \"" + Shown(line) + '"'), true);
  }
  const std::string_view type = codec::StringOrEmpty(*event, "type");
  if (type == "ERROR") {
    return OnErrorEvent(codec::FindInt(*object, "code").value_or(0), codec::StringOrEmpty(*object, "message"));
  }
  TakeEvent(type, {ReadJsonMeta(*object), &*object, {}}, line);
}

// Takes an event whose object is nested too deep or is no JSON. If its type and metadata can be read, the object is set
// aside and the watch goes on.
void ReflectorWatch::TakeUnreadable(std::string_view line, const Error& problem) {
  const std::string type(codec::PlainText(codec::FindSlice(line, "type").value_or(std::string_view())));
  const auto object = codec::FindSlice(line, "object");
  const bool is_change = type == "ADDED" || type == "MODIFIED" || type == "DELETED";
  const api::ProtobufMeta meta = object && is_change ? shared_.ReadUnreadable(*object) : api::ProtobufMeta();
  if (meta.name.empty() || meta.resource_version.empty()) {
    return Fail(InvalidError("the watch brought no event: \"" + Shown(line) + '"'), true);
  }
  TakeEvent(type, {meta, nullptr, {}, &problem}, line);
}

void ReflectorWatch::TakeEvent(std::string_view type, const Arrival& object, std::string_view shown) {
  const std::string_view version = object.meta.resource_version;
  const bool is_change = type == "ADDED" || type == "MODIFIED";
  const bool is_bookmark = type == "BOOKMARK";
  if (version.empty() || (!is_change && type != "DELETED" && !is_bookmark)) {
    return Fail(InvalidError("the watch brought an event of an unknown type or without a resourceVersion: \"" +
                             Shown(shown) + '"'),
                true);
  }
  is_fruitful_ = true;
  event_at_ = shared_.loop.Now();
  if (is_initial_) return TakeInitialEvent(type, object);
  // The version is updated before a handler runs, which may stop the watch: the event must not come again.
  version_.assign(version);
  shared_.RecordVersion(version);
  failures_ = 0;
  garbled_watches_ = 0;
  if (is_change) {
    shared_.store.Upsert(object, ReflectorStore::Source::kWatch);
  } else if (is_bookmark) {
    ++shared_.stats.bookmarks;
  } else {
    shared_.store.Remove(object);
  }
}

void ReflectorWatch::OnErrorEvent(std::int64_t code, std::string_view message) {
  Error error;
  error.code = code == 410 ? ErrorCode::kGone : ErrorCode::kInternal;
  error.message = Shown(message);
  if (error.message.empty()) error.message = "the watch ended with an ERROR event without a message";
  LoseHistory(error);
}

void ReflectorWatch::OnEnd(const Expected<void>& result) {
  if (shared_.IsTypeRefused() && shared_.takes_protobuf) {
    log::Info("client", "Watching as JSON: the API server refuses protobuf", {{"resource", shared_.options.name}});
    shared_.takes_protobuf = false;
    return is_initial_ ? OpenInitial() : Resume();
  }
  if (is_initial_) return OnInitialEnd(result);
  if (result.ok()) {
    const bool was_cut = !frames_.is_between_events();
    const bool was_short = !is_fruitful_ && shared_.loop.Now() - opened_at_ < kWatchShort;
    if (was_cut) return Fail(InvalidError("the watch ended within an event"), false);
    if (was_short) {
      return Fail(Error{ErrorCode::kUnavailable, "the watch ended at once and brought nothing"}, false);
    }
    failures_ = 0;
    return Resume();
  }
  const Duration lasted = is_open_ ? shared_.loop.Now() - opened_at_ : Duration::zero();
  if (result.error().code == ErrorCode::kTimeout && lasted > shared_.options.backoff_max) {
    // Nothing came for a while: either nothing changes and the server sends no bookmarks, or the peer has gone without
    // closing. A new watch shows which.
    log::Info({4, "reflector"}, "client", "Watching again after silence", {{"resource", shared_.options.name}});
    failures_ = 0;
    return Resume();
  }
  switch (result.error().code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kForbidden:
    case ErrorCode::kTooLarge:
    case ErrorCode::kCancelled:
      if (lasted > shared_.options.backoff_max) failures_ = 0;
      return Fail(result.error(), false);
    default: return LoseHistory(result.error());
  }
}

// Watches again from the last version, after a back-off.
void ReflectorWatch::Fail(const Error& error, bool is_garbled) {
  if (is_initial_) return owner_.OnInitialEventsFailed(error);
  if (is_garbled && ++garbled_watches_ >= kGarbledWatchesMax) return LoseHistory(error);
  const bool has_worked = is_open_ && is_fruitful_ && shared_.loop.Now() - opened_at_ >= kWatchLong;
  const Duration delay =
      has_worked ? Duration(shared_.random.Below(kReopenMax.count())) : shared_.Backoff(failures_++, error);
  shared_.Report(error.Wrap("while watching " + shared_.options.name), delay);
  if (shared_.phases.is_stopped()) return;
  shared_.phases.After(delay, [this] { Resume(); });
}

// A server that does not know initial events may never send the bookmark at their end.
void ReflectorWatch::WaitForSilence() {
  const auto seen = initial_events_;
  shared_.phases.ArmTimer(shared_.options.streamed_list_silence, ([this, seen] {
                            if (!is_initial_) return;
                            // While there is no answer the stream's own time-out holds.
                            if (!is_open_ || initial_events_ != seen) return WaitForSilence();
                            owner_.OnInitialEventsRefused(
                                "it brought nothing for " + FormatGoDuration(shared_.options.streamed_list_silence),
                                true);
                          }));
}

// Initial events come in no order of versions, so that the watch cannot go on from one of them. The bookmark at their
// end has the version of their state. Objects that have not come by then are removed.
void ReflectorWatch::TakeInitialEvent(std::string_view type, const Arrival& object) {
  ++initial_events_;
  if (type == "BOOKMARK") {
    ++shared_.stats.bookmarks;
    if (!object.meta.has_initial_events_end) return;
    if (const auto checked = shared_.CheckListVersion(object.meta.resource_version); !checked.ok())
      return owner_.OnInitialEventsFailed(checked.error());
    is_initial_ = false;
    failures_ = 0;
    garbled_watches_ = 0;
    ++shared_.stats.streamed_lists;
    version_.assign(object.meta.resource_version);
    shared_.RecordVersion(version_);
    owner_.OnInitialEventsWhole();
  } else if (type == "DELETED") {
    shared_.store.Remove(object);
  } else {
    shared_.store.Upsert(
        object, shared_.BelievesOlderStates() ? ReflectorStore::Source::kList : ReflectorStore::Source::kWatch);
  }
}

// The stream has ended before the initial events were complete.
void ReflectorWatch::OnInitialEnd(const Expected<void>& result) {
  if (result.ok()) return owner_.OnInitialEventsRefused("it ended before it was whole", true);
  const Error& error = result.error();
  // A server answers 504 that has not reached the version it was asked for.
  if (!asked_version_.empty() && shared_.status == 504) shared_.RecordStaleList();
  switch (error.code) {
    case ErrorCode::kInvalid: return owner_.OnInitialEventsRefused(error.message, true);
    // A client without the right to watch may still list. A server that has just started may not have read its rules
    // yet.
    case ErrorCode::kForbidden: return owner_.OnInitialEventsRefused(error.message, false);
    default: return owner_.OnInitialEventsFailed(error);
  }
}

void ReflectorWatch::LoseHistory(const Error& error) {
  garbled_watches_ = 0;
  owner_.OnHistoryLost(error);
}

}  // namespace berth::client
