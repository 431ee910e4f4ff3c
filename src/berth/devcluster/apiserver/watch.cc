// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "berth/base/log.h"
#include "berth/devcluster/apiserver/status_response.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view Name(EventType type) {
  switch (type) {
    case EventType::kAdded: return "ADDED";
    case EventType::kModified: return "MODIFIED";
    case EventType::kDeleted: return "DELETED";
  }
  return "";
}

void AppendHead(std::string& out, std::string_view type) {
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
}

std::string ErrorEvent(const objects::StatusError& error) {
  std::string out;
  AppendHead(out, "ERROR");
  out += json::serialize(error.ToObject());
  out += "}\n";
  return out;
}

std::string BookmarkEvent(const Rendering& rendering, std::int64_t version, bool ends_initial_events) {
  std::string out;
  AppendHead(out, "BOOKMARK");
  out += RenderBookmark(rendering, version, ends_initial_events);
  out += "}\n";
  return out;
}

}  // namespace

WatchHub::WatchHub(const Store& store, const Clock& clock, net::IoContext* io, std::size_t tables)
    : store_(store), clock_(clock), io_(io), is_dirty_(tables), watches_(tables) {}

void WatchHub::Start(WatchRequest request, std::shared_ptr<net::ResponseWriter> writer) {
  const TableId table = request.rendering.served->table;
  if (count_.fetch_add(1) >= kWatchesMax) {
    count_.fetch_sub(1);
    objects::StatusError busy{
        .code = 429,
        .reason = "TooManyRequests",
        .message = "the server keeps at most " + std::to_string(kWatchesMax) + " watches, please try again later",
        .retry_after_seconds = 1};
    writer->Send(ToResponse(busy));
    return;
  }
  Store::WatchStart start = store_.StartWatch(table, request.after_version, request.selector);
  // As upstream: once the request is understood, what the history cannot serve is answered with an ERROR event. A
  // version that this server has not reached comes from another life of it, so its client must list again as well.
  if (start.failure != Store::ListFailure::kNone) {
    count_.fetch_sub(1);
    const std::string after = std::to_string(*request.after_version);
    const objects::StatusError expired =
        start.failure == Store::ListFailure::kExpired
            ? objects::Expired("too old resource version: " + after + " (" + std::to_string(start.oldest_version) + ")")
            : objects::Expired("too large resource version: " + after +
                               ", current: " + std::to_string(start.resource_version));
    writer->StartStream(JsonResponse(200, ErrorEvent(expired)));
    writer->End();
    return;
  }
  auto watch = std::make_unique<Watch>();
  watch->initial = std::move(start.objects);
  watch->initial_version = start.resource_version;
  watch->next_sequence = start.next_sequence;
  watch->seen_version = request.after_version.value_or(start.resource_version);
  const Time now = clock_.Now();
  watch->deadline = now + request.timeout;
  watch->next_bookmark = now + kBookmarkInterval;
  watch->request = std::move(request);
  watch->writer = writer;
  writer->StartStream(JsonResponse(200, ""));
  writer->OnClosed([is_closed = watch->is_closed, weak = weak_from_this(), table] {
    is_closed->store(true);
    if (const auto hub = weak.lock(); hub != nullptr && hub->io_ != nullptr) hub->Notify(table);
  });
  bool is_refused = false;
  {
    const std::lock_guard lock(mutex_);
    is_refused = is_shut_;
    if (!is_refused) {
      new_watches_.push_back(std::move(watch));
      if (table >= is_dirty_.size()) is_dirty_.resize(table + 1);
      is_dirty_[table] = true;
    }
  }
  if (is_refused) {
    count_.fetch_sub(1);
    writer->End();
    return;
  }
  Schedule();
}

void WatchHub::Notify(TableId table) {
  if (count_.load() == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (table >= is_dirty_.size()) is_dirty_.resize(table + 1);
    is_dirty_[table] = true;
  }
  Schedule();
}

void WatchHub::Schedule() {
  if (io_ == nullptr) {
    Dispatch(false);
    return;
  }
  if (is_scheduled_.exchange(true)) return;
  const auto dispatch = [weak = weak_from_this()] {
    if (const auto hub = weak.lock()) hub->Dispatch(false);
  };
  // A clock that was set back is no reason to wait.
  const Duration since = clock_.Now() - Time(Duration(last_dispatch_.load()));
  if (since >= Duration::zero() && since < kWatchGatherTime) {
    (void)io_->PostAfter(kWatchGatherTime - since, dispatch);  // the handle only cancels
  } else {
    io_->Post(dispatch);
  }
}

