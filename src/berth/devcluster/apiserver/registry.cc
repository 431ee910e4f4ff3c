// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/registry.h"

#include <algorithm>
#include <utility>

#include "berth/base/uuid.h"
#include "berth/devcluster/objects/autoscaler_conversion.h"
#include "berth/devcluster/objects/body_check.h"
#include "berth/devcluster/objects/default_storage_class.h"
#include "berth/devcluster/objects/event_conversion.h"
#include "berth/devcluster/objects/fields/managed_fields.h"
#include "berth/devcluster/objects/metadata_validation.h"
#include "berth/devcluster/objects/priority.h"
#include "berth/devcluster/objects/runtime_class.h"
#include "berth/devcluster/objects/validate/pod_update.h"

namespace berth::apiserver {

bool OrphansByDefault(const objects::ResourceType& type) {
  if (type.structural != nullptr) return false;
  return (type.group == "batch" && type.plural == "jobs") ||
         (type.group.empty() && type.plural == "replicationcontrollers");
}

namespace {

std::string StorageKey(const objects::ResourceType& type) {
  return (type.storage_version.empty() ? type.group : type.storage_group) + '/' + type.plural;
}

bool Stores(const objects::ResourceType& type) {
  return type.storage_version.empty() || (type.storage_group == type.group && type.storage_version == type.version);
}

std::string PathKey(std::string_view group, std::string_view version, std::string_view plural) {
  std::string key;
  key.reserve(group.size() + version.size() + plural.size() + 2);
  key.append(group).append(1, '/').append(version).append(1, '/').append(plural);
  return key;
}

// Objects that upstream creates by PUT as well.
bool MayCreateOnUpdate(const objects::ResourceType& type) {
  return type.structural == nullptr && (type.plural == "leases" || type.plural == "events");
}

void CopyMember(json::object& to, const json::object& from, std::string_view name) {
  if (const json::value* value = objects::FindMember(from, name)) {
    to[json::string_view(name.data(), name.size())] = *value;
  } else {
    to.erase(json::string_view(name.data(), name.size()));
  }
}

bool HasFinalizers(const json::object& metadata) {
  const json::array* finalizers = objects::ArrayMember(metadata, "finalizers");
  return finalizers != nullptr && !finalizers->empty();
}

std::int64_t IntegerMember(const json::object& object, std::string_view name, std::int64_t otherwise) {
  const json::value* member = objects::FindMember(object, name);
  if (member == nullptr) return otherwise;
  if (const std::int64_t* integer = member->if_int64()) return *integer;
  return otherwise;
}

// The error of a create whose name an object has; null: it had it a moment ago. As upstream, what has a generateName is
// told that no unique name was found, even if it came with a name of its own, as the pods of StatefulSets do.
objects::StatusError NameTaken(const objects::ResourceType& type, std::string_view name, bool has_generate_name,
                               const objects::StoredObject* holder) {
  objects::StatusError error = objects::AlreadyExists(type, name);
  if (has_generate_name) {
    error.message += ", the server was not able to generate a unique name for the object";
    error.retry_after_seconds = 1;
  }
  if (holder != nullptr && holder->is_being_deleted) error.message.insert(0, "object is being deleted: ");
  return error;
}

// True when an object that is being deleted has nothing left to wait for.
bool MayBeRemoved(const json::object& metadata) {
  return !objects::StringMember(metadata, "deletionTimestamp").empty() && !HasFinalizers(metadata) &&
         IntegerMember(metadata, "deletionGracePeriodSeconds", 0) == 0;
}

void BumpGeneration(json::object& metadata) {
  const std::int64_t generation = IntegerMember(metadata, "generation", 0);
  if (generation > 0) metadata["generation"] = generation + 1;
}

bool IsText(const json::value& value, std::string_view text) {
  return value.is_string() && objects::View(value.get_string()) == text;
}

// What the garbage collector waits for, or has to do, before an object that has it may go.
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOrphanFinalizer = "orphan";

// Seconds; some thirty years. What is beyond cannot be added to a time.
constexpr std::int64_t kGracePeriodMax = 1'000'000'000;

// The grace period that a pod gets, as upstream's pod strategy decides: none for pods that no kubelet runs.
std::int64_t PodGracePeriod(const json::object& pod, const DeleteOptions& options) {
  const json::object* spec = objects::ObjectMember(pod, "spec");
  std::int64_t period = spec == nullptr ? 30 : IntegerMember(*spec, "terminationGracePeriodSeconds", 30);
  if (options.grace_period_seconds) period = *options.grace_period_seconds;
  if (spec == nullptr || objects::StringMember(*spec, "nodeName").empty()) period = 0;
  const json::object* status = objects::ObjectMember(pod, "status");
  const std::string_view phase = status == nullptr ? std::string_view() : objects::StringMember(*status, "phase");
  if (phase == "Succeeded" || phase == "Failed") period = 0;
  return period < 0 ? 1 : std::min(period, kGracePeriodMax);
}

// Whether a write changes nothing of an object that has managedFields: tracking its fields again would only move them
// to another place in the document.
bool IsSameTracked(const json::object& old, const json::object& document) {
  const json::object* metadata = objects::ObjectMember(old, "metadata");
  return metadata != nullptr && metadata->contains("managedFields") && document == old;
}

enum class Removal : std::uint8_t { kNow, kLater, kAlreadyPending };

// The garbage collector's finalizer that the object is to have from now on; empty: none. As upstream's store decides:
// what the request says, else what the object has, else what is usual for its type.
std::string_view DependentsFinalizer(const objects::ResourceType& type, const json::object& metadata,
                                     const DeleteOptions& options) {
  if (type.plural == "events") return {};
  if (options.orphan_dependents) return *options.orphan_dependents ? kOrphanFinalizer : std::string_view();
  if (options.propagation_policy == "Orphan") return kOrphanFinalizer;
  if (options.propagation_policy == "Foreground") return kForegroundFinalizer;
  if (!options.propagation_policy.empty()) return {};
  if (const json::array* finalizers = objects::ArrayMember(metadata, "finalizers")) {
    for (const json::value& each : *finalizers) {
      for (const std::string_view own : {kOrphanFinalizer, kForegroundFinalizer}) {
        if (IsText(each, own)) return own;
      }
    }
  }
  return OrphansByDefault(type) ? kOrphanFinalizer : std::string_view();
}

// True when the finalizers are others now.
bool SetDependentsFinalizer(json::object& metadata, std::string_view wanted) {
  json::array others(metadata.storage());
  std::size_t own = 0;
  bool has_wanted = wanted.empty();
  if (const json::array* finalizers = objects::ArrayMember(metadata, "finalizers")) {
    for (const json::value& each : *finalizers) {
      if (!IsText(each, kOrphanFinalizer) && !IsText(each, kForegroundFinalizer)) {
        others.push_back(each);
      } else {
        ++own;
        has_wanted = has_wanted || IsText(each, wanted);
      }
    }
  }
  if (has_wanted && own == (wanted.empty() ? 0 : 1)) return false;
  if (!wanted.empty()) others.emplace_back(json::string_view(wanted.data(), wanted.size()));
  metadata.erase("finalizers");
  if (!others.empty()) metadata["finalizers"] = std::move(others);
  return true;
}

// A deletion whose grace period is under way, which may only become shorter.
Removal ShortenGrace(json::object& metadata, Time until, const DeleteOptions& options) {
  const std::int64_t pending = IntegerMember(metadata, "deletionGracePeriodSeconds", 0);
  if (!options.grace_period_seconds || *options.grace_period_seconds >= pending) return Removal::kAlreadyPending;
  const std::int64_t period = std::max<std::int64_t>(*options.grace_period_seconds, 0);
  metadata["deletionTimestamp"] = FormatRfc3339(until + std::chrono::seconds(period - pending));
  metadata["deletionGracePeriodSeconds"] = period;
  return period == 0 && !HasFinalizers(metadata) ? Removal::kNow : Removal::kLater;
}

// Marks `document` as being deleted, as upstream's BeforeDelete and its graceful update do.
Removal MarkDeleted(const objects::ResourceType& type, json::object& document, const DeleteOptions& options, Time now) {
  const bool is_pod = type.group.empty() && type.plural == "pods";
  json::object& metadata = objects::MutableObject(document, "metadata");
  const auto previous = ParseRfc3339(objects::StringMember(metadata, "deletionTimestamp"));
  if (previous && IntegerMember(metadata, "deletionGracePeriodSeconds", 0) > 0) {
    return ShortenGrace(metadata, *previous, options);
  }
  const bool has_changed = SetDependentsFinalizer(metadata, DependentsFinalizer(type, metadata, options));
  const bool has_finalizers = HasFinalizers(metadata);
  if (previous) {
    if (!has_finalizers) return Removal::kNow;
    return has_changed ? Removal::kLater : Removal::kAlreadyPending;
  }
  const std::int64_t period = is_pod ? PodGracePeriod(document, options) : 0;
  metadata["deletionTimestamp"] = FormatRfc3339(now + std::chrono::seconds(period));
  metadata["deletionGracePeriodSeconds"] = period;
  BumpGeneration(metadata);
  return period > 0 || has_finalizers ? Removal::kLater : Removal::kNow;
}

objects::Outcome<objects::Done> CheckPreconditions(const objects::ResourceType& type,
                                                   const objects::StoredObject& current, const Preconditions& wanted) {
  if (!wanted.uid.empty() && wanted.uid != current.uid) {
    return objects::Conflict(
        type, current.name(),
        "Precondition failed: UID in precondition: " + wanted.uid + ", UID in object meta: " + current.uid);
  }
  if (!wanted.resource_version.empty() && wanted.resource_version != std::to_string(current.resource_version)) {
    return objects::Conflict(type, current.name(),
                             "Precondition failed: ResourceVersion in precondition: " + wanted.resource_version +
                                 ", ResourceVersion in object meta: " + std::to_string(current.resource_version));
  }
  return objects::Done();
}

std::vector<const json::object*> PointersTo(const std::vector<json::object>& documents) {
  std::vector<const json::object*> each;
  for (const json::object& document : documents) each.push_back(&document);
  return each;
}

// Maps of metadata that hold nothing are not there, as Go leaves them out.
void DropEmptyMaps(json::object& metadata) {
  for (const char* each : {"labels", "annotations"}) {
    const json::object* map = objects::ObjectMember(metadata, each);
    if (map != nullptr && map->empty()) metadata.erase(each);
  }
}

}  // namespace

std::vector<TableOptions> Registry::Tables(const std::vector<objects::ResourceType>& types, const TableOptions& usual,
                                           const TableOptions& events) {
  std::vector<TableOptions> tables;
  absl::flat_hash_map<std::string, TableId> seen;
  for (const objects::ResourceType& type : types) {
    if (!seen.try_emplace(StorageKey(type), tables.size()).second) continue;
    tables.push_back(type.kind == "Event" ? events : usual);
    tables.back().name = StorageKey(type);
  }
  return tables;
}

Registry::Registry(const std::vector<objects::ResourceType>& types, Store& store, const Clock& clock,
                   std::uint64_t seed, const TableOptions& usual, std::function<void(TableId)> changed)
    : store_(store), clock_(clock), changed_(std::move(changed)), custom_(store, usual), random_(seed) {
  absl::flat_hash_map<std::string, TableId> tables;
  served_.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    objects::ServedType& served = served_[i];
    served.type = &types[i];
    served.table = tables.try_emplace(StorageKey(types[i]), tables.size()).first->second;
    if (by_table_.size() <= served.table) by_table_.resize(served.table + 1);
    if (Stores(types[i])) {
      served.stored = &types[i];
      by_table_[served.table] = &served;
    }
    index_[PathKey(types[i].group, types[i].version, types[i].plural)] = i;
    if (served.IsNamespaces()) namespaces_ = &served;
  }
  for (objects::ServedType& served : served_) {
    if (served.stored != nullptr) continue;
    BERTH_CHECK(by_table_[served.table] != nullptr, served.type->plural, "no type stores these");
    served.stored = by_table_[served.table]->type;
    if (served.type->kind == "Event") {
      const bool core_stores = served.stored->group.empty();
      served.to_stored = core_stores ? &objects::ToCoreEvent : &objects::ToEventsV1;
      served.from_stored = core_stores ? &objects::ToEventsV1 : &objects::ToCoreEvent;
      served.field_to_stored = core_stores ? &objects::ToCoreEventField : &objects::ToEventsV1Field;
    } else if (served.type->kind == "HorizontalPodAutoscaler") {
      served.to_stored = &objects::ToAutoscalerV2;
      served.from_stored = &objects::ToAutoscalerV1;
    }
  }
}

