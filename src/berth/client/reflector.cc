#include "berth/client/reflector.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/client/reflector_store.h"
#include "berth/client/watch_frames.h"
#include "berth/codec/json_reader.h"

namespace berth::client {
namespace {

using simdjson::dom::element;

// Pages of one list. At 500 objects each this is far beyond what etcd holds; a server that hands out continue tokens
// for ever is broken.
constexpr int kPagesMax = 100'000;
// Watches in a row that brought garbage and nothing else, after which the list is the better source.
constexpr int kGarbledWatchesMax = 3;
// A watch that ends sooner than this without bringing anything is not opened again at once.
constexpr Duration kWatchShort = std::chrono::seconds(1);
constexpr std::size_t kShownLineMax = 80;
constexpr int kPageTries = 4;  // of a page after the first, whose continue token is worth keeping
constexpr Duration kPageTimeout = std::chrono::seconds(60);

constexpr std::string_view kProtobufListTypes = "application/vnd.kubernetes.protobuf, application/json";
constexpr std::string_view kProtobufWatchTypes = "application/vnd.kubernetes.protobuf;stream=watch, application/json";

bool IsProtobuf(const net::Response& head) { return head.Get("Content-Type").starts_with(api::kProtobufMediaType); }

// What a server says that has not the type of answer that was asked for.
bool IsTypeRefusal(int status) { return status == 406 || status == 415; }

api::ProtobufMeta ReadJsonMeta(element object) {
  api::ProtobufMeta meta;
  const auto metadata = codec::FindMember(object, "metadata");
  if (!metadata) return meta;
  meta.name = codec::StringOrEmpty(*metadata, "name");
  meta.namespace_name = codec::StringOrEmpty(*metadata, "namespace");
  meta.uid = codec::StringOrEmpty(*metadata, "uid");
  meta.resource_version = codec::StringOrEmpty(*metadata, "resourceVersion");
  if (const auto annotations = codec::FindMember(*metadata, "annotations")) {
    meta.has_initial_events_end = codec::StringOrEmpty(*annotations, "k8s.io/initial-events-end") == "true";
  }
  return meta;
}

std::string Shown(std::string_view text) {
  std::string line(text.substr(0, kShownLineMax));
  std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

}  // namespace

class Reflector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler)
      : rest_(rest),
        loop_(rest.loop()),
        options_(std::move(options)),
        decoders_(std::move(decoders)),
        handler_(std::move(handler)),
        random_(options_.seed),
        takes_protobuf_(rest.options().takes_protobuf && decoders_.protobuf),
        streams_list_(options_.streams_list),
        store_(options_, decoders_, handler_, loop_, is_stopped_),
        frames_(options_.line_bytes_max) {}