void WatchHub::Tick() { Dispatch(true); }

void WatchHub::Dispatch(bool is_tick) {
  is_scheduled_.store(false);
  if (io_ != nullptr) last_dispatch_.store(clock_.Now().time_since_epoch().count());
  const std::lock_guard dispatch_lock(dispatch_mutex_);
  std::vector<bool> dirty(watches_.size());
  {
    const std::lock_guard lock(mutex_);
    const std::size_t tables = std::max(is_dirty_.size(), watches_.size());
    is_dirty_.resize(tables);
    dirty.resize(tables);
    is_dirty_.swap(dirty);
    for (auto& watch : new_watches_) {
      const TableId table = watch->request.rendering.served->table;
      if (table >= watches_.size()) watches_.resize(table + 1);
      watches_[table].push_back(std::move(watch));
    }
    new_watches_.clear();
  }
  const Time now = clock_.Now();
  if (budget_.IsFull()) Relieve(now);
  Cached cached;
  bool any_paused = false;
  for (TableId table = 0; table < watches_.size(); ++table) {
    auto& list = watches_[table];
    for (auto at = list.begin(); at != list.end();) {
      Watch& watch = **at;
      bool goes_on = !watch.is_closed->load();
      if (goes_on && ((table < dirty.size() && dirty[table]) || is_tick || watch.is_paused))
        goes_on = Pump(watch, cached);
      if (goes_on && is_tick) goes_on = SendTimed(watch, now);
      any_paused = any_paused || (goes_on && watch.is_paused);
      if (goes_on) {
        ++at;
      } else {
        if (!watch.is_closed->load()) watch.writer->End();
        Forget(watch);
        at = list.erase(at);
      }
    }
  }
  if (any_paused && io_ != nullptr && !is_scheduled_.exchange(true)) {
    // The handle only cancels; a poll that comes too late finds no hub.
    (void)io_->PostAfter(kWatchPollInterval, [weak = weak_from_this()] {
      if (const auto hub = weak.lock()) hub->Dispatch(false);
    });
  }
}

void WatchHub::Forget(Watch& watch) {
  budget_.Close(watch.unread);
  count_.fetch_sub(1);
}

bool WatchHub::HasRoom(Watch& watch, Time now) {
  const std::size_t buffered = watch.writer->BufferedBytes();
  budget_.Note(watch.unread, buffered, now);
  return buffered <= kWatchUnreadBytesMax && !budget_.IsFull();
}

bool WatchHub::Write(Watch& watch, std::string_view bytes) {
  if (!watch.writer->Write(bytes)) return false;
  (void)HasRoom(watch, clock_.Now());
  return true;
}

void WatchHub::Relieve(Time now) {
  std::vector<const WatchBudget::Account*> accounts;
  std::vector<std::list<std::unique_ptr<Watch>>::iterator> places;
  for (auto& list : watches_) {
    for (auto at = list.begin(); at != list.end(); ++at) {
      (void)HasRoom(**at, now);
      accounts.push_back(&(*at)->unread);
      places.push_back(at);
    }
  }
  std::size_t cut_off = 0;
  std::size_t bytes = 0;
  for (const std::size_t index : budget_.Overdrawn(accounts, now)) {
    Watch& watch = **places[index];
    ++cut_off;
    bytes += watch.unread.bytes;
    if (!watch.is_closed->load()) watch.writer->Abort();
    Forget(watch);
    watches_[watch.request.rendering.served->table].erase(places[index]);
  }
  if (cut_off > 0) {
    log::Warning("apiserver", "Cut off watches that are not read: together they hold too much",
                 {{"watches", cut_off}, {"bytes", bytes}, {"max", kWatchesUnreadBytesMax}});
  }
}

const Store::EventBatch& WatchHub::Read(Watch& watch, Cached& cached) const {
  const TableId table = watch.request.rendering.served->table;
  if (!cached.batch || cached.table != table || cached.sequence != watch.next_sequence) {
    cached.batch = store_.ReadEvents(table, watch.next_sequence, kWatchEventsPerRead);
    cached.table = table;
    cached.sequence = watch.next_sequence;
  }
  return *cached.batch;
}

