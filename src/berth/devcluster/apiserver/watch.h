// SPDX-License-Identifier: Apache-2.0
// WatchHub: every watch of the server. A watch holds no queue of its own but a place in its table's history; events are
// rendered when they are sent. One that reads too slowly is paused, and closed with 410 once its place has left the
// history; when all together leave too much unread, those that read least are cut off (WatchBudget). Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/selectors.h"
#include "berth/devcluster/apiserver/store.h"
#include "berth/devcluster/apiserver/watch_budget.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::apiserver {

// Watches at a time; more are refused with 429.
inline constexpr std::size_t kWatchesMax = 10'000;
// A watch whose peer leaves more than this unread is not written to until the peer has caught up.
inline constexpr std::size_t kWatchUnreadBytesMax = std::size_t{2} << 20;
// What is rendered and written at a time.
inline constexpr std::size_t kWatchChunkBytes = std::size_t{256} << 10;
inline constexpr std::size_t kWatchEventsPerRead = 512;
inline constexpr Duration kBookmarkInterval = std::chrono::minutes(1);
inline constexpr Duration kWatchPollInterval = std::chrono::milliseconds(10);  // of paused watches

// Under a load of writes, events are sent at most once in this time: a batch costs hardly more than one event. An event
// after a time of silence goes at once.
inline constexpr Duration kWatchGatherTime = std::chrono::milliseconds(1);

struct WatchRequest {
  std::shared_ptr<const objects::ServedType> keeper;  // of rendering.served
  Rendering rendering;
  Selector selector;
  std::optional<std::int64_t> after_version;  // nullopt: the objects as they are now come first, as ADDED
  bool ends_initial_events = false;           // ... and a bookmark says where they end (sendInitialEvents)
  bool has_bookmarks = false;
  Duration timeout = std::chrono::minutes(45);
};

class WatchHub : public std::enable_shared_from_this<WatchHub> {
 public:
  // Both outlive the hub. Without `io` everything is sent by the thread that calls Notify() or Tick(), within the call.
  WatchHub(const Store& store, const Clock& clock, net::IoContext* io, std::size_t tables);

  // Answers the request: a stream of events, or a refusal.
  void Start(WatchRequest request, std::shared_ptr<net::ResponseWriter> writer);

  // There are new events in the table, which may be a new one.
  void Notify(TableId table);

  // Sends due bookmarks and ends watches whose time is up. To be called about once a second.
  void Tick();

  // Ends every watch; later ones are refused.
  void Close();

  std::size_t size() const;

 private:
  struct Watch {
    WatchRequest request;
    std::shared_ptr<net::ResponseWriter> writer;
    std::vector<objects::ObjectPtr> initial;
    std::size_t initial_sent = 0;
    bool has_ended_initial = false;
    std::int64_t initial_version = 0;
    std::uint64_t next_sequence = 0;
    std::int64_t seen_version = 0;  // everything up to this version has been sent
    bool has_sent_columns = false;
    bool is_paused = false;
    WatchBudget::Account unread;
    Time deadline;
    Time next_bookmark;
    // Set by the writer's OnClosed, which may outlive the watch.
    std::shared_ptr<std::atomic<bool>> is_closed = std::make_shared<std::atomic<bool>>(false);
  };
  struct Cached {  // the last events read: watches of one table mostly stand at the same place
    TableId table = 0;
    std::uint64_t sequence = 0;
    std::optional<Store::EventBatch> batch;
  };

  void Schedule();
  void Dispatch(bool is_tick);
  // False when the watch has ended.
  bool Pump(Watch& watch, Cached& cached);
  bool SendInitial(Watch& watch);
  // Brings the watch's account up to date. False while it has to be paused.
  bool HasRoom(Watch& watch, Time now);
  bool Write(Watch& watch, std::string_view bytes);
  // Cuts off watches when all together leave too much unread.
  void Relieve(Time now);
  void Forget(Watch& watch);
  bool SendTimed(Watch& watch, Time now);
  void AppendEvent(std::string& out, Watch& watch, const StoreEvent& event);
  const Store::EventBatch& Read(Watch& watch, Cached& cached) const;

  const Store& store_;
  const Clock& clock_;
  net::IoContext* const io_;

  std::mutex mutex_;  // guards new_watches_, is_dirty_, is_shut_; taken after dispatch_mutex_
  std::vector<std::unique_ptr<Watch>> new_watches_;
  std::vector<bool> is_dirty_;  // by table
  bool is_shut_ = false;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> is_scheduled_{false};
  std::atomic<Duration::rep> last_dispatch_{0};  // when it began, since the epoch

  std::mutex dispatch_mutex_;                               // guards watches_: held while events are sent
  std::vector<std::list<std::unique_ptr<Watch>>> watches_;  // by table
  WatchBudget budget_;                                      // guarded by dispatch_mutex_
};

}  // namespace berth::apiserver
