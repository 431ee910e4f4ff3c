// SPDX-License-Identifier: Apache-2.0
// Objects: the API objects other than nodes and pods that plugins read, as the API server last showed them. A plugin
// declares the kinds that it reads (ObjectReader in plugin.h); only those are watched. Within turns only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/pod_group.h"
#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/api/workloads.h"

namespace berth::framework {

// In the order of the alternatives of AnyObject.
enum class ObjectKind : std::uint8_t {
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
  kVolumeAttachment,
  kPodDisruptionBudget,
  kNamespace,
  kService,
  kReplicationController,
  kReplicaSet,
  kStatefulSet,
  kResourceSlice,
  kDeviceClass,
  kResourceClaim,
  kPodGroup,
  kCompositePodGroup,
  kDeviceTaintRule,
};
inline constexpr std::size_t kObjectKindCount = 19;

template <typename... T>
struct ObjectTypes {
  using Any = std::variant<std::shared_ptr<const T>...>;
  template <template <typename> typename Each>
  using Tuple = std::tuple<Each<T>...>;
};
using AllObjectTypes =
    ObjectTypes<api::PersistentVolume, api::PersistentVolumeClaim, api::StorageClass, api::CsiNode, api::CsiDriver,
                api::CsiStorageCapacity, api::VolumeAttachment, api::PodDisruptionBudget, api::Namespace, api::Service,
                api::ReplicationController, api::ReplicaSet, api::StatefulSet, api::ResourceSlice, api::DeviceClass,
                api::ResourceClaim, api::PodGroup, api::CompositePodGroup, api::DeviceTaintRule>;

// An object of any of these kinds. The pointer is not null, except where a comment says so.
using AnyObject = AllObjectTypes::Any;
static_assert(std::variant_size_v<AnyObject> == kObjectKindCount);
inline ObjectKind KindOf(const AnyObject& object) { return static_cast<ObjectKind>(object.index()); }

// All objects of one kind, sorted by key.
template <typename T>
class ObjectStore {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Called after each change. The first argument is null for an addition, the second for a deletion.
  using Listener = std::function<void(const Ptr& before, const Ptr& after)>;

  // "namespace/name", or the name for a kind without namespaces.
  static std::string Key(std::string_view namespace_name, std::string_view name) {
    if (namespace_name.empty()) return std::string(name);
    return std::string(namespace_name).append("/").append(name);
  }

  // Null when there is no object with this key. Valid until the object changes.
  const T* Find(std::string_view key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second.get();
  }
  const T* Find(std::string_view namespace_name, std::string_view name) const {
    return Find(Key(namespace_name, name));
  }
  Ptr Get(std::string_view key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }

  // Iterates over pairs of key and object.
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }
  std::size_t size() const { return objects_.size(); }
  bool empty() const { return objects_.empty(); }
  // Grows with each change.
  std::uint64_t version() const { return version_; }

  // Returns the previous object.
  Ptr Set(Ptr object) {
    Ptr& slot = objects_[Key(object->metadata.namespace_name, object->metadata.name)];
    const Ptr before = std::exchange(slot, object);
    Tell(before, object);
    return before;
  }
  Ptr Remove(std::string_view key) {
    const auto it = objects_.find(key);
    if (it == objects_.end()) return nullptr;
    const Ptr before = it->second;
    objects_.erase(it);
    Tell(before, nullptr);
    return before;
  }
  // The listener stays registered for the store's life.
  void Listen(Listener listener) const { listeners_.push_back(std::move(listener)); }

 private:
  void Tell(const Ptr& before, const Ptr& after) {
    ++version_;
    for (const Listener& listener : listeners_) listener(before, after);
  }

  std::map<std::string, Ptr, std::less<>> objects_;
  mutable std::vector<Listener> listeners_;
  std::uint64_t version_ = 0;
};

class Objects {
 public:
  // In objects.cc, because each of these is compiled for every kind.
  Objects();
  ~Objects();
  Objects(const Objects& other);
  Objects& operator=(const Objects& other);
  Objects(Objects&& other) noexcept;
  Objects& operator=(Objects&& other) noexcept;

  template <typename T>
  const ObjectStore<T>& Of() const {
    return std::get<ObjectStore<T>>(stores_);
  }
  template <typename T>
  ObjectStore<T>& Of() {
    return std::get<ObjectStore<T>>(stores_);
  }

  // Adds or replaces the object and returns the previous one. If there is none, this function and the next two return a
  // null pointer of the kind.
  AnyObject Set(const AnyObject& object);
  AnyObject Remove(ObjectKind kind, std::string_view key);
  AnyObject Get(ObjectKind kind, std::string_view key);

 private:
  AllObjectTypes::Tuple<ObjectStore> stores_;
};

}  // namespace berth::framework