const objects::ServedType* Registry::Find(std::string_view group, std::string_view version,
                                          std::string_view plural) const {
  const auto found = index_.find(PathKey(group, version, plural));
  return found == index_.end() ? nullptr : &served_[found->second];
}

std::shared_ptr<const objects::ServedType> Registry::FindAny(std::string_view group, std::string_view version,
                                                             std::string_view plural) const {
  // The registry owns its own types: nothing is counted.
  if (const objects::ServedType* own = Find(group, version, plural)) return {std::shared_ptr<const void>(), own};
  const std::shared_ptr<const CustomCatalog> catalog = custom_.catalog();
  const auto found = catalog->by_path.find(PathKey(group, version, plural));
  return found == catalog->by_path.end() ? nullptr : found->second;
}

objects::Outcome<objects::Done> Registry::CheckLog() const {
  const std::string why = store_.LogFailure();
  if (why.empty()) return objects::Done();
  return objects::StatusError{
      .code = 500, .reason = "InternalError", .message = "Internal error occurred: not kept: " + why};
}

std::size_t Registry::Restore(const std::vector<SavedObject>& objects, std::int64_t resource_version) {
  std::size_t passed_over = 0;
  const auto restore = [&](const SavedObject& saved, const objects::ServedType& stored) {
    auto document = codec::ParseJson(saved.document, {.bytes_max = 2 * kObjectBytesMax});
    if (!document.ok() || !document->is_object() ||
        objects::ObjectMember(document->get_object(), "metadata") == nullptr) {
      ++passed_over;
      return;
    }
    store_.Restore(stored.table, objects::MakeDraft(*stored.type, document->get_object()), saved.resource_version,
                   clock_.Now());
  };
  absl::flat_hash_map<std::string, const objects::ServedType*> stored;
  for (const objects::ServedType* each : by_table_) stored[StorageKey(*each->type)] = each;
  std::vector<const SavedObject*> others;
  for (const SavedObject& each : objects) {
    const auto found = stored.find(each.type);
    if (found != stored.end()) {
      restore(each, *found->second);
    } else {
      others.push_back(&each);
    }
  }
  // Definitions come first: they make the tables of all others.
  UpdateCustomResources();
  const auto storing = StoringTypes();
  for (const auto& each : storing) stored[StorageKey(*each->type)] = each.get();
  for (const SavedObject* each : others) {
    const auto found = stored.find(each->type);
    if (found != stored.end()) {
      restore(*each, *found->second);
    } else {
      ++passed_over;
    }
  }
  store_.RestoreVersion(resource_version);
  // The same seed must not give the uids of another life again.
  const std::lock_guard lock(random_mutex_);
  random_ = Random(random_.Next() + static_cast<std::uint64_t>(resource_version));
  return passed_over;
}

