// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/managed_fields.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/devcluster/objects/fields/field_merge.h"
#include "berth/devcluster/objects/fields/field_set.h"
#include "berth/devcluster/objects/fields/field_type.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {
namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kKubectl = "kubectl";
constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kAncientChanges = "ancient-changes";

// A write and how the type's fields merge.
struct Write {
  explicit Write(const FieldWrite& of) : type(of.type), writer(of.writer), now(of.now), fields(FieldType::Of(type)) {}

  const ResourceType& type;
  const FieldWriter& writer;
  const Time now;
  const FieldType fields;
};

// One entry of managedFields.
struct Manager {
  std::string name;
  bool is_apply = false;
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;

  // Appliers are the same whichever version they apply.
  bool IsSameAs(const Manager& other) const {
    return name == other.name && is_apply == other.is_apply && subresource == other.subresource &&
           (is_apply || api_version == other.api_version);
  }

  // As conflicts call it.
  std::string Text() const {
    std::string text = json::serialize(json::string(name));
    if (!subresource.empty()) text += " with subresource " + json::serialize(json::string(subresource));
    if (!is_apply) text += " using " + api_version;
    return text;
  }
};
using Managers = std::vector<Manager>;

std::string ApiVersionOf(const ResourceType& type) {
  return type.group.empty() ? type.version : type.group + '/' + type.version;
}

const json::array* ManagedFieldsOf(const json::object& document) {
  const json::object* metadata = ObjectMember(document, "metadata");
  return metadata == nullptr ? nullptr : ArrayMember(*metadata, "managedFields");
}

// Nullopt for entries that are none.
std::optional<Managers> Decode(const json::array* entries) {
  Managers managers;
  if (entries == nullptr) return managers;
  for (const json::value& entry : *entries) {
    const json::object* object = entry.if_object();
    if (object == nullptr) return std::nullopt;
    Manager manager;
    manager.name = StringMember(*object, "manager");
    const std::string_view operation = StringMember(*object, "operation");
    manager.is_apply = operation == "Apply";
    manager.api_version = StringMember(*object, "apiVersion");
    manager.subresource = StringMember(*object, "subresource");
    manager.time = StringMember(*object, "time");
    const json::object* fields = ObjectMember(*object, "fieldsV1");
    if ((!manager.is_apply && operation != "Update") || StringMember(*object, "fieldsType") != "FieldsV1" ||
        fields == nullptr) {
      return std::nullopt;
    }
    auto set = FromFieldsV1(*fields);
    if (!set) return std::nullopt;
    manager.fields = *std::move(set);
    managers.push_back(std::move(manager));
  }
  return managers;
}

void Encode(Managers managers, json::object& document) {
  json::object& metadata = MutableObject(document, "metadata");
  metadata.erase("managedFields");
  if (managers.empty()) return;
  std::stable_sort(managers.begin(), managers.end(), [](const Manager& a, const Manager& b) {
    if (a.is_apply != b.is_apply) return a.is_apply;
    return std::tie(a.time, a.name, a.api_version, a.subresource) <
           std::tie(b.time, b.name, b.api_version, b.subresource);
  });
  json::array entries;
  for (const Manager& manager : managers) {
    json::object entry;
    entry["manager"] = manager.name;
    entry["operation"] = manager.is_apply ? "Apply" : "Update";
    entry["apiVersion"] = manager.api_version;
    if (!manager.time.empty()) entry["time"] = manager.time;
    entry["fieldsType"] = "FieldsV1";
    entry["fieldsV1"] = ToFieldsV1(manager.fields);
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    entries.push_back(std::move(entry));
  }
  metadata["managedFields"] = std::move(entries);
}

// What the client's list says instead of the object's own: nothing when it is absent or none.
bool IsReset(const json::array* entries) {
  if (entries == nullptr) return false;
  if (entries->empty()) return true;
  const json::object* only = entries->size() == 1 ? (*entries)[0].if_object() : nullptr;
  return only != nullptr && only->empty();
}

