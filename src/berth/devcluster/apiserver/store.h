// SPDX-License-Identifier: Apache-2.0
// Store: every object of every type in memory, under one resourceVersion that only rises, with a bounded history of
// events for watches. Thread-safe: one mutex, held for map operations only; parsing and serialising happen outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/btree_map.h>

#include "berth/base/time.h"
#include "berth/devcluster/apiserver/object_log.h"
#include "berth/devcluster/apiserver/selectors.h"
#include "berth/devcluster/objects/object.h"

namespace berth::apiserver {

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted };

struct StoreEvent {
  EventType type = EventType::kAdded;
  std::int64_t resource_version = 0;
  objects::ObjectPtr object;    // as it is now; of a deletion: as it was last, with the deletion's version
  objects::ObjectPtr previous;  // as it was before; null for kAdded
};

struct TableOptions {
  std::string name;  // for the log: SavedObject::type
  // Events kept for watches, and the bytes of the objects they hold. The oldest go first; watches that need them get
  // 410.
  std::size_t history_events_max = 100'000;
  std::size_t history_bytes_max = std::size_t{512} << 20;
  // Objects that are kept (the least recently written go first) and for how long after their last write; nullopt:
  // forever.
  std::size_t objects_max = SIZE_MAX;
  std::optional<Duration> time_to_live;
};

// How long events are kept, as etcd is compacted upstream: give or take kHistoryMarkInterval.
inline constexpr Duration kHistoryTimeMax = std::chrono::minutes(5);
inline constexpr Duration kHistoryMarkInterval = std::chrono::seconds(30);

using TableId = std::size_t;

class Store {
 public:
  // `log` outlives the store; null: nothing is kept.
  explicit Store(std::vector<TableOptions> tables, ObjectLog* log = nullptr);

  // Puts an object that was kept where it was, without an event; before the first write.
  void Restore(TableId table, objects::StoredObject draft, std::int64_t resource_version, Time now);
  // The last version that was given before: later ones are above it, and watches of earlier ones get 410.
  void RestoreVersion(std::int64_t resource_version);
  // Why a write was not kept, when Put() or Remove() gave null for that reason; else empty. Until the next write that
  // is kept.
  std::string LogFailure() const;

  // Adds a table, which is never removed.
  TableId AddTable(const TableOptions& options);

  std::int64_t resource_version() const;

  // Null when there is none.
  objects::ObjectPtr Get(TableId table, std::string_view key) const;

  struct ListQuery {
    Selector selector;
    std::size_t limit = SIZE_MAX;
    std::string after_key;        // of the page before; empty: from the start
    std::int64_t at_version = 0;  // the state as of this version; 0: now
  };
  enum class ListFailure : std::uint8_t { kNone, kExpired, kFuture };
  struct ListResult {
    ListFailure failure = ListFailure::kNone;
    std::int64_t resource_version = 0;
    std::vector<objects::ObjectPtr> objects;
    bool has_more = false;
    std::int64_t remaining = 0;  // objects after these, when the selector is everything
  };
  ListResult List(TableId table, const ListQuery& query) const;

  // What an object lies in, as the writer has seen it: its namespace, the definition of its type.
  struct Holder {
    TableId table = 0;
    objects::ObjectPtr seen;
  };
  // What lies in a holder: all of a table, or of a namespace in every table. Neither: nothing.
  struct Contents {
    std::optional<TableId> table;
    std::string namespace_name;
  };
  std::vector<std::pair<TableId, objects::ObjectPtr>> List(const Contents& contents) const;

  // Puts `draft` in the place of `expected` (null: there must be none). Null when someone else was faster: there, or
  // with one of `holders`, which is gone or whose deletion has begun since it was seen.
  objects::ObjectPtr Put(TableId table, const objects::ObjectPtr& expected, objects::StoredObject draft, Time now,
                         std::span<const Holder> holders = {});
  // Removes `expected`; the event carries `last`, its last state. Null when someone else was faster, or while there are
  // `contents`.
  objects::ObjectPtr Remove(TableId table, const objects::ObjectPtr& expected, objects::StoredObject last,
                            const Contents& contents = {});

  // Objects in the namespace.
  std::size_t Count(TableId table, std::string_view namespace_name) const;

  // Where a watch begins, registered at once so that no event is lost in between.
  struct WatchStart {
    ListFailure failure = ListFailure::kNone;
    std::uint64_t next_sequence = 0;          // of the first event that ReadEvents() should give
    std::int64_t resource_version = 0;        // of the objects below
    std::vector<objects::ObjectPtr> objects;  // the state now, when it was asked for
    std::int64_t oldest_version = 0;          // of the history, for the message of kExpired
  };
  // `after_version` nullopt: from now on, with the present state.
  WatchStart StartWatch(TableId table, std::optional<std::int64_t> after_version, const Selector& selector) const;

  struct EventBatch {
    bool fell_behind = false;  // events at `sequence` have left the history
    std::vector<StoreEvent> events;
    std::uint64_t next_sequence = 0;
    std::int64_t resource_version = 0;  // the store's, when these events are all there are
    bool is_complete = false;
  };
  EventBatch ReadEvents(TableId table, std::uint64_t sequence, std::size_t events_max) const;

  // Forgets history up to and including this version.
  void Compact(std::int64_t resource_version);

  // Removes what has outlived its table's time to live, and events older than kHistoryTimeMax. True when an object
  // went. To be called every now and then.
  bool Expire(Time now);

 private:
  struct Use {
    std::int64_t resource_version = 0;
    Time time;
    std::string key;
  };
  struct Table {
    TableOptions options;
    absl::btree_map<std::string, objects::ObjectPtr, std::less<>> objects;
    std::map<std::string, std::size_t, std::less<>> namespace_counts;
    std::deque<StoreEvent> history;
    std::uint64_t history_begin = 0;  // sequence of history.front()
    std::size_t history_bytes = 0;
    std::int64_t compacted_version = 0;  // events up to this version are gone
    std::deque<Use> uses;  // writes in their order, for tables with bounds; entries of older versions are stale
  };

  bool IsThere(const Holder& holder) const;
  bool IsEmpty(const Contents& contents) const;
  bool Keep(const Table& table, const objects::StoredObject& object);
  bool KeepRemoval(const Table& table, const objects::StoredObject& object, std::int64_t resource_version);
  static void CountIn(Table& table, std::string_view namespace_name);
  void ExpireHistory(Time now);
  void Append(Table& table, StoreEvent event);
  void DropOldestEvent(Table& table);
  void DropLeastRecent(Table& table);
  void RemoveLocked(Table& table, const objects::ObjectPtr& object, objects::ObjectPtr last);
  static bool IsStale(const Table& table, const Use& use);
  ListResult ListAt(const Table& table, const ListQuery& query) const;

  mutable std::mutex mutex_;  // guards all below
  ObjectLog* const log_;
  bool has_failed_ = false;  // the last write was not kept
  std::int64_t version_ = 1;
  std::vector<Table> tables_;
  struct Mark {
    Time time;
    std::int64_t resource_version = 0;
  };
  std::deque<Mark> marks_;  // of the last kHistoryTimeMax: how far the version was then
};

}  // namespace berth::apiserver
