// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/custom/custom_definition.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "berth/base/check.h"
#include "berth/devcluster/objects/custom/custom_columns.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects {
namespace {

using internal::BoolMember;
using internal::ObjectsOf;
using internal::Part;
using internal::StringAt;

std::vector<std::string> StringsOf(const json::object& object, std::string_view name) {
  std::vector<std::string> strings;
  const json::array* array = ArrayMember(object, name);
  if (array == nullptr) return strings;
  for (const json::value& each : *array) {
    if (each.is_string()) strings.emplace_back(View(each.get_string()));
  }
  return strings;
}

// The object without what an update of it may change freely.
json::object SpecLike(const json::object& object, bool has_status) {
  json::object rest;
  for (const auto& [key, value] : object) {
    if (key != "metadata" && !(has_status && key == "status")) rest.emplace(key, value);
  }
  return rest;
}

std::int64_t GenerationOf(const json::object& object) {
  const json::value* value = FindMember(Part(object, "metadata"), "generation");
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

void SetFunctions(ResourceType& type, const std::shared_ptr<const CustomSchema>& schema, const json::object& version) {
  const bool has_status = type.has_status;
  type.set_defaults = [schema](json::object& object) { schema->FillIn(object); };
  type.prepare_create = [has_status](json::object& object) {
    if (has_status) object.erase("status");
    MutableObject(object, "metadata")["generation"] = 1;
  };
  type.prepare_update = [has_status](json::object& object, const json::object& old) {
    const std::int64_t generation = GenerationOf(old);
    const bool is_changed = SpecLike(object, has_status) != SpecLike(old, has_status);
    MutableObject(object, "metadata")["generation"] = generation + (is_changed ? 1 : 0);
  };
  type.validate = [schema](const json::object& object, const json::object*) { return schema->Validate(object); };
  auto columns = std::make_shared<const CustomColumns>(ColumnsOf(version));
  type.columns = columns->columns;
  type.row = [columns](const json::object& object, std::int64_t now_seconds) {
    return columns->Row(object, now_seconds);
  };
  type.field = [](const json::object& object, std::string_view field) {
    return FindByJsonPath(object, '.' + std::string(field));
  };
  for (const json::object* each : ObjectsOf(version, "selectableFields")) {
    std::string_view path = StringMember(*each, "jsonPath");
    if (path.starts_with('.')) type.selectable_fields.emplace_back(path.substr(1));
  }
}

ResourceType MakeType(const json::object& definition, const json::object& version) {
  const json::object& spec = Part(definition, "spec");
  const json::object& names = Part(spec, "names");
  ResourceType type;
  type.group = StringMember(spec, "group");
  type.version = StringMember(version, "name");
  type.kind = StringMember(names, "kind");
  type.plural = StringMember(names, "plural");
  type.singular = StringMember(names, "singular");
  type.short_names = StringsOf(names, "shortNames");
  type.categories = StringsOf(names, "categories");
  type.namespaced = StringMember(spec, "scope") == "Namespaced";
  const json::object& subresources = Part(version, "subresources");
  type.has_status = ObjectMember(subresources, "status") != nullptr;
  if (const json::object* scale = ObjectMember(subresources, "scale")) {
    type.has_scale = true;
    type.scale_paths = {std::string(StringMember(*scale, "specReplicasPath")),
                        std::string(StringMember(*scale, "statusReplicasPath")),
                        std::string(StringMember(*scale, "labelSelectorPath"))};
  }
  if (BoolMember(version, "deprecated")) {
    const std::string_view warning = StringMember(version, "deprecationWarning");
    type.unattended =
        warning.empty() ? type.group + '/' + type.version + ' ' + type.kind + " is deprecated" : std::string(warning);
  }
  auto schema = std::make_shared<const CustomSchema>(Part(Part(version, "schema"), "openAPIV3Schema"));
  type.structural = schema;
  SetFunctions(type, schema, version);
  return type;
}

std::string ApiVersionOf(const ResourceType& type) { return type.group + '/' + type.version; }

// "v2beta1" as {2, 1 (beta), 1}; nullopt for what is no version of Kubernetes' form.
std::optional<std::tuple<int, int, int>> Parts(std::string_view version) {
  if (!version.starts_with('v')) return std::nullopt;
  const char* at = version.data() + 1;
  const char* end = version.data() + version.size();
  int major = 0;
  auto read = std::from_chars(at, end, major);
  if (read.ec != std::errc() || major <= 0) return std::nullopt;
  at = read.ptr;
  if (at == end) return std::tuple(2, major, 0);
  int stability = -1;
  for (const auto& [name, value] :
       {std::pair<std::string_view, int>{"alpha", 0}, std::pair<std::string_view, int>{"beta", 1}}) {
    if (std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(name)) {
      stability = value;
      at += name.size();
      break;
    }
  }
  int minor = 0;
  read = std::from_chars(at, end, minor);
  if (stability < 0 || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return std::tuple(stability, major, minor);
}

// The names that the definitions of a group share out; kinds apart from the others.
struct Names {
  std::string_view plural;
  std::string_view singular;
  std::vector<std::string> short_names;
  std::string_view kind;
  std::string_view list_kind;
};

Names NamesOf(const json::object& names) {
  return {StringMember(names, "plural"), StringMember(names, "singular"), StringsOf(names, "shortNames"),
          StringMember(names, "kind"), StringMember(names, "listKind")};
}

struct NameConflict {
  const char* reason = nullptr;
  std::string name;
};

std::optional<NameConflict> FindNameConflict(const json::object& definition, const std::vector<json::object>& others) {
  const json::object& spec = Part(definition, "spec");
  std::set<std::string, std::less<>> resources;
  std::set<std::string, std::less<>> kinds;
  for (const json::object& other : others) {
    if (StringAt(other, {"spec", "group"}) != StringMember(spec, "group") ||
        StringAt(other, {"metadata", "name"}) == StringAt(definition, {"metadata", "name"}) || !IsEstablished(other)) {
      continue;
    }
    const Names names = NamesOf(Part(Part(other, "status"), "acceptedNames"));
    resources.insert({std::string(names.plural), std::string(names.singular)});
    resources.insert(names.short_names.begin(), names.short_names.end());
    kinds.insert({std::string(names.kind), std::string(names.list_kind)});
  }
  const Names names = NamesOf(Part(spec, "names"));
  // As upstream, the last of several conflicts is reported.
  std::optional<NameConflict> conflict;
  if (resources.contains(names.plural)) conflict = {"PluralConflict", std::string(names.plural)};
  if (resources.contains(names.singular)) conflict = {"SingularConflict", std::string(names.singular)};
  for (const std::string& each : names.short_names) {
    if (resources.contains(each)) conflict = {"ShortNamesConflict", each};
  }
  if (kinds.contains(names.kind)) conflict = {"KindConflict", std::string(names.kind)};
  if (kinds.contains(names.list_kind)) conflict = {"ListKindConflict", std::string(names.list_kind)};
  return conflict;
}

}  // namespace

CustomDefinition::CustomDefinition(const json::object& definition, std::size_t table)
    : name_(StringAt(definition, {"metadata", "name"})),
      uid_(StringAt(definition, {"metadata", "uid"})),
      generation_(GenerationOf(definition)) {
  std::vector<const Version*> served;
  for (const json::object* version : ObjectsOf(Part(definition, "spec"), "versions")) {
    Version& made = versions_.emplace_back();
    made.type = MakeType(definition, *version);
    made.served.type = &made.type;
    made.served.table = table;
    made.served.definition_uid = uid_;
    if (BoolMember(*version, "storage")) storing_ = &made.served;
    if (BoolMember(*version, "served")) served.push_back(&made);
  }
  BERTH_CHECK(storing_ != nullptr, name_);
  for (Version& each : versions_) {
    each.served.stored = storing_->type;
    if (&each.served == storing_) continue;
    // Conversion None: the versions differ in what they are called.
    const auto call = [](std::string version) {
      return [version = std::move(version)](json::object& object) { object["apiVersion"] = version; };
    };
    each.served.to_stored = call(ApiVersionOf(*storing_->type));
    each.served.from_stored = call(ApiVersionOf(each.type));
  }
  std::sort(served.begin(), served.end(),
            [](const Version* a, const Version* b) { return IsMoreStable(a->type.version, b->type.version); });
  for (const Version* each : served) served_.push_back(&each->served);
}

bool IsEstablished(const json::object& definition) {
  for (const json::object* condition : ObjectsOf(Part(definition, "status"), "conditions")) {
    if (StringMember(*condition, "type") == "Established") return StringMember(*condition, "status") == "True";
  }
  return false;
}

void EstablishDefinition(json::object& definition, const std::vector<json::object>& others,
                         const std::string& why_not) {
  const std::string now(StringAt(definition, {"metadata", "creationTimestamp"}));
  const auto condition = [&](const char* type, bool is_true, const std::string& reason, const std::string& message) {
    json::object made{{"type", type},
                      {"status", is_true ? "True" : "False"},
                      {"lastTransitionTime", now},
                      {"reason", reason},
                      {"message", message}};
    return made;
  };
  const auto conflict = FindNameConflict(definition, others);
  json::array stored;
  for (const json::object* version : ObjectsOf(Part(definition, "spec"), "versions")) {
    if (BoolMember(*version, "storage")) stored.push_back(json::string(StringMember(*version, "name")));
  }
  const json::object names = Part(Part(definition, "spec"), "names");
  json::object& status = MutableObject(definition, "status");
  json::array conditions;
  if (conflict) {
    conditions.push_back(condition("NamesAccepted", false, conflict->reason,
                                   json::serialize(json::string(conflict->name)) + " is already in use"));
    conditions.push_back(condition("Established", false, "NotAccepted", "not all names are accepted"));
    status["acceptedNames"] = json::object{{"plural", ""}, {"kind", ""}};
  } else {
    conditions.push_back(condition("NamesAccepted", true, "NoConflicts", "no conflicts found"));
    conditions.push_back(
        why_not.empty() ? condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
                        : condition("Established", false, "NotServed", why_not));
    status["acceptedNames"] = names;
  }
  status["conditions"] = std::move(conditions);
  status["storedVersions"] = std::move(stored);
}

void RecordStoredVersion(json::object& definition) {
  json::value& stored = MutableObject(definition, "status")["storedVersions"];
  if (!stored.is_array()) stored.emplace_array();
  for (const json::object* version : ObjectsOf(Part(definition, "spec"), "versions")) {
    const json::value name = json::string(StringMember(*version, "name"));
    json::array& versions = stored.get_array();
    if (BoolMember(*version, "storage") && std::find(versions.begin(), versions.end(), name) == versions.end()) {
      versions.push_back(name);
    }
  }
}

std::vector<std::string> UnservedParts(const json::object& definition) {
  constexpr std::string_view kServer = "berth's embedded API server";
  std::vector<std::string> parts;
  const json::object& spec = Part(definition, "spec");
  if (StringMember(Part(spec, "conversion"), "strategy") == "Webhook") {
    parts.push_back(std::string(kServer) +
                    " calls no conversion webhook: objects of all versions are the same but for their apiVersion");
  }
  std::set<std::string> unchecked;
  for (const json::object* version : ObjectsOf(spec, "versions")) {
    std::string text = UncheckedParts(Part(Part(*version, "schema"), "openAPIV3Schema"));
    if (!text.empty()) unchecked.insert(std::move(text));
  }
  for (const std::string& text : unchecked) {
    parts.push_back(std::string(kServer) + " does not check " + text + " of this definition's objects");
  }
  return parts;
}

bool IsMoreStable(std::string_view version, std::string_view other) {
  const auto mine = Parts(version);
  const auto its = Parts(other);
  if (mine.has_value() != its.has_value()) return mine.has_value();
  if (!mine) return version < other;
  return *its < *mine;
}

}  // namespace berth::objects