void Registry::UpdateCustomResources() {
  const std::lock_guard lock(definitions_mutex_);
  custom_.Update(AllOf("apiextensions.k8s.io", "customresourcedefinitions"));
}

std::vector<std::shared_ptr<const objects::ServedType>> Registry::StoringTypes() const {
  std::vector<std::shared_ptr<const objects::ServedType>> types;
  for (const objects::ServedType* each : by_table_) types.emplace_back(std::shared_ptr<const void>(), each);
  const std::shared_ptr<const CustomCatalog> catalog = custom_.catalog();
  for (const auto& definition : catalog->definitions) types.emplace_back(definition, &definition->storing());
  return types;
}

objects::Outcome<objects::ObjectPtr> Registry::Get(const objects::ServedType& served, std::string_view namespace_name,
                                                   std::string_view name) const {
  objects::ObjectPtr object = store_.Get(served.table, objects::ObjectKey(namespace_name, name));
  if (object == nullptr) return objects::NotFound(*served.type, name);
  return object;
}

objects::Outcome<std::vector<Store::Holder>> Registry::FindHolders(const objects::ServedType& served,
                                                                   std::string_view namespace_name,
                                                                   std::string_view name) const {
  std::vector<Store::Holder> holders;
  if (!served.definition_uid.empty()) {
    const TableId table = Find("apiextensions.k8s.io", "v1", "customresourcedefinitions")->table;
    objects::ObjectPtr definition = store_.Get(table, served.type->plural + '.' + served.type->group);
    if (definition == nullptr || definition->uid != served.definition_uid) return objects::NoSuchPath();
    holders.push_back({table, std::move(definition)});
  }
  if (!served.type->namespaced || namespaces_ == nullptr) return holders;
  objects::ObjectPtr found = store_.Get(namespaces_->table, namespace_name);
  if (found == nullptr) return objects::NotFound(*namespaces_->type, namespace_name);
  if (!found->is_being_deleted) {
    holders.push_back({namespaces_->table, std::move(found)});
    return holders;
  }
  // As upstream's admission plugin NamespaceLifecycle; clients recognise it by its cause.
  const std::string space(namespace_name);
  objects::StatusError refused = objects::Forbidden(
      *served.type, name, "unable to create new content in namespace " + space + " because it is being terminated");
  refused.causes.push_back(
      {"NamespaceTerminating", "namespace " + space + " is being terminated", "metadata.namespace"});
  return refused;
}

