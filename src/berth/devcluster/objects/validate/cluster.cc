// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/cluster.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/names.h"
#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

bool IsMissing(const json::object& object, std::string_view list) {
  const json::array* array = ArrayMember(object, list);
  return array == nullptr || array->empty();
}

void ValidateRule(const json::object& rule, const std::string& field, bool is_namespaced, Errors& errors) {
  if (IsMissing(rule, "verbs")) errors.push_back(Required(field + ".verbs", "verbs must contain at least one value"));
  if (!IsMissing(rule, "nonResourceURLs")) {
    const std::string urls = field + ".nonResourceURLs";
    if (is_namespaced) {
      errors.push_back(
          Invalid(urls, ValueOrNull(rule, "nonResourceURLs"), "namespaced rules cannot apply to non-resource URLs"));
    }
    if (!IsMissing(rule, "apiGroups") || !IsMissing(rule, "resources") || !IsMissing(rule, "resourceNames")) {
      errors.push_back(Invalid(urls, ValueOrNull(rule, "nonResourceURLs"),
                               "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return;
  }
  if (IsMissing(rule, "apiGroups")) {
    errors.push_back(Required(field + ".apiGroups", "resource rules must supply at least one api group"));
  }
  if (IsMissing(rule, "resources")) {
    errors.push_back(Required(field + ".resources", "resource rules must supply at least one resource"));
  }
}

}  // namespace

void ValidateRole(const json::object& object, const json::object*, Errors& errors) {
  const std::vector<const json::object*> rules = ObjectsOf(object, "rules");
  const bool is_namespaced = StringMember(object, "kind") == "Role";
  for (std::size_t i = 0; i < rules.size(); ++i) ValidateRule(*rules[i], Indexed("rules", i), is_namespaced, errors);
}

void ValidateRoleBinding(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& role = Part(object, "roleRef");
  const bool is_namespaced = StringMember(object, "kind") == "RoleBinding";
  if (StringMember(role, "apiGroup") != kRbac) {
    errors.push_back(NotSupported("roleRef.apiGroup", json::value(StringMember(role, "apiGroup")), {kRbac}));
  }
  std::vector<std::string_view> kinds = {"ClusterRole"};
  if (is_namespaced) kinds = {"Role", "ClusterRole"};
  const std::string_view kind = StringMember(role, "kind");
  if (kind != "ClusterRole" && !(is_namespaced && kind == "Role")) {
    errors.push_back(NotSupported("roleRef.kind", json::value(kind), kinds));
  }
  if (StringMember(role, "name").empty()) errors.push_back(Required("roleRef.name"));
  const std::vector<const json::object*> subjects = ObjectsOf(object, "subjects");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const std::string field = Indexed("subjects", i);
    const std::string_view who = StringMember(*subjects[i], "kind");
    if (StringMember(*subjects[i], "name").empty()) errors.push_back(Required(field + ".name"));
    if (who != "ServiceAccount" && who != "User" && who != "Group") {
      errors.push_back(NotSupported(field + ".kind", json::value(who), {"ServiceAccount", "User", "Group"}));
    } else if (who == "ServiceAccount" && !is_namespaced && StringMember(*subjects[i], "namespace").empty()) {
      errors.push_back(Required(field + ".namespace"));
    }
  }
  if (old != nullptr && Part(*old, "roleRef") != role) {
    errors.push_back(Invalid("roleRef", role, "cannot change roleRef"));
  }
}

void ValidateIngress(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const std::vector<const json::object*> rules = ObjectsOf(spec, "rules");
  if (rules.empty() && FindMember(spec, "defaultBackend") == nullptr) {
    errors.push_back(Invalid("spec", spec, "either `defaultBackend` or `rules` must be specified"));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const json::object& http = Part(*rules[i], "http");
    const std::string field = Indexed("spec.rules", i) + ".http";
    if (FindMember(*rules[i], "http") != nullptr && ObjectsOf(http, "paths").empty()) {
      errors.push_back(Required(field + ".paths"));
    }
    ForEachIn(http, "paths", field, [&](const json::object& path, const std::string& at) {
      const std::string_view type = StringMember(path, "pathType");
      if (type.empty()) {
        errors.push_back(Required(at + ".pathType", "pathType must be specified"));
        return;
      }
      ValidateOneOf(path, "pathType", at, {"Exact", "ImplementationSpecific", "Prefix"}, errors);
      if (type != "ImplementationSpecific" && !StringMember(path, "path").starts_with('/')) {
        errors.push_back(Invalid(at + ".path", json::value(StringMember(path, "path")), "must be an absolute path"));
      }
    });
  }
}

namespace {

void ValidateDefinitionVersions(const json::object& spec, Errors& errors) {
  std::set<std::string_view> seen;
  ForEachIn(spec, "versions", "spec", [&](const json::object& version, const std::string& field) {
    const std::string_view name = StringMember(version, "name");
    AddInvalid(errors, field + ".name", name, api::NotDnsLabel(name));
    if (!seen.insert(name).second) errors.push_back(Duplicate(field + ".name", json::string(name)));
    const std::string schema_field = field + ".schema.openAPIV3Schema";
    const json::object* schema = ObjectMember(Part(version, "schema"), "openAPIV3Schema");
    if (schema == nullptr) {
      errors.push_back(Required(schema_field, "schemas are required"));
    } else {
      for (FieldError& each : CheckStructural(*schema, schema_field)) errors.push_back(std::move(each));
    }
    const json::object* scale = ObjectMember(Part(version, "subresources"), "scale");
    if (scale == nullptr) return;
    for (const auto& [member, root] :
         {std::pair<std::string_view, std::string_view>{"specReplicasPath", ".spec."},
          std::pair<std::string_view, std::string_view>{"statusReplicasPath", ".status."}}) {
      const std::string_view path = StringMember(*scale, member);
      if (!path.starts_with(root)) {
        errors.push_back(Invalid(field + ".subresources.scale." + std::string(member), json::string(path),
                                 "should be a json path under " + std::string(root.substr(0, root.size() - 1))));
      }
    }
  });
}

}  // namespace

void ValidateCustomResourceDefinition(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const json::object& names = Part(spec, "names");
  const std::string_view group = StringMember(spec, "group");
  const std::string_view plural = StringMember(names, "plural");
  if (group.empty()) errors.push_back(Required("spec.group"));
  if (plural.empty()) errors.push_back(Required("spec.names.plural"));
  if (StringMember(names, "kind").empty()) errors.push_back(Required("spec.names.kind"));
  const std::string_view name = StringAt(object, {"metadata", "name"});
  if (const std::string want = std::string(plural) + '.' + std::string(group); name != want) {
    errors.push_back(Invalid("metadata.name", json::value(name), "must be spec.names.plural+\".\"+spec.group"));
  }
  const std::string_view scope = StringMember(spec, "scope");
  if (scope.empty()) {
    errors.push_back(Required("spec.scope"));
  } else {
    ValidateOneOf(spec, "scope", "spec", {"Cluster", "Namespaced"}, errors);
  }
  std::size_t stored = 0;
  for (const json::object* version : ObjectsOf(spec, "versions")) stored += BoolMember(*version, "storage") ? 1 : 0;
  if (stored != 1) {
    errors.push_back(Invalid("spec.versions", ValueOrNull(spec, "versions"),
                             "must have exactly one version marked as storage version"));
  }
  for (const char* each : {"plural", "singular"}) {
    const std::string_view text = StringMember(names, each);
    if (!text.empty()) AddInvalid(errors, std::string("spec.names.") + each, text, api::NotDnsLabel(text));
  }
  ValidateDefinitionVersions(spec, errors);
  if (old == nullptr) return;
  ValidateImmutable(spec, Part(*old, "spec"), "scope", "spec.scope", errors);
  ValidateImmutable(spec, Part(*old, "spec"), "group", "spec.group", errors);
}

}  // namespace berth::objects::internal