bool WatchHub::Pump(Watch& watch, Cached& cached) {
  watch.is_paused = false;
  const Time now = clock_.Now();
  watch.request.rendering.now_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (!watch.request.after_version && !watch.has_ended_initial && !SendInitial(watch)) return false;
  if (watch.is_paused) return true;
  while (true) {
    if (!HasRoom(watch, now)) {
      watch.is_paused = true;
      return true;
    }
    const Store::EventBatch& batch = Read(watch, cached);
    if (batch.fell_behind) {
      watch.is_paused = watch.unread.bytes > kWatchChunkBytes;  // what is unread stays in the account until it is read
      if (watch.is_paused) return true;
      watch.writer->Write(
          ErrorEvent(objects::Expired("the watch has fallen behind the history of events that the server keeps")));
      return false;
    }
    // It may be paused between any two events of the batch: each can have megabytes.
    std::string out;
    std::uint64_t taken = 0;
    for (const StoreEvent& event : batch.events) {
      AppendEvent(out, watch, event);
      ++taken;
      watch.seen_version = event.resource_version;
      if (out.size() < kWatchChunkBytes) continue;
      if (!Write(watch, out)) return false;
      out.clear();
      watch.is_paused = !HasRoom(watch, now);
      if (watch.is_paused) break;
    }
    const bool is_complete = batch.is_complete && taken == batch.events.size();
    watch.next_sequence += taken;
    if (is_complete) watch.seen_version = batch.resource_version;
    if (!out.empty() && !Write(watch, out)) return false;
    if (is_complete) watch.is_paused = false;
    if (is_complete || watch.is_paused) return true;
  }
}

bool WatchHub::SendInitial(Watch& watch) {
  std::string out;
  while (watch.initial_sent < watch.initial.size()) {
    if (!HasRoom(watch, clock_.Now())) {
      watch.is_paused = true;
      return true;
    }
    while (watch.initial_sent < watch.initial.size() && out.size() < kWatchChunkBytes) {
      const objects::ObjectPtr initial =
          std::move(watch.initial[watch.initial_sent++]);  // kept alive no longer than needed
      const objects::StoredObject& object = *initial;
      AppendHead(out, "ADDED");
      AppendObject(out, watch.request.rendering, object, object.resource_version, !watch.has_sent_columns);
      watch.has_sent_columns = true;
      out += "}\n";
    }
    if (!Write(watch, out)) return false;
    out.clear();
  }
  watch.initial = {};
  watch.initial_sent = 0;
  watch.has_ended_initial = true;
  return !watch.request.ends_initial_events ||
         watch.writer->Write(BookmarkEvent(watch.request.rendering, watch.initial_version, true));
}

// An object that begins to match is ADDED to this watch, one that no longer matches is DELETED from it: then with its
// last matching state and the version of the change.
void WatchHub::AppendEvent(std::string& out, Watch& watch, const StoreEvent& event) {
  const bool did_match = event.previous != nullptr && watch.request.selector.Matches(*event.previous);
  const bool does_match = event.type != EventType::kDeleted && watch.request.selector.Matches(*event.object);
  if (!did_match && !does_match) return;
  EventType type = EventType::kModified;
  const objects::StoredObject* object = event.object.get();
  if (!did_match) type = EventType::kAdded;
  if (!does_match) {
    type = EventType::kDeleted;
    if (event.type != EventType::kDeleted) object = event.previous.get();
  }
  AppendHead(out, Name(type));
  AppendObject(out, watch.request.rendering, *object, event.resource_version, !watch.has_sent_columns);
  watch.has_sent_columns = true;
  out += "}\n";
}

bool WatchHub::SendTimed(Watch& watch, Time now) {
  // What is unread at the end is in no account any more: a peer that has much of it gets a little longer to take it.
  const bool is_over =
      now >= watch.deadline && (watch.unread.bytes <= kWatchChunkBytes || now >= watch.deadline + kBookmarkInterval);
  const bool is_behind = watch.is_paused || (!watch.request.after_version && !watch.has_ended_initial);
  if (watch.request.has_bookmarks && !is_behind && (is_over || now >= watch.next_bookmark)) {
    watch.next_bookmark = now + kBookmarkInterval;
    if (!watch.writer->Write(BookmarkEvent(watch.request.rendering, watch.seen_version, false))) return false;
  }
  return !is_over;
}

void WatchHub::Close() {
  const std::lock_guard dispatch_lock(dispatch_mutex_);
  std::vector<std::unique_ptr<Watch>> ended;
  {
    const std::lock_guard lock(mutex_);
    is_shut_ = true;
    ended.swap(new_watches_);
  }
  for (auto& list : watches_) {
    for (auto& watch : list) ended.push_back(std::move(watch));
    list.clear();
  }
  for (const auto& watch : ended) {
    if (!watch->is_closed->load()) watch->writer->End();
    budget_.Close(watch->unread);
  }
  count_.store(0);
}

std::size_t WatchHub::size() const { return count_.load(); }

}  // namespace berth::apiserver