// The server's own fields, which nobody owns.
FieldSet Unowned() {
  FieldSet set;
  for (const std::string_view name : {"apiVersion", "kind", "metadata"}) set.WithPath({name});
  for (const std::string_view name :
       {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
        "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    set.WithPath({"metadata", name});
  }
  return set;
}

// What a write can own of `fields`: not what a write to its subresource cannot change.
FieldSet Owned(const Write& write, FieldSet fields) {
  fields = Difference(fields, Unowned());
  if (write.type.has_status) {
    if (write.writer.subresource == "status") fields.children.erase("f:spec");
    if (write.writer.subresource.empty()) fields.children.erase("f:status");
  }
  return fields;
}

json::object WithoutManagedFields(const json::object& document) {
  json::object copy = document;
  if (json::value* metadata = copy.if_contains("metadata"); metadata != nullptr && metadata->is_object()) {
    metadata->get_object().erase("managedFields");
  }
  return copy;
}

// Takes from all managers but `self` what has changed, and drops those that own nothing any more.
void TakeAway(Managers& managers, const Manager& self, const FieldChanges& changes) {
  const FieldSet changed = Union(Union(changes.added, changes.modified), changes.removed);
  for (Manager& each : managers) {
    if (!each.IsSameAs(self)) each.fields = Difference(each.fields, changed);
  }
  std::erase_if(managers, [](const Manager& each) { return each.fields.IsEmpty(); });
}

Manager& FindOrAdd(Managers& managers, const Manager& self) {
  for (Manager& each : managers) {
    if (each.IsSameAs(self)) return each;
  }
  managers.push_back(self);
  return managers.back();
}

// Puts the oldest updates together until there are few enough, as upstream: those of one version in one entry.
void CapUpdaters(Managers& managers) {
  std::vector<Manager*> updaters;
  for (Manager& each : managers) {
    if (!each.is_apply) updaters.push_back(&each);
  }
  if (updaters.size() <= kUpdateManagersMax) return;
  std::sort(updaters.begin(), updaters.end(),
            [](const Manager* a, const Manager* b) { return std::tie(a->time, a->name) < std::tie(b->time, b->name); });
  std::size_t left = updaters.size();
  std::map<std::string, Manager*> buckets;
  for (Manager* each : updaters) {
    if (left <= kUpdateManagersMax) break;
    const auto [bucket, is_first] = buckets.try_emplace(each->api_version, each);
    if (is_first) continue;
    bucket->second->name = kAncientChanges;
    bucket->second->subresource.clear();
    bucket->second->time = each->time;
    bucket->second->fields = Union(std::move(bucket->second->fields), each->fields);
    each->fields = {};
    --left;
  }
  std::erase_if(managers, [](const Manager& each) { return each.fields.IsEmpty(); });
}

// The update of one manager, whose fields are those that it has changed.
void RecordUpdate(const Write& write, Manager self, const json::object& before, const json::object& after,
                  Managers& managers) {
  self.api_version = ApiVersionOf(write.type);
  const FieldChanges changes = CompareFields(write.fields, before, after);
  TakeAway(managers, self, changes);
  const FieldSet taken = Owned(write, Union(changes.added, changes.modified));
  if (taken.IsEmpty()) {
    for (Manager& each : managers) {
      if (each.IsSameAs(self)) each.fields = Difference(each.fields, changes.removed);
    }
    std::erase_if(managers, [](const Manager& each) { return each.fields.IsEmpty(); });
    return;
  }
  Manager& mine = FindOrAdd(managers, self);
  mine.fields = Union(Difference(mine.fields, changes.removed), taken);
  mine.time = FormatRfc3339(write.now);
  CapUpdaters(managers);
}

// --- Applying --------------------------------------------------------------------------------------------------------

std::string Describe(const Write& write, const json::object& configuration) {
  const json::object* metadata = ObjectMember(configuration, "metadata");
  const auto member = [&](std::string_view name) {
    return std::string(metadata == nullptr ? std::string_view() : StringMember(*metadata, name));
  };
  const std::string version = write.type.group.empty() ? "/" + write.type.version : ApiVersionOf(write.type);
  return member("namespace") + '/' + member("name") + "; " + version + ", Kind=" + write.type.kind;
}

// An error without a reason, as upstream's.
StatusError PlainError(std::string message) { return {.code = 500, .reason = "", .message = std::move(message)}; }

Outcome<Done> CheckApplied(const Write& write, const json::object& configuration) {
  const std::string_view api_version = StringMember(configuration, "apiVersion");
  const std::string_view kind = StringMember(configuration, "kind");
  if (api_version != ApiVersionOf(write.type) || kind != write.type.kind) {
    const bool is_core = api_version.find('/') == std::string_view::npos;
    return BadRequest("invalid object type: " + std::string(is_core ? "/" : "") + std::string(api_version) +
                      ", Kind=" + std::string(kind));
  }
  const json::object* metadata = ObjectMember(configuration, "metadata");
  if (metadata != nullptr && metadata->contains("managedFields")) {
    return BadRequest("metadata.managedFields must be nil");
  }
  const std::vector<std::string> errors = CheckConfiguration(write.fields, configuration);
  if (errors.empty()) return Done();
  std::string text = errors.size() == 1 ? errors[0] : "errors:";
  if (errors.size() > 1) {
    for (const std::string& each : errors) text += "\n  " + each;
  }
  return PlainError("failed to create typed patch object (" + Describe(write, configuration) + "): " + text);
}

// What the manager applied before and does not apply any more goes, unless somebody else owns it.
json::object Prune(const Write& write, const json::object& merged, const FieldSet& last, const Managers& managers) {
  if (last.IsEmpty()) return merged;
  const FieldType& type = write.fields;
  const auto declared = [&](FieldSet set) { return WithDeclaredMembers(type, std::move(set)); };
  const FieldSet applied_last = declared(last);
  const FieldSet all = declared(FieldsOf(type, merged));
  FieldSet owned;
  for (const Manager& each : managers) owned = Union(std::move(owned), each.fields);
  owned = declared(std::move(owned));
  const json::object without_last = WithoutFields(type, merged, applied_last);
  const FieldSet kept = Union(declared(FieldsOf(type, without_last)), owned);
  const json::object with_owned = WithoutFields(type, merged, Difference(all, kept));
  const FieldSet dropped = Difference(all, declared(FieldsOf(type, with_owned)));
  return WithoutFields(type, merged, Intersection(dropped, applied_last));
}

struct FieldConflict {
  const Manager* manager;
  FieldSet fields;
};

StatusError ConflictError(const std::vector<FieldConflict>& conflicts) {
  StatusError error{.code = 409, .reason = "Conflict"};
  std::map<std::string, std::vector<std::string>> by_manager;
  for (const FieldConflict& each : conflicts) {
    for (std::string& path : PathsOf(each.fields)) {
      error.causes.push_back({"FieldManagerConflict", "conflict with " + each.manager->Text(), path});
      by_manager[each.manager->Text()].push_back(std::move(path));
    }
  }
  if (error.causes.size() == 1) {
    error.message = "Apply failed with 1 conflict: " + error.causes[0].message + ": " + error.causes[0].field;
    return error;
  }
  error.message = "Apply failed with " + std::to_string(error.causes.size()) + " conflicts: ";
  bool is_first = true;
  for (const auto& [manager, paths] : by_manager) {
    error.message += (is_first ? "conflicts with " : "\nconflicts with ") + manager + ':';
    for (const std::string& path : paths) error.message += "\n- " + path;
    is_first = false;
  }
  return error;
}

std::vector<FieldConflict> ConflictsOf(const Managers& managers, const Manager& self, const FieldChanges& changes) {
  const FieldSet changed = Union(changes.added, changes.modified);
  std::vector<FieldConflict> conflicts;
  for (const Manager& each : managers) {
    if (each.IsSameAs(self)) continue;
    FieldSet both = Intersection(each.fields, changed);
    if (!both.IsEmpty()) conflicts.push_back({&each, std::move(both)});
  }
  std::sort(conflicts.begin(), conflicts.end(),
            [](const FieldConflict& a, const FieldConflict& b) { return a.manager->Text() < b.manager->Text(); });
  return conflicts;
}

const json::object* AnnotationsOf(const json::object& document) {
  const json::object* metadata = ObjectMember(document, "metadata");
  return metadata == nullptr ? nullptr : ObjectMember(*metadata, "annotations");
}

// The fields that `kubectl apply` without --server-side has set, and that are still as it set them: `kubectl apply
// --server-side` may take them over.
FieldSet LastAppliedFields(const Write& write, const json::object& live) {
  const json::object* annotations = AnnotationsOf(live);
  const std::string_view text = annotations == nullptr ? std::string_view() : StringMember(*annotations, kLastApplied);
  if (text.empty()) return {};
  auto parsed = codec::ParseJson(text);
  if (!parsed.ok() || !parsed->is_object()) return {};
  json::object applied = std::move(parsed->get_object());
  DropNulls(applied);
  if (StringMember(applied, "apiVersion") != ApiVersionOf(write.type)) return {};
  const FieldChanges changes = CompareFields(write.fields, applied, live);
  return Difference(FieldsOf(write.fields, applied), Union(Union(changes.added, changes.modified), changes.removed));
}

// Keeps the annotation of the other apply as it is there to be: what was applied last.
void RenewLastApplied(const json::object& configuration, json::object& document) {
  const json::object* annotations = AnnotationsOf(document);
  if (annotations == nullptr || StringMember(*annotations, kLastApplied).empty()) return;
  json::object applied = configuration;
  json::object& metadata = MutableObject(applied, "metadata");
  if (json::value* own = metadata.if_contains("annotations"); own != nullptr && own->is_object()) {
    own->get_object().erase(kLastApplied);
  }
  MutableObject(MutableObject(document, "metadata"), "annotations")[kLastApplied] = json::serialize(applied) + '\n';
}

}  // namespace

