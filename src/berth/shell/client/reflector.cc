// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/base/log.h"
#include "berth/shell/client/reflector_list.h"
#include "berth/shell/client/reflector_shared.h"
#include "berth/shell/client/reflector_watch.h"

namespace berth::client {

// Decides whether a list, a watch or a wait comes next. Private methods run on the loop's thread, with the lock of the
// phases held.
class Reflector::Impl final : public std::enable_shared_from_this<Impl>,
                              private ReflectorList::Owner,
                              private ReflectorWatch::Owner {
 public:
  Impl(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler)
      : shared_(rest, std::move(options), std::move(decoders), std::move(handler)),
        streams_list_(shared_.options.streams_list) {}

  void Start() {
    shared_.phases.SetOwner(weak_from_this());
    shared_.phases.Post([this] { StartList(); });
  }
  void Refresh(std::function<void()> on_fresh) {
    shared_.phases.Post([this, on_fresh = std::move(on_fresh)]() mutable {
      on_fresh_ = std::move(on_fresh);
      StartList();
    });
  }
  void Stop() { shared_.phases.Stop(); }

  bool HasSynced() const {
    const std::lock_guard lock(shared_.phases.mutex());
    return is_synced_;
  }

  ObjectPtr Find(std::string_view key) const {
    const std::lock_guard lock(shared_.phases.mutex());
    return shared_.store.Find(key);
  }

  void ForEach(const std::function<void(const std::string&, const ObjectPtr&)>& visit) const {
    const std::lock_guard lock(shared_.phases.mutex());
    shared_.store.ForEach(visit);
  }

  ReflectorStats Stats() const {
    const std::lock_guard lock(shared_.phases.mutex());
    ReflectorStats stats = shared_.stats;
    stats.objects = shared_.store.size();
    stats.set_aside = shared_.store.set_aside();
    stats.events = shared_.store.counts().events;
    stats.decode_failures = shared_.store.counts().decode_failures;
    return stats;
  }

 private:
  void OnListWhole(const std::string& version) override {
    if (FinishList()) watch_.Start(version);
  }
  void OnListFailed(const Error& error) override { FailList(error); }

  void OnInitialEventsWhole() override { FinishList(); }
  void OnInitialEventsRefused(const std::string& why, bool for_good) override;
  void OnInitialEventsFailed(const Error& error) override { FailList(error); }
  void OnHistoryLost(const Error& error) override;

  void StartList();
  bool FinishList();
  bool ReportSynced(std::uint64_t phase);
  void MissList(const Error& error);
  void FailList(const Error& error);
  void ListAfter(Duration delay) {
    shared_.phases.After(delay, [this] { StartList(); });
  }

  ReflectorShared shared_;
  ReflectorList list_{shared_, *this};
  ReflectorWatch watch_{shared_, *this};
  bool streams_list_;  // until the server shows that it does not
  bool is_synced_ = false;
  std::function<void()> on_fresh_;  // of a Refresh() whose list is not complete yet
  bool is_missing_ = false;         // the last list found that the server does not serve the resource
  int list_failures_ = 0;
  std::optional<Time> relisted_at_;
  int relist_failures_ = 0;
};

void Reflector::Impl::StartList() {
  // For a refresh only the latest state will do: a replica that lags could answer with what was seen before.
  using enum ReflectorWatch::Consistency;
  if (streams_list_) return watch_.StartInitial(on_fresh_ ? kLatest : kNotOlderThanSeen);
  list_.Start();
}

// False when a handler has stopped us.
bool Reflector::Impl::FinishList() {
  const std::uint64_t phase = shared_.phases.current();
  if (!shared_.store.EndRound() || !shared_.phases.Is(phase)) return false;
  ++shared_.stats.lists;
  shared_.RecordSuccess();
  list_failures_ = 0;
  if (std::exchange(is_missing_, false)) {
    log::Info("client", "The API server serves this kind now", {{"resource", shared_.options.name}});
  }
  shared_.reader = codec::JsonReader();  // Pages need megabytes, watch events do not.
  return ReportSynced(phase);
}

// False when the handler has stopped us.
bool Reflector::Impl::ReportSynced(std::uint64_t phase) {
  if (!std::exchange(is_synced_, true) && shared_.handler.on_synced) shared_.handler.on_synced();
  if (shared_.phases.Is(phase) && on_fresh_) std::exchange(on_fresh_, nullptr)();
  return shared_.phases.Is(phase);
}

// The server does not know the resource. The store keeps its objects, as after any other failure.
void Reflector::Impl::MissList(const Error& error) {
  const std::uint64_t phase = shared_.phases.current();
  const Duration delay =
      shared_.options.missing_retry +
      Duration(shared_.random.Below(static_cast<std::uint64_t>(shared_.options.missing_retry.count()) + 1));
  ++shared_.stats.failures;
  list_failures_ = 0;
  if (!std::exchange(is_missing_, true)) {
    log::Warning("client", "The API server does not serve this kind: there is nothing of it until it does",
                 {{"resource", shared_.options.name}, {"path", shared_.options.path}});
    if (shared_.handler.on_failure) shared_.handler.on_failure(error);
    if (!shared_.phases.Is(phase)) return;
  }
  if (!ReportSynced(phase)) return;
  ListAfter(delay);
}

void Reflector::Impl::FailList(const Error& error) {
  if (error.code == ErrorCode::kNotFound && shared_.options.may_be_missing) return MissList(error);
  const Duration delay = shared_.Backoff(list_failures_++, error);
  shared_.Report(error.Wrap("while listing " + shared_.options.name), delay);
  if (shared_.phases.is_stopped()) return;
  ListAfter(delay);
}

// The API server does not stream the list this time or, with `for_good`, at all.
void Reflector::Impl::OnInitialEventsRefused(const std::string& why, bool for_good) {
  if (for_good) streams_list_ = false;
  // A missing right is not logged here: the list that follows reports it if it is refused as well.
  if (for_good) {
    log::Info("client", "Listing in pages: the API server did not stream the list",
              {{"resource", shared_.options.name}, {"reason", why}});
  }
  list_.Start();
}

// The watch has lost its history. The first time a list follows without delay, since nothing is known of changes until
// then.
void Reflector::Impl::OnHistoryLost(const Error& error) {
  const bool is_repeated = relisted_at_ && shared_.loop.Now() - *relisted_at_ < 2 * shared_.options.backoff_max;
  if (!is_repeated) relist_failures_ = 0;
  const bool is_immediate = error.code == ErrorCode::kGone && !is_repeated;
  const Duration delay = is_immediate ? Duration::zero() : shared_.Backoff(relist_failures_++, error);
  relisted_at_ = shared_.loop.Now();
  shared_.Report(error.Wrap("while watching " + shared_.options.name + " (listing again)"), delay);
  if (shared_.phases.is_stopped()) return;
  ListAfter(delay);
}

Reflector::Reflector(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler)
    : impl_(std::make_shared<Impl>(rest, std::move(options), std::move(decoders), std::move(handler))) {}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() { impl_->Start(); }
void Reflector::Refresh(std::function<void()> on_fresh) { impl_->Refresh(std::move(on_fresh)); }
void Reflector::Stop() { impl_->Stop(); }
bool Reflector::HasSynced() const { return impl_->HasSynced(); }
Reflector::ObjectPtr Reflector::Find(std::string_view key) const { return impl_->Find(key); }
void Reflector::ForEach(const std::function<void(const std::string& key, const ObjectPtr& object)>& visit) const {
  impl_->ForEach(visit);
}
ReflectorStats Reflector::Stats() const { return impl_->Stats(); }

}  // namespace berth::client
