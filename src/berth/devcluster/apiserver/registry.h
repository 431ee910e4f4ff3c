// SPDX-License-Identifier: Apache-2.0
// Registry: the strategy between REST and the store, as upstream's generic registry: what create, update and delete
// mean for metadata, grace periods, finalizers and preconditions. Thread-safe; parses and serialises outside the
// store's lock and tries again when another writer was faster.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/devcluster/apiserver/custom_resources.h"
#include "berth/devcluster/apiserver/store.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/served_type.h"
#include "berth/devcluster/objects/status_error.h"
#include "berth/devcluster/objects/write_options.h"

namespace berth::apiserver {

namespace json = codec::json;

// Times that a write without a resourceVersion is tried again because another writer was faster.
inline constexpr int kWriteAttemptsMax = 100;
// Bytes of one stored object; a larger one, which only patches can make, is refused with 413.
inline constexpr std::size_t kObjectBytesMax = std::size_t{3} << 20;
// Names that generateName tries before it gives up, as upstream.
inline constexpr int kGenerateNameAttemptsMax = 8;

struct Preconditions {
  std::string uid;
  std::string resource_version;
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds;
  Preconditions preconditions;
  std::string propagation_policy;         // "", "Background", "Foreground", "Orphan"
  std::optional<bool> orphan_dependents;  // the older way to say it, not together with a policy
  bool is_dry_run = false;
};

enum class UpdateMode : std::uint8_t {
  kObject,               // status stays as it is where there is a status subresource
  kStatus,               // nothing but status, labels, annotations and finalizers changes
  kEphemeralContainers,  // nothing but spec.ephemeralContainers of a pod changes
  kInternal,             // the server's own change: taken as it is
};

struct Written {
  objects::ObjectPtr object;
  bool is_created = false;
};

struct Deleted {
  objects::ObjectPtr object;
  bool is_gone = false;  // false: it waits for its grace period or finalizers
};

// Whose dependents stay when a deletion does not say otherwise: Jobs and ReplicationControllers, as upstream, for the
// sake of clients from before there was a choice.
bool OrphansByDefault(const objects::ResourceType& type);

class Registry {
 public:
  // All outlive the registry. `changed` is called after each write to a table, outside of locks. Tables of custom
  // resources are like `usual`.
  Registry(const std::vector<objects::ResourceType>& types, Store& store, const Clock& clock, std::uint64_t seed,
           const TableOptions& usual, std::function<void(TableId)> changed);

  // One entry a table, in the order of TableIds, as the Store wants them.
  static std::vector<TableOptions> Tables(const std::vector<objects::ResourceType>& types, const TableOptions& usual,
                                          const TableOptions& events);

  // The type when it is one of Kubernetes' own; it lives as long as the registry.
  const objects::ServedType* Find(std::string_view group, std::string_view version, std::string_view plural) const;
  // The type, whether Kubernetes' own or a custom resource; null when there is none.
  std::shared_ptr<const objects::ServedType> FindAny(std::string_view group, std::string_view version,
                                                     std::string_view plural) const;
  std::shared_ptr<const CustomCatalog> custom_catalog() const { return custom_.catalog(); }
  Store& store() const { return store_; }
  Time WallNow() const { return clock_.WallNow(); }

  objects::Outcome<objects::ObjectPtr> Get(const objects::ServedType& served, std::string_view namespace_name,
                                           std::string_view name) const;

  // `document` is in the served spelling; an empty kind or apiVersion is filled in.
  objects::Outcome<Written> Create(const objects::ServedType& served, std::string_view namespace_name,
                                   json::object document, const objects::WriteOptions& options);

  // `change` makes the new document from the current one (served spelling, null when there is none and creating is
  // allowed); it is called again when another writer was faster.
  using Change =
      std::function<objects::Outcome<json::object>(const json::object* current, const json::storage_ptr& storage)>;
  struct UpdateOptions {
    UpdateMode mode = UpdateMode::kObject;
    bool may_create = false;
    objects::WriteOptions write;
  };
  objects::Outcome<Written> Update(const objects::ServedType& served, std::string_view namespace_name,
                                   std::string_view name, const Change& change, const UpdateOptions& options);