std::vector<json::object> Registry::AllOf(std::string_view group, std::string_view plural) const {
  std::vector<json::object> documents;
  const objects::ServedType* type = Find(group, "v1", plural);
  if (type == nullptr) return documents;
  for (const objects::ObjectPtr& object : store_.List(type->table, {}).objects)
    documents.push_back(objects::ParseStored(*object));
  return documents;
}

objects::Outcome<objects::Done> Registry::AdmitPod(json::object& pod) const {
  std::optional<std::string> why;
  if (!objects::StringMember(objects::MutableObject(pod, "spec"), "runtimeClassName").empty()) {
    const std::vector<json::object> classes = AllOf("node.k8s.io", "runtimeclasses");
    why = objects::ApplyRuntimeClass(pod, PointersTo(classes));
  }
  if (!why) {
    const std::vector<json::object> classes = AllOf("scheduling.k8s.io", "priorityclasses");
    why = objects::ResolvePodPriority(pod, PointersTo(classes));
  }
  if (why)
    return objects::Forbidden(*Find("", "v1", "pods")->type,
                              objects::StringMember(objects::MutableObject(pod, "metadata"), "name"), *why);
  return objects::Done();
}

objects::Outcome<objects::Done> Registry::AdmitPodGroup(const objects::ResourceType& type, json::object& group) const {
  const std::vector<json::object> classes = AllOf("scheduling.k8s.io", "priorityclasses");
  const std::string_view what = type.kind == "PodGroup" ? "pod group" : "composite pod group";
  const auto why = objects::ResolvePodGroupPriority(group, what, PointersTo(classes));
  if (why)
    return objects::Forbidden(type, objects::StringMember(objects::MutableObject(group, "metadata"), "name"), *why);
  return objects::Done();
}

