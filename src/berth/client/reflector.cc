#include "berth/client/reflector.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
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
constexpr int kSetAsideLinesPerMinute = 20;
constexpr std::size_t kShownLineMax = 80;
constexpr std::size_t kRetainedLineBytesMax = std::size_t{1} << 20;
constexpr int kPageTries = 4;  // of a page after the first, whose continue token is worth keeping
constexpr Duration kPageTimeout = std::chrono::seconds(60);

// A resourceVersion in one word. Numbers, which is what API servers use, can be ordered; of anything else only equality
// is known.
class Version {
 public:
  Version() = default;
  explicit Version(std::string_view text) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value_);
    if (problem != std::errc() || end != text.data() + text.size() || (value_ & kOpaque) != 0) {
      value_ = std::hash<std::string_view>{}(text) | kOpaque;
    }
  }
  bool operator==(const Version&) const = default;
  bool IsNotAfter(Version other) const {
    return value_ == other.value_ || (((value_ | other.value_) & kOpaque) == 0 && value_ < other.value_);
  }

 private:
  static constexpr std::uint64_t kOpaque = std::uint64_t{1} << 63;
  std::uint64_t value_ = 0;
};

std::string Shown(std::string_view text) {
  std::string line(text.substr(0, kShownLineMax));
  std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

}  // namespace