  void Start() {
    loop_.Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (!self->is_stopped_) self->StartList();
    });
  }

  void Stop() {
    std::unique_ptr<net::StreamHandle> stream;
    std::function<void()> cancel_timer;
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      ++phase_;
      stream = std::move(stream_);
      cancel_timer = std::move(cancel_timer_);
    }
    if (cancel_timer) cancel_timer();
  }

  bool HasSynced() const {
    const std::lock_guard lock(mutex_);
    return is_synced_;
  }
  ObjectPtr Find(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    return store_.Find(key);
  }
  void ForEach(const std::function<void(const std::string&, const ObjectPtr&)>& visit) const {
    const std::lock_guard lock(mutex_);
    store_.ForEach(visit);
  }
  ReflectorStats Stats() const {
    const std::lock_guard lock(mutex_);
    ReflectorStats stats = stats_;
    stats.objects = store_.size();
    stats.set_aside = store_.set_aside();
    stats.events = store_.counts().events;
    stats.decode_failures = store_.counts().decode_failures;
    return stats;
  }

 private:
  using Source = ReflectorStore::Source;

  // Wraps a callback of the phase that is beginning: it does nothing once another phase has begun.
  template <typename F>
  auto InPhase(F work) {
    return [weak = weak_from_this(), phase = phase_, work = std::move(work)](auto&&... args) {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (self->is_stopped_ || self->phase_ != phase) return;
      work(*self, std::forward<decltype(args)>(args)...);
    };
  }

  std::uint64_t BeginPhase() {
    stream_.reset();
    cancel_timer_ = {};
    return ++phase_;
  }
  bool IsPhase(std::uint64_t phase) const { return !is_stopped_ && phase_ == phase; }

  // ---- list

  void StartList() {
    if (streams_list_) return StreamList();
    StartPages(true);
  }

  void StartPages(bool in_pages) {
    BeginPhase();
    store_.BeginRound();
    in_pages_ = in_pages;
    pages_ = 0;
    page_failures_ = 0;
    continue_.clear();
    RequestPage();
  }

  void RequestPage() {
    const int size = takes_protobuf_ ? options_.streamed_page_size : options_.page_size;
    net::Request request;
    request.target = WithQuery(options_.path, {{"labelSelector", options_.label_selector},
                                               {"fieldSelector", options_.field_selector},
                                               {"limit", in_pages_ ? std::to_string(size) : ""},
                                               {"continue", continue_}});
    if (takes_protobuf_) return StreamPage(std::move(request));
    const RestOptions rest_options{.timeout = kPageTimeout,
                                   .tries = continue_.empty() ? 1 : kPageTries,
                                   .body_bytes_max = options_.list_bytes_max};
    rest_.Do(std::move(request), rest_options,
             InPhase([](Impl& self, Expected<net::Response> page) { self.OnPage(std::move(page)); }));
  }

  // A page in protobuf, decoded while it arrives. A server that has no protobuf answers with JSON, which is collected.
  void StreamPage(net::Request request) {
    BeginPhase();
    const std::uint64_t phase = phase_;
    status_ = 0;
    page_body_.clear();
    list_reader_.emplace([this, phase](std::string_view item) { return TakeItem(item, phase); },
                         options_.line_bytes_max);
    request.headers.push_back({"Accept", std::string(kProtobufListTypes)});
    RestStreamCallbacks callbacks;
    callbacks.on_head = InPhase([](Impl& self, const net::Response& head) { self.OnHead(head); });
    callbacks.on_bytes = InPhase([](Impl& self, std::string_view bytes) { self.OnPageBytes(bytes); });
    callbacks.on_end = InPhase([](Impl& self, Expected<void> result) { self.OnPageEnd(std::move(result)); });
    auto stream = rest_.Stream(std::move(request), {.head_timeout = kPageTimeout}, std::move(callbacks));
    if (IsPhase(phase)) stream_ = std::move(stream);
  }

  void OnHead(const net::Response& head) {
    status_ = head.status;
    is_protobuf_ = takes_protobuf_ && IsProtobuf(head);
  }

  // One object of a list in protobuf. An error ends the reading.
  Expected<void> TakeItem(std::string_view item, std::uint64_t phase) {
    auto meta = api::ReadProtobufMeta(item);
    if (!meta.ok()) return meta.error();
    store_.Upsert({*meta, nullptr, item}, Source::kList);
    if (!IsPhase(phase)) return Error{ErrorCode::kCancelled, "the reflector was stopped"};
    return {};
  }

  void OnPageBytes(std::string_view bytes) {
    const std::uint64_t phase = phase_;
    if (!is_protobuf_) {
      if (page_body_.size() + bytes.size() > options_.list_bytes_max) {
        return FailList(
            {ErrorCode::kTooLarge, "the list is longer than " + std::to_string(options_.list_bytes_max) + " bytes"});
      }
      page_body_.append(bytes);
      return;
    }
    const auto taken = list_reader_->Feed(bytes);
    if (!taken.ok() && IsPhase(phase)) FailList(taken.error());
  }

  void OnPageEnd(Expected<void> result) {
    if (!result.ok()) return FailPage(result.error());
    page_failures_ = 0;
    if (!is_protobuf_) {
      takes_protobuf_ = false;
      return OnPage(net::Response{200, {}, std::exchange(page_body_, {})});
    }
    ++stats_.pages;
    const auto whole = list_reader_->Finish();
    if (!whole.ok()) return FailList(whole.error());
    if (list_reader_->resource_version().empty()) {
      return FailList(InvalidError("the answer is no list: it has no metadata.resourceVersion"));
    }
    resource_version_listed_ = list_reader_->resource_version();
    continue_ = list_reader_->continue_token();
    list_reader_.reset();
    NextPage(continue_.empty(), phase_);
  }

  void FailPage(const Error& error) {
    if (IsTypeRefusal(status_)) {
      log::Info("client", "Listing as JSON: the API server refuses protobuf", {{"resource", options_.name}});
      takes_protobuf_ = false;
      return RequestPage();
    }
    const bool is_passing = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                            error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kUnauthorized;
    if (!is_passing || continue_.empty() || ++page_failures_ >= kPageTries) return OnPage(error);
    // The pages before it are worth keeping; what this one has told already will be found known.
    After(Backoff(page_failures_ - 1, error), [](Impl& self) { self.RequestPage(); });
  }

  void OnPage(Expected<net::Response> page) {
    const std::uint64_t phase = phase_;
    if (!page.ok()) {
      if (page.error().code == ErrorCode::kGone && in_pages_ && !continue_.empty()) {
        // The token has outlived the server's history. Pages would meet the same end again, so ask for all at once, as
        // client-go does. What the pages have told already is in the store, and the new list corrects it.
        log::Info("client", "Listing again in one piece: the list's pages expired", {{"resource", options_.name}});
        ++stats_.failures;
        return StartPages(false);
      }
      return FailList(page.error());
    }
    ++stats_.pages;
    const Expected<bool> is_last = TakePage(page->body, phase);
    if (!IsPhase(phase)) return;
    if (!is_last.ok()) return FailList(is_last.error());
    NextPage(*is_last, phase);
  }

  void NextPage(bool is_last, std::uint64_t phase) {
    if (!is_last) {
      if (++pages_ >= kPagesMax) return FailList(InvalidError("the list does not end: the server may be broken"));
      return RequestPage();
    }
    if (FinishList(resource_version_listed_, phase)) StartWatch();
  }

  // Takes in the objects of a page. True: it was the last one.
  Expected<bool> TakePage(const std::string& body, std::uint64_t phase) {
    auto page = reader_.Parse(body);
    if (!page.ok()) return page.error().Wrap("while reading the list \"" + Shown(body) + '"');
    const auto metadata = codec::FindMember(*page, "metadata");
    const auto items = codec::FindMember(*page, "items");
    const std::string_view version = metadata ? codec::StringOrEmpty(*metadata, "resourceVersion") : std::string_view();
    if (version.empty() || !items || (!items->is_array() && !items->is_null())) {
      return InvalidError("the answer is no list: it has no metadata.resourceVersion or no items: \"" + Shown(body) +
                          '"');
    }
    if (items->is_array()) {
      // Not in the loop's head: value() of a temporary refers into it.
      const simdjson::dom::array objects = items->get_array().value();
      for (const element item : objects) {
        store_.Upsert({ReadJsonMeta(item), &item, {}}, Source::kList);
        if (!IsPhase(phase)) return true;
      }
    }
    resource_version_listed_ = std::string(version);
    continue_ = std::string(codec::StringOrEmpty(*metadata, "continue"));
    return continue_.empty();
  }

  // False when a handler has stopped us.
  bool FinishList(const std::string& version, std::uint64_t phase) {
    if (!store_.EndRound() || !IsPhase(phase)) return false;
    ++stats_.lists;
    list_failures_ = 0;
    if (std::exchange(is_missing_, false)) {
      log::Info("client", "The API server serves this kind now", {{"resource", options_.name}});
    }
    reader_ = codec::JsonReader();  // Pages need megabytes, watch events do not.
    resource_version_ = version;
    return TellSynced(phase);
  }

  // False when the handler has stopped us.
  bool TellSynced(std::uint64_t phase) {
    if (is_synced_) return true;
    is_synced_ = true;
    if (handler_.on_synced) handler_.on_synced();
    return IsPhase(phase);
  }

  // The server does not know the resource. What was known before stays, as after any other failure.
  void MissList(const Error& error) {
    const std::uint64_t phase = phase_;
    const Duration delay = options_.missing_retry +
                           Duration(random_.Below(static_cast<std::uint64_t>(options_.missing_retry.count()) + 1));
    ++stats_.failures;
    list_failures_ = 0;
    if (!std::exchange(is_missing_, true)) {
      log::Warning("client", "The API server does not serve this kind: there is nothing of it until it does",
                   {{"resource", options_.name}, {"path", options_.path}});
      if (handler_.on_failure) handler_.on_failure(error);
      if (!IsPhase(phase)) return;
    }
    if (!TellSynced(phase)) return;
    After(delay, [](Impl& self) { self.StartList(); });
  }

  void FailList(const Error& error) {
    if (error.code == ErrorCode::kNotFound && options_.may_be_missing) return MissList(error);
    const Duration delay = Backoff(list_failures_++, error);
    Report(error.Wrap("while listing " + options_.name), delay);
    if (is_stopped_) return;
    After(delay, [](Impl& self) { self.StartList(); });
  }

  // ---- watch

  void StartWatch() { OpenWatch(false); }

  // A watch that begins with all objects there are, as events.
  void StreamList() {
    OpenWatch(true);
    if (is_initial_) WaitForSilence();
  }

  void OpenWatch(bool is_initial) {
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

  net::Request WatchRequest() {
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

  // A server that does not know what initial events are might never say that they are over.
  void WaitForSilence() {
    const auto seen = initial_events_;
    cancel_timer_ = loop_.PostAfter(
        options_.streamed_list_silence, InPhase([seen](Impl& self) {
          if (!self.is_initial_) return;
          // Without an answer the stream's own time-out ends it.
          if (!self.is_watch_open_ || self.initial_events_ != seen) return self.WaitForSilence();
          self.ListInstead("it brought nothing for " + FormatGoDuration(self.options_.streamed_list_silence), true);
        }));
  }

  // `for_good`: also from now on.
  void ListInstead(const std::string& why, bool for_good) {
    if (for_good) streams_list_ = false;
    log::Info("client", "Listing in pages: the API server did not stream the list",
              {{"resource", options_.name}, {"reason", why}});
    StartPages(true);
  }

  void OnBytes(std::string_view bytes) {
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

  void TakeFrame(std::string_view frame) {
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

  void TakeLine(std::string_view line) {
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

  void TakeEvent(std::string_view type, const Arrival& object, std::string_view shown) {
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

  // Their versions are in no order, so that none is a place to go on from; what was not told when they are over is
  // gone.
  void TakeInitialEvent(std::string_view type, const Arrival& object) {
    ++initial_events_;
    if (type == "BOOKMARK") {
      ++stats_.bookmarks;
      if (!object.meta.has_initial_events_end) return;
      is_initial_ = false;
      watch_failures_ = 0;
      garbled_watches_ = 0;
      ++stats_.streamed_lists;
      FinishList(std::string(object.meta.resource_version), phase_);
    } else if (type == "DELETED") {
      store_.Remove(object);
    } else {
      store_.Upsert(object, Source::kList);
    }
  }

  void OnErrorEvent(std::int64_t code, std::string_view message) {
    Error error;
    error.code = code == 410 ? ErrorCode::kGone : ErrorCode::kInternal;
    error.message = Shown(message);
    if (error.message.empty()) error.message = "the watch ended with an ERROR event without a message";
    Relist(error);
  }

  // The streamed list has ended before it was whole.
  void OnInitialEnd(const Expected<void>& result) {
    if (result.ok()) return ListInstead("it ended before it was whole", true);
    const Error& error = result.error();
    switch (error.code) {
      case ErrorCode::kInvalid: return ListInstead(error.message, true);
      // Whoever may not watch may still list; rules that the server has not read yet pass.
      case ErrorCode::kForbidden: return ListInstead(error.message, false);
      default: return FailList(error);
    }
  }

  void OnWatchEnd(Expected<void> result) {
    if (IsTypeRefusal(status_) && takes_protobuf_) {
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
  void FailWatch(const Error& error, bool is_garbled) {
    if (is_initial_) return FailList(error);
    if (is_garbled && ++garbled_watches_ >= kGarbledWatchesMax) return Relist(error);
    const Duration delay = Backoff(watch_failures_++, error);
    Report(error.Wrap("while watching " + options_.name), delay);
    if (is_stopped_) return;
    After(delay, [](Impl& self) { self.StartWatch(); });
  }

  // History is lost. The first time the list follows at once, since until then we are blind.
  void Relist(const Error& error) {
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

  // ---- failure

  Duration Backoff(int failures, const Error& error) {
    const Duration base =
        std::min(options_.backoff_max, options_.backoff_min * (std::int64_t{1} << std::min(failures, 20)));
    const Duration wait = base + Duration(random_.Below(static_cast<std::uint64_t>(base.count()) + 1));
    const Duration asked = std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
    return std::max(std::min(wait, options_.backoff_max), asked);
  }

  void Report(const Error& error, Duration delay) {
    ++stats_.failures;
    // Without an answer it is the same for every kind of object, and said once.
    const bool is_away = error.code == ErrorCode::kUnavailable && status_ < 300;
    const std::string lead = is_away ? "The API server is away, all watches go on when it is back: " : "";
    if (!is_away || rest_.BeginOutage()) {
      log::Warning("client", lead + error.message,
                   {{"resource", options_.name}, {"retry_in", FormatGoDuration(delay)}});
    }
    if (handler_.on_failure) handler_.on_failure(error);
  }

  void After(Duration delay, void (*work)(Impl&)) {
    BeginPhase();
    cancel_timer_ = loop_.PostAfter(delay, InPhase([work](Impl& self) { work(self); }));
  }

  RestClient& rest_;
  EventLoop& loop_;
  const ReflectorOptions options_;
  const Decoders decoders_;
  const Handler handler_;

  // Held while a handler runs, so that Stop() can wait for it; recursive, so that a handler may call Stop() and Find().
  mutable std::recursive_mutex mutex_;
  bool is_stopped_ = false;
  bool is_synced_ = false;
  std::uint64_t phase_ = 0;  // a list, a watch, or a wait; callbacks of earlier ones do nothing
  Random random_;
  codec::JsonReader reader_;
  bool takes_protobuf_;  // until the server shows that it has none
  bool streams_list_;    // until the server shows that it does not
  ReflectorStore store_;

  bool in_pages_ = true;
  int pages_ = 0;
  int page_failures_ = 0;  // of the page that is being streamed
  std::optional<api::ProtobufListReader> list_reader_;
  std::string page_body_;  // of a page that was asked for as protobuf and came as JSON
  std::string continue_;
  std::string resource_version_listed_;
  int list_failures_ = 0;
  bool is_missing_ = false;  // the last list found that the server does not serve the resource

  std::string resource_version_;  // the watch goes on from here
  std::unique_ptr<net::StreamHandle> stream_;
  int status_ = 0;            // of the stream's answer; 0 before it
  bool is_protobuf_ = false;  // the stream's bytes
  bool is_initial_ = false;   // the watch is telling the list
  std::uint64_t initial_events_ = 0;
  WatchFrames frames_;
  bool is_watch_open_ = false;
  bool is_watch_fruitful_ = false;  // it brought an event or a bookmark
  Time watch_opened_at_{};
  int watch_failures_ = 0;
  int garbled_watches_ = 0;
  std::optional<Time> relisted_at_;
  int relist_failures_ = 0;

  std::function<void()> cancel_timer_;
  ReflectorStats stats_;
};

Reflector::Reflector(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler)
    : impl_(std::make_shared<Impl>(rest, std::move(options), std::move(decoders), std::move(handler))) {}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() { impl_->Start(); }
void Reflector::Stop() { impl_->Stop(); }
bool Reflector::HasSynced() const { return impl_->HasSynced(); }
Reflector::ObjectPtr Reflector::Find(std::string_view key) const { return impl_->Find(key); }
void Reflector::ForEach(const std::function<void(const std::string& key, const ObjectPtr& object)>& visit) const {
  impl_->ForEach(visit);
}
ReflectorStats Reflector::Stats() const { return impl_->Stats(); }

}  // namespace berth::client
