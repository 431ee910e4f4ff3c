// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_store.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "berth/base/log.h"

namespace berth::client {
namespace {

constexpr int kSetAsideLinesPerMinute = 20;

}  // namespace

ObjectVersion::ObjectVersion(std::string_view text) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value_);
  if (problem != std::errc() || end != text.data() + text.size() || (value_ & kOpaque) != 0) {
    value_ = std::hash<std::string_view>{}(text) | kOpaque;
  }
}

ReflectorStore::Identity::Identity(std::string_view key, std::string_view uid)
    : key_size_(static_cast<std::uint32_t>(key.size())),
      uid_size_(static_cast<std::uint32_t>(uid.size())),
      text_(std::make_unique_for_overwrite<char[]>(key.size() + uid.size())) {
  std::copy(uid.begin(), uid.end(), std::copy(key.begin(), key.end(), text_.get()));
}

Expected<ReflectorStore::ObjectPtr> ReflectorStore::Decode(const Arrival& object) const {
  if (object.unreadable != nullptr) return *object.unreadable;
  if (object.json != nullptr) return decoders_.json(*object.json);
  return decoders_.protobuf(object.protobuf);
}

// Writes the object's key into key_. False when the object has no name.
bool ReflectorStore::ReadKey(const api::ProtobufMeta& meta) {
  if (meta.name.empty()) return false;
  key_.assign(meta.namespace_name);
  if (!key_.empty()) key_ += '/';
  key_.append(meta.name);
  return true;
}

void ReflectorStore::Upsert(const Arrival& object, Source source) {
  const api::ProtobufMeta& meta = object.meta;
  if (!ReadKey(meta)) {
    ++counts_.decode_failures;
    LogSetAside("", object.unreadable != nullptr ? object.unreadable->message : "it has no metadata.name");
    return;
  }
  const ObjectVersion version(meta.resource_version);
  const auto known = entries_.find(std::string_view(key_));
  const bool is_known = known != entries_.end();
  if (is_known) known->round = round_;
  // A list counts whatever its versions are: after a restore of etcd they are smaller. A watch may repeat events.
  if (is_known && (source == Source::kList ? version == known->version : version.IsNotAfter(known->version))) {
    return;
  }
  const bool is_replaced =
      is_known && !known->identity.uid().empty() && !meta.uid.empty() && known->identity.uid() != meta.uid;

  auto decoded = Decode(object);
  if (!decoded.ok() || *decoded == nullptr) {
    const std::string key = key_;
    const bool is_new = KeepAside(key, version);
    if (is_new) LogSetAside(key, decoded.ok() ? "it decodes to nothing" : decoded.error().message);
    // The object in the store has another uid, so it was deleted, even if the new one does not decode.
    if (is_replaced) Forget(key);
    return;
  }
  if (!set_aside_.empty()) set_aside_.erase(std::string_view(key_));
  const ObjectPtr current = std::move(decoded).value();
  if (is_replaced) {
    const std::string key = key_;
    Forget(key);
    if (is_stopped_) return;
    key_ = key;
    --counts_.events;  // the deletion and the addition count as one
  }
  ++counts_.events;
  if (!is_known || is_replaced) return Add(meta, version, current);
  known->version = version;
  const ObjectPtr before = options_.keeps_objects ? std::exchange(known->object, current) : nullptr;
  if (handler_.on_update) handler_.on_update(before, current);
}

void ReflectorStore::Add(const api::ProtobufMeta& meta, ObjectVersion version, const ObjectPtr& object) {
  entries_.insert(Entry{Identity(key_, meta.uid), version, round_, options_.keeps_objects ? object : nullptr});
  if (handler_.on_add) handler_.on_add(object);
}

void ReflectorStore::Remove(const Arrival& object) {
  if (!ReadKey(object.meta)) return;
  const ObjectVersion version(object.meta.resource_version);
  const auto known = entries_.find(std::string_view(key_));
  // The event may repeat the deletion of an earlier object of the same name.
  if (known != entries_.end() && version != known->version && version.IsNotAfter(known->version)) return;
  set_aside_.erase(std::string_view(key_));
  Forget(std::string(key_));
}

void ReflectorStore::Forget(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  auto node = entries_.extract(found);
  const Entry& gone = node.value();
  ++counts_.events;
  if (handler_.on_gone) {
    const std::string_view whole = gone.identity.key();
    const std::size_t slash = whole.find('/');
    const bool has_namespace = slash != std::string_view::npos;
    handler_.on_gone({has_namespace ? whole.substr(0, slash) : std::string_view(),
                      has_namespace ? whole.substr(slash + 1) : whole, gone.identity.uid()});
  }
  if (handler_.on_delete && gone.object && !is_stopped_) handler_.on_delete(gone.object);
}

bool ReflectorStore::EndRound() {
  // Objects that the list did not have were deleted. They are sorted, so that the order is the same in every run.
  std::vector<std::string> gone;
  for (const Entry& entry : entries_) {
    if (entry.round != round_) gone.emplace_back(entry.identity.key());
  }
  std::sort(gone.begin(), gone.end());
  for (const std::string& key : gone) {
    Forget(key);
    if (is_stopped_) return false;
  }
  absl::erase_if(set_aside_, [this](const auto& item) { return item.second.round != round_; });
  return true;
}

ReflectorStore::ObjectPtr ReflectorStore::Find(std::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : it->object;
}

void ReflectorStore::ForEach(const std::function<void(const std::string& key, const ObjectPtr& object)>& visit) const {
  for (const Entry& entry : entries_) visit(std::string(entry.identity.key()), entry.object);
}

// False when this version was set aside before.
bool ReflectorStore::KeepAside(const std::string& key, ObjectVersion version) {
  ++counts_.decode_failures;
  const auto [it, is_new] = set_aside_.try_emplace(key, SetAside{version, round_});
  const bool is_other = is_new || it->second.version != version;
  it->second = SetAside{version, round_};
  return is_other;
}

void ReflectorStore::LogSetAside(const std::string& key, const std::string& why) {
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

}  // namespace berth::client