class Reflector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(RestClient& rest, ReflectorOptions options, Decode decode, Handler handler)
      : rest_(rest),
        loop_(rest.loop()),
        options_(std::move(options)),
        decode_(std::move(decode)),
        handler_(std::move(handler)),
        random_(options_.seed) {}

  void Start() {
    loop_.Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (!self->is_stopped_) self->StartList(true);
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
    const auto it = store_.find(key);
    return it == store_.end() ? nullptr : it->second.object;
  }
  void ForEach(const std::function<void(const std::string&, const ObjectPtr&)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : store_) visit(key, entry.object);
  }
  ReflectorStats Stats() const {
    const std::lock_guard lock(mutex_);
    ReflectorStats stats = stats_;
    stats.objects = store_.size();
    stats.set_aside = set_aside_.size();
    return stats;
  }

 private:
  struct Entry {
    Version version;
    std::uint64_t uid_hash = 0;  // 0: the object has none
    std::uint32_t round = 0;     // of the list that saw it last
    ObjectPtr object;
  };
  struct SetAside {
    Version version;
    std::uint32_t round = 0;
  };
  enum class Source : std::uint8_t { kList, kWatch };

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

  void StartList(bool in_pages) {
    BeginPhase();
    ++round_;
    in_pages_ = in_pages;
    pages_ = 0;
    continue_.clear();
    RequestPage();
  }

  void RequestPage() {
    net::Request request;
    request.target = WithQuery(options_.path, {{"labelSelector", options_.label_selector},
                                               {"fieldSelector", options_.field_selector},
                                               {"limit", in_pages_ ? std::to_string(options_.page_size) : ""},
                                               {"continue", continue_}});
    const RestOptions rest_options{.timeout = kPageTimeout,
                                   .tries = continue_.empty() ? 1 : kPageTries,
                                   .body_bytes_max = options_.list_bytes_max};
    rest_.Do(std::move(request), rest_options,
             InPhase([](Impl& self, Expected<net::Response> page) { self.OnPage(std::move(page)); }));
  }

  void OnPage(Expected<net::Response> page) {
    const std::uint64_t phase = phase_;
    if (!page.ok()) {
      if (page.error().code == ErrorCode::kGone && in_pages_ && !continue_.empty()) {
        // The token has outlived the server's history. Pages would meet the same end again, so ask for all at once, as
        // client-go does. What the pages have told already is in the store, and the new list corrects it.
        log::Info("client", "Listing again in one piece: the list's pages expired", {{"resource", options_.name}});
        ++stats_.failures;
        return StartList(false);
      }
      return FailList(page.error());
    }
    ++stats_.pages;
    const Expected<bool> is_last = TakePage(page->body, phase);
    if (!IsPhase(phase)) return;
    if (!is_last.ok()) return FailList(is_last.error());
    if (!*is_last) {
      if (++pages_ >= kPagesMax) return FailList(InvalidError("the list does not end: the server may be broken"));
      return RequestPage();
    }
    FinishList(phase);
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
        Upsert(item, Source::kList);
        if (!IsPhase(phase)) return true;
      }
    }
    resource_version_listed_ = std::string(version);
    continue_ = std::string(codec::StringOrEmpty(*metadata, "continue"));
    return continue_.empty();
  }

  void FinishList(std::uint64_t phase) {
    // What the list did not show has gone meanwhile. Sorted, so that the order is the same in every run.
    std::vector<std::string> gone;
    for (const auto& [key, entry] : store_) {
      if (entry.round != round_) gone.push_back(key);
    }
    std::sort(gone.begin(), gone.end());
    for (const std::string& key : gone) {
      Forget(key);
      if (!IsPhase(phase)) return;
    }
    absl::erase_if(set_aside_, [this](const auto& item) { return item.second.round != round_; });

    ++stats_.lists;
    list_failures_ = 0;
    if (std::exchange(is_missing_, false)) {
      log::Info("client", "The API server serves this kind now", {{"resource", options_.name}});
    }
    reader_ = codec::JsonReader();  // Pages need megabytes, watch events do not.
    resource_version_ = resource_version_listed_;
    if (!TellSynced(phase)) return;
    StartWatch();
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
    After(delay, [](Impl& self) { self.StartList(true); });
  }

  void FailList(const Error& error) {
    if (error.code == ErrorCode::kNotFound && options_.may_be_missing) return MissList(error);
    const Duration delay = Backoff(list_failures_++, error);
    Report(error.Wrap("while listing " + options_.name), delay);
    if (is_stopped_) return;
    After(delay, [](Impl& self) { self.StartList(true); });
  }

  // ---- watch

  void StartWatch() {
    BeginPhase();
    const std::uint64_t phase = phase_;
    buffer_.clear();
    is_watch_open_ = false;
    is_watch_fruitful_ = false;
    watch_opened_at_ = loop_.Now();
    const auto spread = static_cast<std::uint64_t>(std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::seconds>(options_.watch_max - options_.watch_min).count()));
    const auto seconds =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(options_.watch_min).count()) +
        random_.Below(spread);
    net::Request request;
    request.target = WithQuery(options_.path, {{"watch", "true"},
                                               {"allowWatchBookmarks", "true"},
                                               {"resourceVersion", resource_version_},
                                               {"timeoutSeconds", std::to_string(seconds)},
                                               {"labelSelector", options_.label_selector},
                                               {"fieldSelector", options_.field_selector}});
    RestStreamCallbacks callbacks;
    callbacks.on_open = InPhase([](Impl& self) {
      self.is_watch_open_ = true;
      self.watch_opened_at_ = self.loop_.Now();
      ++self.stats_.watches;
    });
    callbacks.on_bytes = InPhase([](Impl& self, std::string_view bytes) { self.OnBytes(bytes); });
    callbacks.on_end = InPhase([](Impl& self, Expected<void> result) { self.OnWatchEnd(std::move(result)); });
    auto stream = rest_.Stream(std::move(request), {}, std::move(callbacks));
    // It may have ended already, and another phase begun.
    if (IsPhase(phase)) stream_ = std::move(stream);
  }

  void OnBytes(std::string_view bytes) {
    const std::uint64_t phase = phase_;
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (buffer_.size() + part.size() > options_.line_bytes_max) {
        return Relist(Error{ErrorCode::kTooLarge,
                            "a watch event is longer than " + std::to_string(options_.line_bytes_max) + " bytes"});
      }
      if (end == std::string_view::npos) {
        buffer_.append(part);
        return;
      }
      bytes.remove_prefix(end + 1);
      if (buffer_.empty()) {
        TakeLine(part);
      } else {
        buffer_.append(part);
        line_.swap(buffer_);
        buffer_.clear();
        TakeLine(line_);
        if (line_.capacity() > kRetainedLineBytesMax) line_ = {};
      }
      if (!IsPhase(phase)) return;
    }
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
    if (type == "ERROR") return OnErrorEvent(*object);

    const auto metadata = codec::FindMember(*object, "metadata");
    const std::string_view version = metadata ? codec::StringOrEmpty(*metadata, "resourceVersion") : std::string_view();
    const bool is_change = type == "ADDED" || type == "MODIFIED";
    if (version.empty() || (!is_change && type != "DELETED" && type != "BOOKMARK")) {
      return FailWatch(InvalidError("the watch brought an event of an unknown type or without a resourceVersion: \"" +
                                    Shown(line) + '"'),
                       true);
    }
    // First: a handler that stops us must not find the same event again.
    resource_version_ = std::string(version);
    is_watch_fruitful_ = true;
    watch_failures_ = 0;
    garbled_watches_ = 0;
    if (is_change) {
      Upsert(*object, Source::kWatch);
    } else if (type == "DELETED") {
      Remove(*object);
    } else {
      ++stats_.bookmarks;
    }
  }

  void OnErrorEvent(element status) {
    Error error;
    error.code = codec::FindInt(status, "code") == 410 ? ErrorCode::kGone : ErrorCode::kInternal;
    error.message = Shown(codec::StringOrEmpty(status, "message"));
    if (error.message.empty()) error.message = "the watch ended with an ERROR event without a message";
    Relist(error);
  }

  void OnWatchEnd(Expected<void> result) {
    if (result.ok()) {
      const bool was_cut = !buffer_.empty();
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
    After(delay, [](Impl& self) { self.StartList(true); });
  }

  // ---- the store

  // The object's key, in key_; false when it has no name.
  bool ReadIdentity(element object, Version& version, std::uint64_t& uid_hash) {
    const auto metadata = codec::FindMember(object, "metadata");
    if (!metadata) return false;
    const std::string_view name = codec::StringOrEmpty(*metadata, "name");
    if (name.empty()) return false;
    key_.assign(codec::StringOrEmpty(*metadata, "namespace"));
    if (!key_.empty()) key_ += '/';
    key_.append(name);
    version = Version(codec::StringOrEmpty(*metadata, "resourceVersion"));
    const std::string_view uid = codec::StringOrEmpty(*metadata, "uid");
    uid_hash = uid.empty() ? 0 : (std::hash<std::string_view>{}(uid) | 1);
    return true;
  }

  void Upsert(element object, Source source) {
    Version version;
    std::uint64_t uid_hash = 0;
    if (!ReadIdentity(object, version, uid_hash)) {
      ++stats_.decode_failures;
      LogSetAside("", "it has no metadata.name");
      return;
    }
    const auto known = store_.find(std::string_view(key_));
    const bool is_known = known != store_.end();
    if (is_known) known->second.round = round_;
    // A list is the truth, whatever its numbers: after a restore of etcd they are smaller. A watch may repeat itself.
    if (is_known &&
        (source == Source::kList ? version == known->second.version : version.IsNotAfter(known->second.version))) {
      return;
    }
    const bool is_replaced =
        is_known && known->second.uid_hash != 0 && uid_hash != 0 && known->second.uid_hash != uid_hash;

    auto decoded = decode_(object);
    if (!decoded.ok() || *decoded == nullptr) {
      const std::string key = key_;
      const bool is_new = KeepAside(key, version);
      if (is_new) LogSetAside(key, decoded.ok() ? "it decodes to nothing" : decoded.error().message);
      // The one that we know is another object and has gone, whatever the new one is.
      if (is_replaced) Forget(key);
      return;
    }
    if (!set_aside_.empty()) set_aside_.erase(std::string_view(key_));
    ++stats_.events;
    const ObjectPtr current = std::move(decoded).value();
    if (!is_known) {
      store_.emplace(key_, Entry{version, uid_hash, round_, current});
      if (handler_.on_add) handler_.on_add(current);
      return;
    }
    Entry& entry = known->second;
    const ObjectPtr before = std::exchange(entry.object, current);
    entry.version = version;
    entry.uid_hash = uid_hash;
    if (!is_replaced) {
      if (handler_.on_update) handler_.on_update(before, current);
      return;
    }
    if (handler_.on_delete) handler_.on_delete(before);
    if (!is_stopped_ && handler_.on_add) handler_.on_add(current);
  }

  void Remove(element object) {
    Version version;
    std::uint64_t uid_hash = 0;
    if (!ReadIdentity(object, version, uid_hash)) return;
    const auto known = store_.find(std::string_view(key_));
    // A repeated deletion of an earlier object of that name says nothing about the present one.
    if (known != store_.end() && version != known->second.version && version.IsNotAfter(known->second.version)) return;
    set_aside_.erase(std::string_view(key_));
    Forget(std::string(key_));
  }

  void Forget(const std::string& key) {
    const auto known = store_.find(key);
    if (known == store_.end()) return;
    const ObjectPtr last_known = std::move(known->second.object);
    store_.erase(known);
    ++stats_.events;
    if (handler_.on_delete) handler_.on_delete(last_known);
  }

  // False when this version was set aside before.
  bool KeepAside(const std::string& key, Version version) {
    ++stats_.decode_failures;
    const auto [it, is_new] = set_aside_.try_emplace(key, SetAside{version, round_});
    const bool is_other = is_new || it->second.version != version;
    it->second = SetAside{version, round_};
    return is_other;
  }

  void LogSetAside(const std::string& key, const std::string& why) {
    if (loop_.Now() - set_aside_minute_ >= std::chrono::minutes(1)) {
      if (set_aside_lines_ > kSetAsideLinesPerMinute) {
        log::Warning("client", "More objects were set aside",
                     {{"resource", options_.name}, {"count", set_aside_lines_ - kSetAsideLinesPerMinute}});
      }
      set_aside_minute_ = loop_.Now();
      set_aside_lines_ = 0;
    }
    if (++set_aside_lines_ > kSetAsideLinesPerMinute) return;
    log::Warning("client", "An object is set aside: it cannot be read",
                 {{"resource", options_.name}, {"object", key}, {"reason", why}});
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
    log::Warning("client", error.message, {{"resource", options_.name}, {"retry_in", FormatGoDuration(delay)}});
    if (handler_.on_failure) handler_.on_failure(error);
  }

  void After(Duration delay, void (*work)(Impl&)) {
    BeginPhase();
    cancel_timer_ = loop_.PostAfter(delay, InPhase([work](Impl& self) { work(self); }));
  }

  RestClient& rest_;
  EventLoop& loop_;
  const ReflectorOptions options_;
  const Decode decode_;
  const Handler handler_;

  // Held while a handler runs, so that Stop() can wait for it; recursive, so that a handler may call Stop() and Find().
  mutable std::recursive_mutex mutex_;
  bool is_stopped_ = false;
  bool is_synced_ = false;
  std::uint64_t phase_ = 0;  // a list, a watch, or a wait; callbacks of earlier ones do nothing
  Random random_;
  codec::JsonReader reader_;

  StringHashMap<Entry> store_;
  StringHashMap<SetAside> set_aside_;
  std::string key_;

  std::uint32_t round_ = 0;
  bool in_pages_ = true;
  int pages_ = 0;
  std::string continue_;
  std::string resource_version_listed_;
  int list_failures_ = 0;
  bool is_missing_ = false;  // the last list found that the server does not serve the resource

  std::string resource_version_;  // the watch goes on from here
  std::unique_ptr<net::StreamHandle> stream_;
  std::string buffer_;  // the part of an event that has come so far
  std::string line_;
  bool is_watch_open_ = false;
  bool is_watch_fruitful_ = false;  // it brought an event or a bookmark
  Time watch_opened_at_{};
  int watch_failures_ = 0;
  int garbled_watches_ = 0;
  std::optional<Time> relisted_at_;
  int relist_failures_ = 0;

  std::function<void()> cancel_timer_;
  Time set_aside_minute_{};
  int set_aside_lines_ = 0;
  ReflectorStats stats_;
};

Reflector::Reflector(RestClient& rest, ReflectorOptions options, Decode decode, Handler handler)
    : impl_(std::make_shared<Impl>(rest, std::move(options), std::move(decode), std::move(handler))) {}

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
