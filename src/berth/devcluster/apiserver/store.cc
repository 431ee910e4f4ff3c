// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/store.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"

namespace berth::apiserver {
namespace {

std::size_t EventBytes(const StoreEvent& event) {
  return event.object->bytes.size() + sizeof(objects::StoredObject) + sizeof(StoreEvent);
}

// The keys of one namespace are those that begin with "namespace/".
std::string FirstKey(const Selector& selector) {
  return selector.namespace_name.empty() ? std::string() : selector.namespace_name + '/';
}

}  // namespace

Store::Store(std::vector<TableOptions> tables, ObjectLog* log) : log_(log) {
  tables_.resize(tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) tables_[i].options = tables[i];
}

void Store::CountIn(Table& table, std::string_view namespace_name) {
  const auto count = table.namespace_counts.find(namespace_name);
  if (count != table.namespace_counts.end()) {
    ++count->second;
  } else {
    table.namespace_counts.emplace(namespace_name, 1);
  }
}

void Store::Restore(TableId id, objects::StoredObject draft, std::int64_t resource_version, Time now) {
  const std::lock_guard lock(mutex_);
  Table& table = tables_[id];
  objects::ObjectPtr object = objects::Seal(std::move(draft), resource_version);
  if (!table.objects.try_emplace(object->key, object).second) return;
  CountIn(table, object->namespace_name());
  if (table.options.objects_max != SIZE_MAX || table.options.time_to_live) {
    table.uses.push_back({resource_version, now, object->key});
  }
}

void Store::RestoreVersion(std::int64_t resource_version) {
  const std::lock_guard lock(mutex_);
  version_ = std::max(version_, resource_version);
  for (Table& table : tables_) table.compacted_version = version_;
}

std::string Store::LogFailure() const {
  const std::lock_guard lock(mutex_);
  return has_failed_ ? log_->WhyNot() : std::string();
}

bool Store::Keep(const Table& table, const objects::StoredObject& object) {
  has_failed_ = log_ != nullptr && !log_->Put(table.options.name, object.key, object.resource_version, object.bytes);
  return !has_failed_;
}

bool Store::KeepRemoval(const Table& table, const objects::StoredObject& object, std::int64_t resource_version) {
  has_failed_ = log_ != nullptr && !log_->Remove(table.options.name, object.key, resource_version);
  return !has_failed_;
}

TableId Store::AddTable(const TableOptions& options) {
  const std::lock_guard lock(mutex_);
  Table& table = tables_.emplace_back();
  table.options = options;
  table.compacted_version = version_;  // before it there was nothing
  return tables_.size() - 1;
}

std::int64_t Store::resource_version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

objects::ObjectPtr Store::Get(TableId table, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto& objects = tables_[table].objects;
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

Store::ListResult Store::List(TableId id, const ListQuery& query) const {
  const std::lock_guard lock(mutex_);
  const Table& table = tables_[id];
  ListResult result;
  if (query.at_version > version_) {
    result.failure = ListFailure::kFuture;
    return result;
  }
  if (query.at_version != 0 && query.at_version < table.compacted_version) {
    result.failure = ListFailure::kExpired;
    return result;
  }
  if (query.at_version != 0 && !table.history.empty() && table.history.back().resource_version > query.at_version) {
    return ListAt(table, query);
  }
  result.resource_version = query.at_version != 0 ? query.at_version : version_;
  const std::string first = FirstKey(query.selector);
  auto at = query.after_key.empty() ? table.objects.lower_bound(first) : table.objects.upper_bound(query.after_key);
  if (const std::string* name = query.selector.SingleName(); name != nullptr && query.after_key.empty()) {
    // Within a namespace, and for objects that have none, the name is the key; no search is needed.
    if (!first.empty() || table.namespace_counts.contains("")) {
      const auto found = table.objects.find(first + *name);
      if (found != table.objects.end() && query.selector.Matches(*found->second))
        result.objects.push_back(found->second);
      return result;
    }
  }
  for (; at != table.objects.end() && at->first.starts_with(first); ++at) {
    if (!query.selector.Matches(*at->second)) continue;
    if (result.objects.size() == query.limit) {
      result.has_more = true;
      break;
    }
    result.objects.push_back(at->second);
  }
  if (result.has_more && query.selector.IsEverything()) {
    for (; at != table.objects.end() && at->first.starts_with(first); ++at) ++result.remaining;
  }
  return result;
}

// The state as it was, from the state now and the events since: what the first event after that version found is what
// there was.
Store::ListResult Store::ListAt(const Table& table, const ListQuery& query) const {
  std::map<std::string_view, objects::ObjectPtr> then;
  for (auto event = table.history.rbegin(); event != table.history.rend() && event->resource_version > query.at_version;
       ++event) {
    then[event->object->key] = event->previous;
  }
  ListResult result;
  result.resource_version = query.at_version;
  const std::string first = FirstKey(query.selector);
  const auto in_range = [&](std::string_view key) { return key.starts_with(first); };
  auto current =
      query.after_key.empty() ? table.objects.lower_bound(first) : table.objects.upper_bound(query.after_key);
  auto old = query.after_key.empty() ? then.lower_bound(first) : then.upper_bound(query.after_key);
  while (true) {
    const bool has_current = current != table.objects.end() && in_range(current->first);
    const bool has_old = old != then.end() && in_range(old->first);
    if (!has_current && !has_old) break;
    objects::ObjectPtr object;
    if (has_old && (!has_current || old->first <= current->first)) {
      object = old->second;
      if (has_current && old->first == current->first) ++current;
      ++old;
    } else {
      object = current->second;
      ++current;
    }
    if (object == nullptr || !query.selector.Matches(*object)) continue;
    if (result.objects.size() < query.limit) {
      result.objects.push_back(std::move(object));
    } else {
      result.has_more = true;
      ++result.remaining;
    }
  }
  return result;
}

std::vector<std::pair<TableId, objects::ObjectPtr>> Store::List(const Contents& contents) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<TableId, objects::ObjectPtr>> found;
  if (contents.table) {
    for (const auto& [key, object] : tables_[*contents.table].objects) found.emplace_back(*contents.table, object);
  } else if (!contents.namespace_name.empty()) {
    const std::string first = contents.namespace_name + '/';
    for (TableId id = 0; id < tables_.size(); ++id) {
      const auto& objects = tables_[id].objects;
      for (auto at = objects.lower_bound(first); at != objects.end() && at->first.starts_with(first); ++at) {
        found.emplace_back(id, at->second);
      }
    }
  }
  return found;
}

bool Store::IsEmpty(const Contents& contents) const {
  if (contents.table) return tables_[*contents.table].objects.empty();
  return contents.namespace_name.empty() || std::none_of(tables_.begin(), tables_.end(), [&](const Table& table) {
           return table.namespace_counts.contains(contents.namespace_name);
         });
}

bool Store::IsThere(const Holder& holder) const {
  const auto& objects = tables_[holder.table].objects;
  const auto found = objects.find(holder.seen->key);
  return found != objects.end() && found->second->uid == holder.seen->uid &&
         found->second->is_being_deleted == holder.seen->is_being_deleted;
}

objects::ObjectPtr Store::Put(TableId id, const objects::ObjectPtr& expected, objects::StoredObject draft, Time now,
                              std::span<const Holder> holders) {
  draft.bytes.reserve(draft.bytes.size() + 20);
  const std::lock_guard lock(mutex_);
  Table& table = tables_[id];
  const auto found = table.objects.lower_bound(draft.key);
  const bool is_new = found == table.objects.end() || found->first != draft.key;
  if (is_new ? expected != nullptr : found->second != expected) return nullptr;
  if (!std::all_of(holders.begin(), holders.end(), [&](const Holder& each) { return IsThere(each); })) return nullptr;
  objects::ObjectPtr object = objects::Seal(std::move(draft), version_ + 1);
  if (!Keep(table, *object)) return nullptr;
  ++version_;
  if (is_new) {
    table.objects.emplace_hint(found, object->key, object);
    CountIn(table, object->namespace_name());
  } else {
    found->second = object;
  }
  Append(table, {expected == nullptr ? EventType::kAdded : EventType::kModified, version_, object, expected});
  if (table.options.objects_max != SIZE_MAX || table.options.time_to_live) {
    table.uses.push_back({version_, now, object->key});
    while (table.objects.size() > table.options.objects_max) DropLeastRecent(table);
    // Rewritten objects leave stale entries; those at the front cost nothing more to drop, the rest are bounded here.
    if (table.uses.size() > 2 * table.objects.size() + 16) {
      std::erase_if(table.uses, [&](const Use& use) { return IsStale(table, use); });
    }
  }
  return object;
}

objects::ObjectPtr Store::Remove(TableId id, const objects::ObjectPtr& expected, objects::StoredObject last,
                                 const Contents& contents) {
  const std::lock_guard lock(mutex_);
  Table& table = tables_[id];
  const auto found = table.objects.find(expected->key);
  if (found == table.objects.end() || found->second != expected || !IsEmpty(contents)) return nullptr;
  if (!KeepRemoval(table, *expected, version_ + 1)) return nullptr;
  objects::ObjectPtr object = objects::Seal(std::move(last), ++version_);
  RemoveLocked(table, expected, object);
  return object;
}

void Store::RemoveLocked(Table& table, const objects::ObjectPtr& object, objects::ObjectPtr last) {
  const auto count = table.namespace_counts.find(object->namespace_name());
  if (--count->second == 0) table.namespace_counts.erase(count);
  table.objects.erase(object->key);
  Append(table, {EventType::kDeleted, version_, std::move(last), object});
}

std::size_t Store::Count(TableId id, std::string_view namespace_name) const {
  const std::lock_guard lock(mutex_);
  const auto& counts = tables_[id].namespace_counts;
  const auto found = counts.find(namespace_name);
  return found == counts.end() ? 0 : found->second;
}

Store::WatchStart Store::StartWatch(TableId id, std::optional<std::int64_t> after_version,
                                    const Selector& selector) const {
  const std::lock_guard lock(mutex_);
  const Table& table = tables_[id];
  WatchStart start;
  start.resource_version = version_;
  start.oldest_version = table.compacted_version;
  start.next_sequence = table.history_begin + table.history.size();
  if (!after_version) {
    const std::string first = FirstKey(selector);
    for (auto at = table.objects.lower_bound(first); at != table.objects.end() && at->first.starts_with(first); ++at) {
      if (selector.Matches(*at->second)) start.objects.push_back(at->second);
    }
    return start;
  }
  if (*after_version > version_) {
    start.failure = ListFailure::kFuture;
  } else if (*after_version < table.compacted_version) {
    start.failure = ListFailure::kExpired;
  } else {
    const auto first = std::upper_bound(
        table.history.begin(), table.history.end(), *after_version,
        [](std::int64_t version, const StoreEvent& event) { return version < event.resource_version; });
    start.next_sequence = table.history_begin + static_cast<std::uint64_t>(first - table.history.begin());
  }
  return start;
}

Store::EventBatch Store::ReadEvents(TableId id, std::uint64_t sequence, std::size_t events_max) const {
  const std::lock_guard lock(mutex_);
  const Table& table = tables_[id];
  EventBatch batch;
  batch.next_sequence = sequence;
  batch.resource_version = version_;
  if (sequence < table.history_begin) {
    batch.fell_behind = true;
    return batch;
  }
  const std::size_t begin = sequence - table.history_begin;
  BERTH_DCHECK(begin <= table.history.size());
  const std::size_t count = std::min(events_max, table.history.size() - begin);
  const auto first = table.history.begin() + static_cast<std::ptrdiff_t>(begin);
  batch.events.assign(first, first + static_cast<std::ptrdiff_t>(count));
  batch.next_sequence += count;
  batch.is_complete = begin + count == table.history.size();
  return batch;
}

void Store::Compact(std::int64_t resource_version) {
  const std::lock_guard lock(mutex_);
  const std::int64_t upto = std::min(resource_version, version_);
  for (Table& table : tables_) {
    while (!table.history.empty() && table.history.front().resource_version <= upto) DropOldestEvent(table);
    table.compacted_version = std::max(table.compacted_version, upto);
  }
}

void Store::ExpireHistory(Time now) {
  if (!marks_.empty() && now - marks_.back().time < kHistoryMarkInterval) return;
  marks_.push_back({now, version_});
  while (now - marks_.front().time >= kHistoryTimeMax) {
    const std::int64_t upto = marks_.front().resource_version;
    marks_.pop_front();
    for (Table& table : tables_) {
      while (!table.history.empty() && table.history.front().resource_version <= upto) DropOldestEvent(table);
    }
  }
}

bool Store::Expire(Time now) {
  const std::lock_guard lock(mutex_);
  ExpireHistory(now);
  bool any = false;
  for (Table& table : tables_) {
    if (!table.options.time_to_live) continue;
    while (!table.uses.empty() && table.uses.front().time + *table.options.time_to_live <= now) {
      any = any || !IsStale(table, table.uses.front());
      if (IsStale(table, table.uses.front())) {
        table.uses.pop_front();
      } else {
        DropLeastRecent(table);
      }
    }
  }
  return any;
}

void Store::Append(Table& table, StoreEvent event) {
  table.history_bytes += EventBytes(event);
  table.history.push_back(std::move(event));
  while (table.history.size() > table.options.history_events_max ||
         (table.history_bytes > table.options.history_bytes_max && table.history.size() > 1)) {
    DropOldestEvent(table);
  }
}

void Store::DropOldestEvent(Table& table) {
  table.compacted_version = table.history.front().resource_version;
  table.history_bytes -= EventBytes(table.history.front());
  table.history.pop_front();
  ++table.history_begin;
}

bool Store::IsStale(const Table& table, const Use& use) {
  const auto found = table.objects.find(use.key);
  return found == table.objects.end() || found->second->resource_version != use.resource_version;
}

void Store::DropLeastRecent(Table& table) {
  while (!table.uses.empty()) {
    const Use use = std::move(table.uses.front());
    table.uses.pop_front();
    if (IsStale(table, use)) continue;
    const objects::ObjectPtr object = table.objects.find(use.key)->second;
    (void)KeepRemoval(table, *object, version_ + 1);  // what stays in the file goes the next time
    objects::StoredObject last = *object;
    RemoveLocked(table, object, objects::Seal(std::move(last), ++version_));
    return;
  }
}

}  // namespace berth::apiserver