  // The same for a change that needs no parsed document: the new draft from the current object as it is stored. False
  // when `change` gave none, or another writer was faster; then Update() does the work, or says why not.
  using TextChange = std::function<std::optional<objects::StoredObject>(const objects::StoredObject& current)>;
  bool UpdateText(const objects::ServedType& served, std::string_view namespace_name, std::string_view name,
                  const TextChange& change);

  // Begins with what an earlier server has kept; before the first request. Gives how many objects were passed over:
  // their type is not served any more, or they cannot be read.
  std::size_t Restore(const std::vector<SavedObject>& objects, std::int64_t resource_version);

  // A uid that no other object has.
  std::string NewUid();

  // What depends on it is the garbage collector's concern (controllers): the deletion sets the finalizers by which that
  // one knows what was asked for.
  objects::Outcome<Deleted> Delete(const objects::ServedType& served, std::string_view namespace_name,
                                   std::string_view name, const DeleteOptions& options);
  // Deletes every object that the query finds, and returns their last versions.
  objects::Outcome<std::vector<objects::ObjectPtr>> DeleteCollection(const objects::ServedType& served,
                                                                     const Store::ListQuery& query,
                                                                     DeleteOptions options);

 private:
  // What an object of this name would lie in: its type's definition, its namespace. 404 without them, 403 when the
  // namespace is being deleted.
  objects::Outcome<std::vector<Store::Holder>> FindHolders(const objects::ServedType& served,
                                                           std::string_view namespace_name,
                                                           std::string_view name) const;
  // What the admission plugins RuntimeClass and Priority do.
  objects::Outcome<objects::Done> AdmitPod(json::object& pod) const;
  objects::Outcome<objects::Done> AdmitPodGroup(const objects::ResourceType& type, json::object& group) const;
  // 500 when the last write was not kept.
  objects::Outcome<objects::Done> CheckLog() const;
  // After a write to CustomResourceDefinitions.
  void UpdateCustomResources();
  // The type that stores in each table.
  std::vector<std::shared_ptr<const objects::ServedType>> StoringTypes() const;
  std::vector<json::object> AllOf(std::string_view group, std::string_view plural) const;
  // The store's spelling of a document, ready to be put.
  static objects::Outcome<objects::StoredObject> Draft(const objects::ServedType& served, const json::object& document);
  json::object ParseServed(const objects::ServedType& served, const objects::StoredObject& object,
                           const json::storage_ptr& storage) const;

  objects::Outcome<json::object> PrepareUpdate(const objects::ServedType& served, const objects::StoredObject& current,
                                               const json::object& old, json::object document,
                                               const UpdateOptions& options) const;
  // Puts `draft` in the place of `current` (null: it is new, and lies in `holders`), or removes it with all that lies
  // in it. Null when another writer was faster; an error when the log refused.
  objects::Outcome<objects::ObjectPtr> Replace(const objects::ServedType& served, const objects::ObjectPtr& current,
                                               objects::StoredObject draft, bool is_removed,
                                               std::span<const Store::Holder> holders = {});
  // What lies in a namespace, or is of a definition; of other types nothing. It goes before they do: in the log,
  // objects without them would wait for the next of that name.
  Store::Contents ContentsOf(const objects::ServedType& served, std::string_view name) const;
  // An error when the log keeps one of them.
  objects::Outcome<objects::Done> RemoveContents(const Store::Contents& contents);

  std::string NewNameSuffix();

  Store& store_;
  const Clock& clock_;
  std::function<void(TableId)> changed_;
  std::vector<objects::ServedType> served_;
  std::vector<const objects::ServedType*> by_table_;  // the type that stores
  absl::flat_hash_map<std::string, std::size_t> index_;
  const objects::ServedType* namespaces_ = nullptr;
  CustomResources custom_;
  std::mutex definitions_mutex_;  // held while the definitions are read and made a catalog
  std::mutex random_mutex_;       // guards random_
  Random random_;
};

}  // namespace berth::apiserver