void TrackFields(const FieldWrite& of, const json::object* old, json::object& document) {
  const json::array* sent = of.writer.subresource.empty() ? ManagedFieldsOf(document) : nullptr;
  const json::array* live = old == nullptr ? nullptr : ManagedFieldsOf(*old);
  const bool may_begin = old == nullptr && of.writer.is_named;
  if (sent == nullptr && live == nullptr && !may_begin) {
    MutableObject(document, "metadata").erase("managedFields");
    return;
  }
  std::optional<Managers> managers;
  if (IsReset(sent)) {
    managers.emplace();
  } else {
    managers = Decode(sent);
    if (!managers || managers->empty()) managers = Decode(live);
  }
  if (!managers) managers.emplace();
  MutableObject(document, "metadata").erase("managedFields");
  if (managers->empty() && !may_begin) return;
  const Write write(of);
  const json::object before = MergeConfiguration(write.fields, BareObject(write.fields),
                                                 old == nullptr ? json::object() : WithoutManagedFields(*old));
  Manager self;
  self.name = write.writer.manager;
  self.subresource = write.writer.subresource;
  RecordUpdate(write, std::move(self), before, document, *managers);
  Encode(*std::move(managers), document);
}

Outcome<json::object> ApplyConfiguration(const FieldWrite& of, const json::object* live, json::object configuration,
                                         bool is_forced) {
  const Write write(of);
  DropNulls(configuration);
  BERTH_RETURN_IF_ERROR(CheckApplied(write, configuration));
  Managers managers;
  json::object current;
  if (live != nullptr) {
    auto decoded = Decode(ManagedFieldsOf(*live));
    if (!decoded) return PlainError("failed to decode managed fields");
    managers = *std::move(decoded);
    current = WithoutManagedFields(*live);
    if (managers.empty()) {
      Manager first;
      first.name = kBeforeFirstApply;
      RecordUpdate(write, std::move(first), BareObject(write.fields), current, managers);
    }
  }
  const json::object merged = MergeConfiguration(write.fields, current, configuration);
  Manager self;
  self.name = write.writer.manager;
  self.is_apply = true;
  self.subresource = write.writer.subresource;
  Manager& mine = FindOrAdd(managers, self);
  const FieldSet last = std::move(mine.fields);
  mine.api_version = ApiVersionOf(write.type);
  mine.fields = Owned(write, FieldsOf(write.fields, configuration));
  json::object document = Prune(write, merged, last, managers);
  const FieldChanges changes =
      CompareFields(write.fields, live == nullptr ? BareObject(write.fields) : current, document);
  std::vector<FieldConflict> conflicts = ConflictsOf(managers, self, changes);
  if (!conflicts.empty() && !is_forced && live != nullptr && self.name == kKubectl) {
    const FieldSet allowed = LastAppliedFields(write, current);
    for (FieldConflict& each : conflicts) each.fields = Difference(each.fields, allowed);
    std::erase_if(conflicts, [](const FieldConflict& each) { return each.fields.IsEmpty(); });
  }
  if (!conflicts.empty() && !is_forced) return ConflictError(conflicts);
  TakeAway(managers, self, changes);
  if (self.name == kKubectl) RenewLastApplied(configuration, document);
  for (Manager& each : managers) {
    if (each.IsSameAs(self) && (live == nullptr || document != current || each.time.empty())) {
      each.time = FormatRfc3339(write.now);
    }
  }
  Encode(std::move(managers), document);
  return document;
}

void KeepTimesOfNothing(const json::object& old, json::object& document) {
  const json::array* before = ManagedFieldsOf(old);
  const json::array* after = ManagedFieldsOf(document);
  if (before == nullptr || after == nullptr || before->size() != after->size() || *before == *after) return;
  const auto without_times = [](const json::array& entries) {
    json::array bare = entries;
    for (json::value& each : bare) {
      if (each.is_object()) each.get_object().erase("time");
    }
    return bare;
  };
  if (without_times(*before) != without_times(*after)) return;
  json::object old_rest = WithoutManagedFields(old);
  if (old_rest != WithoutManagedFields(document)) return;
  MutableObject(document, "metadata")["managedFields"] = *before;
}

}  // namespace berth::objects
