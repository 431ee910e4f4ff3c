#include "berth/shell/client/reflector.h"

#include <algorithm>

#include "berth/base/log.h"
#include "berth/shell/client/reflector_impl.h"

namespace berth::client {
namespace {

constexpr std::size_t kShownLineMax = 80;

bool IsProtobuf(const net::Response& head) { return head.Get("Content-Type").starts_with(api::kProtobufMediaType); }

}  // namespace

api::ProtobufMeta ReadJsonMeta(const simdjson::dom::element& object) {
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

Reflector::Impl::Impl(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler)
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

void Reflector::Impl::Start() {
  loop_.Post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    if (!self->is_stopped_) self->StartList();
  });
}

void Reflector::Impl::Stop() {
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

bool Reflector::Impl::HasSynced() const {
  const std::lock_guard lock(mutex_);
  return is_synced_;
}

Reflector::ObjectPtr Reflector::Impl::Find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return store_.Find(key);
}

void Reflector::Impl::ForEach(const std::function<void(const std::string&, const ObjectPtr&)>& visit) const {
  const std::lock_guard lock(mutex_);
  store_.ForEach(visit);
}

ReflectorStats Reflector::Impl::Stats() const {
  const std::lock_guard lock(mutex_);
  ReflectorStats stats = stats_;
  stats.objects = store_.size();
  stats.set_aside = store_.set_aside();
  stats.events = store_.counts().events;
  stats.decode_failures = store_.counts().decode_failures;
  return stats;
}

std::uint64_t Reflector::Impl::BeginPhase() {
  stream_.reset();
  cancel_timer_ = {};
  return ++phase_;
}

void Reflector::Impl::OnHead(const net::Response& head) {
  status_ = head.status;
  is_protobuf_ = takes_protobuf_ && IsProtobuf(head);
}

Duration Reflector::Impl::Backoff(int failures, const Error& error) {
  const Duration base =
      std::min(options_.backoff_max, options_.backoff_min * (std::int64_t{1} << std::min(failures, 20)));
  const Duration wait = base + Duration(random_.Below(static_cast<std::uint64_t>(base.count()) + 1));
  const Duration asked = std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
  return std::max(std::min(wait, options_.backoff_max), asked);
}

void Reflector::Impl::Report(const Error& error, Duration delay) {
  ++stats_.failures;
  // Without an answer it is the same for every kind of object, and said once.
  const bool is_away = error.code == ErrorCode::kUnavailable && status_ < 300;
  const std::string lead = is_away ? "The API server is away, all watches go on when it is back: " : "";
  if (!is_away || rest_.BeginOutage()) {
    log::Warning("client", lead + error.message, {{"resource", options_.name}, {"retry_in", FormatGoDuration(delay)}});
  }
  if (handler_.on_failure) handler_.on_failure(error);
}

void Reflector::Impl::After(Duration delay, void (*work)(Impl&)) {
  BeginPhase();
  cancel_timer_ = loop_.PostAfter(delay, InPhase([work](Impl& self) { work(self); }));
}

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