objects::Outcome<objects::StoredObject> Registry::Draft(const objects::ServedType& served,
                                                        const json::object& document) {
  objects::StoredObject draft;
  if (served.to_stored == nullptr) {
    draft = objects::MakeDraft(*served.stored, document);
  } else {
    json::object stored(document, document.storage());
    served.to_stored(stored);
    draft = objects::MakeDraft(*served.stored, stored);
  }
  if (draft.bytes.size() > kObjectBytesMax) {
    return objects::TooLarge("the object would have " + std::to_string(draft.bytes.size()) + " bytes: at most " +
                             std::to_string(kObjectBytesMax) + " are kept");
  }
  return draft;
}

json::object Registry::ParseServed(const objects::ServedType& served, const objects::StoredObject& object,
                                   const json::storage_ptr& storage) const {
  json::object document = objects::ParseStored(object, storage);
  if (served.from_stored != nullptr) served.from_stored(document);
  return document;
}

objects::Outcome<Written> Registry::Create(const objects::ServedType& served, std::string_view namespace_name,
                                           json::object document, const objects::WriteOptions& options) {
  const objects::ResourceType& type = *served.type;
  BERTH_RETURN_IF_ERROR(objects::CheckBody(type, document, options));
  json::object& metadata = objects::MutableObject(document, "metadata");
  if (type.namespaced) {
    const std::string_view own = objects::StringMember(metadata, "namespace");
    if (!own.empty() && own != namespace_name) {
      return objects::BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    metadata["namespace"] = json::string_view(namespace_name.data(), namespace_name.size());
  } else {
    metadata.erase("namespace");
  }
  if (!objects::StringMember(metadata, "resourceVersion").empty()) {
    return objects::BadRequest("resourceVersion should not be set on objects to be created");
  }
  for (const char* name : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion"})
    metadata.erase(name);
  const std::string prefix(objects::StringMember(metadata, "generateName"));
  const bool is_generated = objects::StringMember(metadata, "name").empty() && !prefix.empty();
  // As upstream: the server's name for what the client only began to name, at most 63 characters long.
  const auto generate = [&] { metadata["name"] = prefix.substr(0, 58) + NewNameSuffix(); };
  if (is_generated) generate();
  DropEmptyMaps(metadata);
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = FormatRfc3339(clock_.WallNow());
  // Nodes are registered with their status; everything else gets its first status from the server.
  if (type.has_status && type.plural != "nodes") document.erase("status");

  if (served.IsPods()) BERTH_RETURN_IF_ERROR(AdmitPod(document));
  if (served.IsPodGroups()) BERTH_RETURN_IF_ERROR(AdmitPodGroup(type, document));
  if (type.kind == "PersistentVolumeClaim" && type.group.empty()) {
    const std::vector<json::object> classes = AllOf("storage.k8s.io", "storageclasses");
    objects::ApplyDefaultStorageClass(document, PointersTo(classes));
  }
  if (type.set_defaults) type.set_defaults(document);
  if (type.prepare_create) type.prepare_create(document);
  if (served.IsDefinitions()) {
    const bool has_room =
        custom_.HasRoomFor(objects::StringMember(objects::MutableObject(document, "metadata"), "name"));
    objects::EstablishDefinition(
        document, AllOf(type.group, type.plural),
        has_room ? ""
                 : "this server keeps no more than " + std::to_string(kCustomTablesMax) + " definitions: restart it");
  }
  std::vector<objects::FieldError> errors =
      objects::ValidateMetadata(type, objects::MutableObject(document, "metadata"));
  if (errors.empty() && type.validate) errors = type.validate(document, nullptr);
  if (!errors.empty())
    return objects::Invalid(type, objects::StringMember(objects::MutableObject(document, "metadata"), "name"), errors);
  if (!options.writer.is_apply) objects::TrackFields({type, options.writer, clock_.WallNow()}, nullptr, document);

  for (int attempt = 0;; ++attempt) {
    BERTH_ASSIGN_OR_RETURN(objects::StoredObject draft, Draft(served, document));
    const std::string name(draft.name());
    BERTH_ASSIGN_OR_RETURN(const auto holders, FindHolders(served, namespace_name, is_generated ? prefix : name));
    if (options.is_dry_run) {
      if (const objects::ObjectPtr holder = store_.Get(served.table, draft.key); holder != nullptr)
        return NameTaken(type, name, !prefix.empty(), holder.get());
      auto dry = std::make_shared<const objects::StoredObject>(std::move(draft));
      return Written{std::move(dry), true};
    }
    BERTH_ASSIGN_OR_RETURN(objects::ObjectPtr object, Replace(served, nullptr, std::move(draft), false, holders));
    if (object != nullptr) return Written{std::move(object), true};
    // When the name is free, the write failed because one of `holders` has changed.
    const objects::ObjectPtr holder =
        store_.Get(served.table, objects::ObjectKey(type.namespaced ? namespace_name : "", name));
    if (holder == nullptr && attempt + 1 < kWriteAttemptsMax) continue;
    if (!is_generated || attempt + 1 >= kGenerateNameAttemptsMax)
      return NameTaken(type, name, !prefix.empty(), holder.get());
    objects::MutableObject(document, "metadata")["name"] = prefix.substr(0, 58) + NewNameSuffix();
  }
}

objects::Outcome<json::object> Registry::PrepareUpdate(const objects::ServedType& served,
                                                       const objects::StoredObject& current, const json::object& old,
                                                       json::object document, const UpdateOptions& options) const {
  const objects::ResourceType& type = *served.type;
  BERTH_RETURN_IF_ERROR(objects::CheckBody(type, document, options.write));
  json::object& metadata = objects::MutableObject(document, "metadata");
  const json::object* old_metadata = objects::ObjectMember(old, "metadata");
  const std::string_view name = objects::StringMember(metadata, "name");
  if (!name.empty() && name != current.name()) {
    return objects::BadRequest("the name of the object (" + std::string(name) +
                               ") does not match the name on the URL (" + std::string(current.name()) + ')');
  }
  const std::string_view namespace_name = objects::StringMember(metadata, "namespace");
  if (type.namespaced && !namespace_name.empty() && namespace_name != current.namespace_name()) {
    return objects::BadRequest("the namespace of the object (" + std::string(namespace_name) +
                               ") does not match the namespace on the URL (" + std::string(current.namespace_name()) +
                               ')');
  }
  const std::string_view uid = objects::StringMember(metadata, "uid");
  if (!uid.empty() && uid != current.uid) {
    return objects::Conflict(
        type, current.name(),
        "Precondition failed: UID in precondition: " + std::string(uid) + ", UID in object meta: " + current.uid);
  }
  const std::string_view version = objects::StringMember(metadata, "resourceVersion");
  if (!version.empty() && version != "0" && version != std::to_string(current.resource_version)) {
    return objects::ModifiedConflict(type, current.name());
  }
  if (version.empty() && type.plural == "leases" && type.structural == nullptr && options.mode == UpdateMode::kObject) {
    return objects::Invalid(
        type, current.name(),
        {{"metadata.resourceVersion", "FieldValueInvalid", "Invalid value: \"\": must be specified for an update"}});
  }
  DropEmptyMaps(metadata);
  for (const char* each : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation", "generateName", "resourceVersion"}) {
    CopyMember(metadata, *old_metadata, each);
  }
  if (options.mode == UpdateMode::kStatus) {
    json::object merged(old, document.storage());
    json::object& merged_metadata = objects::MutableObject(merged, "metadata");
    for (const char* each : {"labels", "annotations", "finalizers"}) CopyMember(merged_metadata, metadata, each);
    CopyMember(merged, document, "status");
    if (options.write.writer.is_apply) CopyMember(merged_metadata, metadata, "managedFields");
    document = std::move(merged);
  } else {
    if (options.mode == UpdateMode::kEphemeralContainers) {
      json::object merged(old, document.storage());
      CopyMember(objects::MutableObject(merged, "spec"), objects::MutableObject(document, "spec"),
                 "ephemeralContainers");
      if (options.write.writer.is_apply)
        CopyMember(objects::MutableObject(merged, "metadata"), metadata, "managedFields");
      document = std::move(merged);
    }
    if (type.has_status) CopyMember(document, old, "status");
    if (type.set_defaults) type.set_defaults(document);
    if (type.prepare_update) type.prepare_update(document, old);
  }
  const json::object& new_metadata = objects::MutableObject(document, "metadata");
  std::vector<objects::FieldError> errors = objects::ValidateMetadata(type, new_metadata);
  if (current.is_being_deleted) {
    const json::array* before = objects::ArrayMember(*old_metadata, "finalizers");
    if (const json::array* after = objects::ArrayMember(new_metadata, "finalizers")) {
      for (const json::value& each : *after) {
        if (before == nullptr || std::find(before->begin(), before->end(), each) == before->end()) {
          errors.push_back(
              {"metadata.finalizers", "FieldValueForbidden",
               "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
                   json::serialize(json::array{each})});
        }
      }
    }
  }
  if (errors.empty() && options.mode == UpdateMode::kEphemeralContainers) {
    errors = objects::internal::ValidateEphemeralContainers(document, old);
  } else if (errors.empty() && type.validate) {
    errors = type.validate(document, &old);
  }
  if (!errors.empty()) return objects::Invalid(type, current.name(), errors);
  if (!options.write.writer.is_apply)
    objects::TrackFields({type, options.write.writer, clock_.WallNow()}, &old, document);
  objects::KeepTimesOfNothing(old, document);
  return document;
}

objects::Outcome<Written> Registry::Update(const objects::ServedType& served, std::string_view namespace_name,
                                           std::string_view name, const Change& change, const UpdateOptions& options) {
  const std::string key = objects::ObjectKey(namespace_name, name);
  for (int attempt = 0; attempt < kWriteAttemptsMax; ++attempt) {
    const json::storage_ptr storage = objects::RequestStorage();
    const objects::ObjectPtr current = store_.Get(served.table, key);
    if (current == nullptr) {
      const bool may_create = options.may_create && (options.write.writer.is_apply || MayCreateOnUpdate(*served.type));
      if (!may_create) return objects::NotFound(*served.type, name);
      BERTH_ASSIGN_OR_RETURN(json::object document, change(nullptr, storage));
      json::object& metadata = objects::MutableObject(document, "metadata");
      const std::string_view own = objects::StringMember(metadata, "name");
      if (!own.empty() && own != name) {
        return objects::BadRequest("the name of the object (" + std::string(own) +
                                   ") does not match the name on the URL (" + std::string(name) + ')');
      }
      metadata["name"] = json::string_view(name.data(), name.size());
      if (const std::string_view uid = objects::StringMember(metadata, "uid");
          options.write.writer.is_apply && !uid.empty()) {
        return objects::Conflict(*served.type, name,
                                 "uid mismatch: the provided object specified uid " + std::string(uid) +
                                     ", and no existing object was found");
      }
      return Create(served, namespace_name, std::move(document), options.write);
    }
    const json::object old = ParseServed(served, *current, storage);
    BERTH_ASSIGN_OR_RETURN(json::object document, change(&old, storage));
    if (options.mode != UpdateMode::kInternal) {
      BERTH_ASSIGN_OR_RETURN(document, PrepareUpdate(served, *current, old, std::move(document), options));
    }
    const bool is_finished = MayBeRemoved(objects::MutableObject(document, "metadata"));
    BERTH_ASSIGN_OR_RETURN(objects::StoredObject draft, Draft(served, document));
    if (!is_finished && (objects::SameContent(draft, *current) || IsSameTracked(old, document)))
      return Written{current};
    if (options.write.is_dry_run) return Written{objects::Seal(std::move(draft), current->resource_version)};
    BERTH_ASSIGN_OR_RETURN(objects::ObjectPtr written, Replace(served, current, std::move(draft), is_finished));
    if (written != nullptr) return Written{std::move(written)};
  }
  return objects::ModifiedConflict(*served.type, name);
}

bool Registry::UpdateText(const objects::ServedType& served, std::string_view namespace_name, std::string_view name,
                          const TextChange& change) {
  const objects::ObjectPtr current = store_.Get(served.table, objects::ObjectKey(namespace_name, name));
  if (current == nullptr) return false;
  std::optional<objects::StoredObject> draft = change(*current);
  if (!draft || draft->bytes.size() > kObjectBytesMax) return false;
  if (store_.Put(served.table, current, *std::move(draft), clock_.Now()) == nullptr) return false;
  changed_(served.table);
  return true;
}

objects::Outcome<std::vector<objects::ObjectPtr>> Registry::DeleteCollection(const objects::ServedType& served,
                                                                             const Store::ListQuery& query,
                                                                             DeleteOptions options) {
  std::vector<objects::ObjectPtr> gone;
  for (const objects::ObjectPtr& object : store_.List(served.table, query).objects) {
    options.preconditions.uid = object->uid;
    auto deleted = Delete(served, object->namespace_name(), object->name(), options);
    // One that someone else has deleted meanwhile is what the client wanted.
    if (deleted.ok()) {
      gone.push_back(deleted->object);
    } else if (deleted.error().code != 404 && deleted.error().code != 409) {
      return deleted.error();
    }
  }
  return gone;
}

objects::Outcome<Deleted> Registry::Delete(const objects::ServedType& served, std::string_view namespace_name,
                                           std::string_view name, const DeleteOptions& options) {
  const std::string key = objects::ObjectKey(namespace_name, name);
  if (served.IsNamespaces() && (name == "default" || name == "kube-system" || name == "kube-public")) {
    return objects::Forbidden(*served.type, name, "this namespace may not be deleted");
  }
  for (int attempt = 0; attempt < kWriteAttemptsMax; ++attempt) {
    const objects::ObjectPtr current = store_.Get(served.table, key);
    if (current == nullptr) return objects::NotFound(*served.type, name);
    BERTH_RETURN_IF_ERROR(CheckPreconditions(*served.type, *current, options.preconditions));
    json::object document = ParseServed(served, *current, objects::RequestStorage());
    const Removal removal = MarkDeleted(*served.type, document, options, clock_.WallNow());
    if (removal == Removal::kAlreadyPending) return Deleted{current, false};
    if (served.IsNamespaces()) objects::MutableObject(document, "status")["phase"] = "Terminating";
    BERTH_ASSIGN_OR_RETURN(objects::StoredObject draft, Draft(served, document));
    if (options.is_dry_run)
      return Deleted{objects::Seal(std::move(draft), current->resource_version), removal == Removal::kNow};
    const bool is_gone = removal == Removal::kNow;
    BERTH_ASSIGN_OR_RETURN(objects::ObjectPtr written, Replace(served, current, std::move(draft), is_gone));
    if (written == nullptr) continue;
    // A namespace that waits for its finalizers is empty meanwhile: its mark keeps new objects out. What the log keeps
    // all the same is tried again when the last finalizer goes.
    if (served.IsNamespaces() && !is_gone) (void)RemoveContents(ContentsOf(served, name));
    return Deleted{std::move(written), is_gone};
  }
  return objects::ModifiedConflict(*served.type, name);
}

objects::Outcome<objects::ObjectPtr> Registry::Replace(const objects::ServedType& served,
                                                       const objects::ObjectPtr& current, objects::StoredObject draft,
                                                       bool is_removed, std::span<const Store::Holder> holders) {
  Store::Contents contents;
  if (is_removed) {
    contents = ContentsOf(served, current->name());
    BERTH_RETURN_IF_ERROR(RemoveContents(contents));
  }
  objects::ObjectPtr written = is_removed ? store_.Remove(served.table, current, std::move(draft), contents)
                                          : store_.Put(served.table, current, std::move(draft), clock_.Now(), holders);
  if (written == nullptr) {
    BERTH_RETURN_IF_ERROR(CheckLog());
    return written;
  }
  changed_(served.table);
  if (served.IsDefinitions()) UpdateCustomResources();
  return written;
}

Store::Contents Registry::ContentsOf(const objects::ServedType& served, std::string_view name) const {
  if (served.IsNamespaces()) return {.namespace_name = std::string(name)};
  if (served.IsDefinitions()) {
    const std::shared_ptr<const CustomCatalog> catalog = custom_.catalog();
    for (const auto& definition : catalog->definitions) {
      if (definition->name() == name) return {.table = definition->storing().table};
    }
  }
  return {};
}

// Without a namespace controller the server empties the namespace itself. No kubelet is waited for, and nobody's
// finalizers.
objects::Outcome<objects::Done> Registry::RemoveContents(const Store::Contents& contents) {
  for (const auto& [table, object] : store_.List(contents)) {
    if (store_.Remove(table, object, *object) != nullptr) {
      changed_(table);
    } else {
      BERTH_RETURN_IF_ERROR(CheckLog());
    }
  }
  return objects::Done();
}

std::string Registry::NewUid() {
  std::uint64_t high;
  std::uint64_t low;
  {
    const std::lock_guard lock(random_mutex_);
    high = random_.Next();
    low = random_.Next();
  }
  return UuidOf(high, low);
}

std::string Registry::NewNameSuffix() {
  // Upstream's alphabet: no vowels, no look-alikes.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  const std::lock_guard lock(random_mutex_);
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[random_.Below(kLetters.size())];
  return suffix;
}

}  // namespace berth::apiserver
