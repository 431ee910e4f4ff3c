// SPDX-License-Identifier: Apache-2.0
// AssumeCache: objects of the store, some of them replaced in memory by how they will be once they are written.
// Upstream: volumebinding's passiveAssumeCache. An assumption lives until the stored object changes or Restore. Within
// turns only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/framework/objects.h"
#include "berth/framework/status.h"

namespace berth::plugins::volumes {

template <typename T>
class AssumeCache {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Store = framework::ObjectStore<T>;

  // `resource` as error texts name the kind, such as "persistentvolumes". `store` must outlive the cache.
  static std::shared_ptr<AssumeCache> Make(const Store& store, std::string_view resource) {
    const std::shared_ptr<AssumeCache> cache(new AssumeCache(store, resource));
    store.Listen([weak = std::weak_ptr<AssumeCache>(cache)](const Ptr& before, const Ptr& after) {
      const auto self = weak.lock();
      if (self && !self->assumed_.empty()) self->Expire(after ? *after : *before, after.get());
    });
    return cache;
  }

  static std::string KeyOf(const T& object) { return Store::Key(object.metadata.namespace_name, object.metadata.name); }

  // The assumed object, else the stored one; null when there is none. Find's answer is valid until the next change or
  // assumption.
  Ptr Get(std::string_view key) const {
    const auto it = assumed_.find(key);
    return it == assumed_.end() ? store_.Get(key) : it->second;
  }
  const T* Find(std::string_view key) const {
    const auto it = assumed_.find(key);
    return it == assumed_.end() ? store_.Find(key) : it->second.get();
  }
  // The assumed object, or null when it is not assumed.
  const T* FindAssumed(std::string_view key) const {
    if (assumed_.empty()) return nullptr;
    const auto it = assumed_.find(key);
    return it == assumed_.end() ? nullptr : it->second.get();
  }

  // The object must be made from the stored one: one of another resourceVersion is refused with an error.
  framework::Status Assume(Ptr object) {
    std::string key = KeyOf(*object);
    const T* stored = store_.Find(key);
    if (stored == nullptr) return framework::Status::Error(resource_ + " \"" + key + "\" not found");
    const std::string& stored_version = stored->metadata.resource_version;
    const std::string& version = object->metadata.resource_version;
    if (stored_version != version) {
      return framework::Status::Error("\"" + key + "\" is out of sync (stored: " + stored_version +
                                      ", assume: " + version + ")");
    }
    assumed_.insert_or_assign(std::move(key), std::move(object));
    return {};
  }

  // Gives the assumption up, unless the assumed object is one of another version by now.
  void Restore(const T& object) {
    const auto it = assumed_.find(KeyOf(object));
    if (it != assumed_.end() && it->second->metadata.resource_version == object.metadata.resource_version) {
      assumed_.erase(it);
    }
  }

  std::size_t assumed_count() const { return assumed_.size(); }

 private:
  AssumeCache(const Store& store, std::string_view resource) : store_(store), resource_(resource) {}

  // The stored object changed; `after` is null when it is gone. The same version again, as after a new list, is no
  // change.
  void Expire(const T& changed, const T* after) {
    const auto it = assumed_.find(KeyOf(changed));
    if (it == assumed_.end()) return;
    const std::string& version = it->second->metadata.resource_version;
    if (after == nullptr || version.empty() || after->metadata.resource_version != version) assumed_.erase(it);
  }

  const Store& store_;
  const std::string resource_;
  StringHashMap<Ptr> assumed_;  // at most one for each stored object
};

using VolumeCache = AssumeCache<api::PersistentVolume>;
using ClaimCache = AssumeCache<api::PersistentVolumeClaim>;

}  // namespace berth::plugins::volumes
