// SPDX-License-Identifier: Apache-2.0
// Registry: the strategy between REST and the store, as upstream's generic registry: what create, update and delete
// mean for metadata, grace periods, finalizers and preconditions. Thread-safe; parses and serialises outside the
// store's lock and tries again when another writer was faster.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resource.h"
#include "berth/devcluster/apiserver/status_error.h"
#include "berth/devcluster/apiserver/store.h"

namespace berth::apiserver {

// Times that a write without a resourceVersion is tried again because another writer was faster.
inline constexpr int kWriteAttemptsMax = 100;
// Bytes of one stored object; a larger one, which only patches can make, is refused with 413.
inline constexpr std::size_t kObjectBytesMax = std::size_t{3} << 20;
// Names that generateName tries before it gives up, as upstream.
inline constexpr int kGenerateNameAttemptsMax = 8;

// A type as it is served: where its objects lie, and how they are spelled there.
struct ServedType {
  const ResourceType* type = nullptr;
  const ResourceType* stored = nullptr;  // the type whose spelling the store holds; mostly the same
  TableId table = 0;
  void (*to_stored)(json::object& object) = nullptr;  // null: nothing to do
  void (*from_stored)(json::object& object) = nullptr;
  std::string (*field_to_stored)(std::string_view field) = nullptr;

  bool IsPods() const { return type->group.empty() && type->plural == "pods"; }
  bool IsNamespaces() const { return type->group.empty() && type->plural == "namespaces"; }
};

// How strictly bodies are read, from the parameter fieldValidation.
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };

struct WriteOptions {
  bool is_dry_run = false;
  FieldValidation field_validation = FieldValidation::kIgnore;
  std::vector<std::string>* warnings = nullptr;  // of kWarn
};

struct Preconditions {
  std::string uid;
  std::string resource_version;
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds;
  Preconditions preconditions;
  std::string propagation_policy;  // "", "Background", "Foreground", "Orphan"
  bool is_dry_run = false;
};

enum class UpdateMode : std::uint8_t {
  kObject,    // status stays as it is where there is a status subresource
  kStatus,    // nothing but status, labels, annotations and finalizers changes
  kInternal,  // the server's own change: taken as it is
};

struct Written {
  ObjectPtr object;
  bool is_created = false;
};

struct Deleted {
  ObjectPtr object;
  bool is_gone = false;  // false: it waits for its grace period or finalizers
};

class Registry {
 public:
  // All outlive the registry. `changed` is called after each write to a table, outside of locks.
  Registry(const std::vector<ResourceType>& types, Store& store, const Clock& clock, std::uint64_t seed,
           std::function<void(TableId)> changed);

  // One entry a table, in the order of TableIds, as the Store wants them.
  static std::vector<TableOptions> Tables(const std::vector<ResourceType>& types, const TableOptions& usual,
                                          const TableOptions& events);

  const ServedType* Find(std::string_view group, std::string_view version, std::string_view plural) const;
  Store& store() const { return store_; }
  Time WallNow() const { return clock_.WallNow(); }

  Outcome<ObjectPtr> Get(const ServedType& served, std::string_view namespace_name, std::string_view name) const;

  // `document` is in the served spelling; an empty kind or apiVersion is filled in.
  Outcome<Written> Create(const ServedType& served, std::string_view namespace_name, json::object document,
                          const WriteOptions& options);

  // `change` makes the new document from the current one (served spelling, null when there is none and creating is
  // allowed); it is called again when another writer was faster.
  using Change = std::function<Outcome<json::object>(const json::object* current, const json::storage_ptr& storage)>;
  struct UpdateOptions {
    UpdateMode mode = UpdateMode::kObject;
    bool may_create = false;
    WriteOptions write;
  };
  Outcome<Written> Update(const ServedType& served, std::string_view namespace_name, std::string_view name,
                          const Change& change, const UpdateOptions& options);

  // The same for a change that needs no parsed document: the new draft from the current object as it is stored. False
  // when `change` gave none, or another writer was faster; then Update() does the work, or says why not.
  using TextChange = std::function<std::optional<StoredObject>(const StoredObject& current)>;
  bool UpdateText(const ServedType& served, std::string_view namespace_name, std::string_view name,
                  const TextChange& change);

  Outcome<Deleted> Delete(const ServedType& served, std::string_view namespace_name, std::string_view name,
                          const DeleteOptions& options);

 private:
  Outcome<Done> CheckTypeMeta(const ResourceType& type, json::object& document) const;
  Outcome<Done> CheckBody(const ResourceType& type, json::object& document, const WriteOptions& options) const;
  Outcome<Done> CheckNamespaceExists(const ServedType& served, std::string_view namespace_name) const;
  // What the pod's PriorityClass means for its spec; 403 when there is no such class.
  // What the admission plugins RuntimeClass and Priority do.
  Outcome<Done> AdmitPod(json::object& pod) const;
  std::vector<json::object> AllOf(std::string_view group, std::string_view plural) const;
  // The store's spelling of a document, ready to be put.
  static Outcome<StoredObject> Draft(const ServedType& served, const json::object& document);
  json::object ParseServed(const ServedType& served, const StoredObject& object,
                           const json::storage_ptr& storage) const;

  Outcome<json::object> PrepareUpdate(const ServedType& served, const StoredObject& current, const json::object& old,
                                      json::object document, const UpdateOptions& options) const;
  void DeleteNamespaceContents(std::string_view namespace_name);
  void OrphanDependents(std::string_view owner_uid);
  void DeleteDependents(std::string_view owner_uid, int depth);
  void ForEachDependent(std::string_view owner_uid,
                        const std::function<void(const ServedType&, const ObjectPtr&)>& visit);

  std::string NewUid();
  std::string NewNameSuffix();

  Store& store_;
  const Clock& clock_;
  std::function<void(TableId)> changed_;
  std::vector<ServedType> served_;
  std::vector<const ServedType*> by_table_;  // the type that stores
  absl::flat_hash_map<std::string, std::size_t> index_;
  const ServedType* namespaces_ = nullptr;
  std::mutex random_mutex_;  // guards random_
  Random random_;
};

}  // namespace berth::apiserver
