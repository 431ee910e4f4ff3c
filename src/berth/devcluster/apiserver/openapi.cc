// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/openapi.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "berth/devcluster/apiserver/discovery.h"
#include "berth/devcluster/apiserver/metrics_api.h"
#include "berth/devcluster/apiserver/openapi_protobuf.h"
#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/schema.h"
#include "berth/devcluster/objects/schema_tables.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
constexpr std::string_view kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
constexpr std::string_view kIntOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

// The two versions of the format say the same in slightly different words.
struct Dialect {
  bool is_v3 = true;
  std::string_view reference_prefix() const { return is_v3 ? "#/components/schemas/" : "#/definitions/"; }
};

// --- Custom resources ------------------------------------------------------------------------------------------------

// What version 2.0 keeps of a schema, as upstream's conversion does.
json::object ForV2(const json::object& schema) {
  constexpr std::array<std::string_view, 5> kPlain = {"type", "format", "description", "required", "enum"};
  json::object kept;
  const json::value* is_free = objects::FindMember(schema, "x-kubernetes-int-or-string");
  for (const auto& [key, value] : schema) {
    const bool is_plain = std::find(kPlain.begin(), kPlain.end(), std::string_view(key)) != kPlain.end();
    if (is_plain || std::string_view(key).starts_with("x-kubernetes-")) kept[key] = value;
  }
  if (is_free != nullptr) kept.erase("type");
  for (const char* name : {"items", "additionalProperties"}) {
    if (const json::object* below = objects::ObjectMember(schema, name)) kept[name] = ForV2(*below);
  }
  if (const json::object* properties = objects::ObjectMember(schema, "properties")) {
    json::object converted;
    for (const auto& [key, value] : *properties) {
      if (value.is_object()) converted[key] = ForV2(value.get_object());
    }
    kept["properties"] = std::move(converted);
  }
  return kept;
}

json::object TextSchema(const char* description) { return {{"type", "string"}, {"description", description}}; }

// "com.example.stable.v1.CronTab" for CronTab of stable.example.com/v1.
std::string CustomSchemaName(const objects::ResourceType& type) {
  std::string name;
  for (std::string_view rest = type.group; !rest.empty();) {
    const std::size_t dot = rest.rfind('.');
    name.append(dot == std::string_view::npos ? rest : rest.substr(dot + 1)).append(1, '.');
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return name + type.version + '.' + type.kind;
}

// The schema of a custom resource with the members that all objects have; `metadata` is the reference to theirs.
// Without what version 2.0 of the format does not know, unless `is_v3`.
json::object CustomKindSchema(const objects::ResourceType& type, bool is_v3, json::object metadata) {
  json::object schema = is_v3 ? type.structural->document() : ForV2(type.structural->document());
  json::object& properties = objects::MutableObject(schema, "properties");
  properties["apiVersion"] = TextSchema("APIVersion defines the versioned schema of this representation of an object.");
  properties["kind"] = TextSchema("Kind is a string value representing the REST resource this object represents.");
  properties["metadata"] = std::move(metadata);
  return schema;
}

// --- Kubernetes' own -------------------------------------------------------------------------------------------------

std::string FullName(const objects::SchemaType& type) {
  return std::string(type.package) + "." + std::string(type.name);
}
std::string MetaName(std::string_view name) { return std::string(kMeta) + std::string(name); }

json::object Reference(const Dialect& dialect, std::string_view full_name) {
  return {{"$ref", std::string(dialect.reference_prefix()) + std::string(full_name)}};
}

// A reference among other keywords: version 3.0 wants it wrapped.
json::object FieldReference(const Dialect& dialect, std::string_view full_name) {
  json::object reference = Reference(dialect, full_name);
  if (!dialect.is_v3) return reference;
  json::array all;
  all.push_back(std::move(reference));
  json::object wrapped;
  wrapped["allOf"] = std::move(all);
  return wrapped;
}

json::object Scalar(const char* type, const char* format = nullptr) {
  json::object schema;
  schema["type"] = type;
  if (format != nullptr) schema["format"] = format;
  return schema;
}

json::object SingleSchema(const Dialect& dialect, const objects::SchemaField& field) {
  switch (field.kind) {
    case objects::SchemaKind::kString: return Scalar("string");
    case objects::SchemaKind::kInt32: return Scalar("integer", "int32");
    case objects::SchemaKind::kInt64: return Scalar("integer", "int64");
    case objects::SchemaKind::kNumber: return Scalar("number");
    case objects::SchemaKind::kBool: return Scalar("boolean");
    case objects::SchemaKind::kBytes: return Scalar("string", "byte");
    case objects::SchemaKind::kTime: return FieldReference(dialect, MetaName("Time"));
    case objects::SchemaKind::kMicroTime: return FieldReference(dialect, MetaName("MicroTime"));
    case objects::SchemaKind::kQuantity: return FieldReference(dialect, kQuantity);
    case objects::SchemaKind::kIntOrString: return FieldReference(dialect, kIntOrString);
    case objects::SchemaKind::kAny: return Scalar("object");
    case objects::SchemaKind::kObject: break;
  }
  return FieldReference(dialect, FullName(*field.type));
}

json::object FieldSchema(const Dialect& dialect, const objects::SchemaField& field) {
  json::object schema;
  if (field.shape == objects::SchemaShape::kSingle) {
    schema = SingleSchema(dialect, field);
  } else if (field.shape == objects::SchemaShape::kList) {
    schema["type"] = "array";
    schema["items"] = SingleSchema(dialect, field);
  } else {
    schema["type"] = "object";
    schema["additionalProperties"] = SingleSchema(dialect, field);
  }
  std::string strategy;
  if (!field.merge_key.empty()) {
    strategy = "merge";
    if (field.merge_key != "*") schema["x-kubernetes-patch-merge-key"] = field.merge_key;
  }
  if (field.retain_keys) strategy += strategy.empty() ? "retainKeys" : ",retainKeys";
  if (!strategy.empty()) schema["x-kubernetes-patch-strategy"] = strategy;
  return schema;
}

json::object KindTag(std::string_view group, std::string_view version, std::string_view kind) {
  json::object tag;
  tag["group"] = group;
  tag["version"] = version;
  tag["kind"] = kind;
  return tag;
}

json::object ObjectSchema(const Dialect& dialect, const objects::SchemaType& type) {
  json::object schema;
  schema["type"] = "object";
  json::array required;
  json::object properties;
  for (const objects::SchemaField& field : type.fields) {
    properties[field.name] = FieldSchema(dialect, field);
    if (field.required) required.push_back(json::string(field.name));
  }
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  return schema;
}

// Adds `type` and every type below it.
void AddSchemas(const Dialect& dialect, const objects::SchemaType& type, json::object& schemas) {
  const std::string name = FullName(type);
  if (schemas.contains(name)) return;
  schemas[name] = ObjectSchema(dialect, type);
  for (const objects::SchemaField& field : type.fields) {
    if (field.type != nullptr) AddSchemas(dialect, *field.type, schemas);
  }
}

void AddCommonSchemas(const Dialect& dialect, json::object& schemas) {
  schemas[MetaName("Time")] = Scalar("string", "date-time");
  schemas[MetaName("MicroTime")] = Scalar("string", "date-time");
  schemas[MetaName("Patch")] = Scalar("object");
  if (dialect.is_v3) {
    schemas[kQuantity] = json::object{{"oneOf", {{{"type", "string"}}, {{"type", "number"}}}}};
    schemas[kIntOrString] =
        json::object{{"format", "int-or-string"}, {"oneOf", {{{"type", "integer"}}, {{"type", "string"}}}}};
  } else {
    schemas[kQuantity] = Scalar("string");
    schemas[kIntOrString] = Scalar("string", "int-or-string");
  }
  for (const char* name : {"ListMeta", "DeleteOptions", "Status"}) {
    if (const objects::SchemaType* type = objects::FindMetaSchema(name)) AddSchemas(dialect, *type, schemas);
  }
}

// What the schema of a kind is called; empty: there is none.
std::string KindName(const objects::ResourceType& type) {
  if (type.structural != nullptr) return CustomSchemaName(type);
  const objects::SchemaType* schema = objects::FindSchema(type.group, type.version, type.kind);
  return schema == nullptr ? std::string() : FullName(*schema);
}

// The kind itself with its tag, and its list.
void AddKind(const Dialect& dialect, const objects::ResourceType& type, json::object& schemas) {
  const std::string name = KindName(type);
  if (name.empty()) return;
  if (type.structural != nullptr) {
    schemas[name] = CustomKindSchema(type, dialect.is_v3, FieldReference(dialect, MetaName("ObjectMeta")));
    AddSchemas(dialect, *objects::FindMetaSchema("ObjectMeta"), schemas);
  } else {
    AddSchemas(dialect, *objects::FindSchema(type.group, type.version, type.kind), schemas);
  }
  schemas[name].as_object()["x-kubernetes-group-version-kind"] =
      json::array{KindTag(type.group, type.version, type.kind)};
  if (!type.is_stored && !IsMeasured(type)) return;
  json::object items;
  items["type"] = "array";
  items["items"] = FieldReference(dialect, name);
  json::object properties;
  properties["apiVersion"] = Scalar("string");
  properties["items"] = std::move(items);
  properties["kind"] = Scalar("string");
  properties["metadata"] = FieldReference(dialect, MetaName("ListMeta"));
  json::object list;
  list["type"] = "object";
  list["required"] = json::array{"items"};
  list["properties"] = std::move(properties);
  list["x-kubernetes-group-version-kind"] = json::array{KindTag(type.group, type.version, type.kind + "List")};
  schemas[name + "List"] = std::move(list);
}

json::object Parameter(const Dialect& dialect, const char* name, const char* in, const char* type) {
  json::object parameter;
  parameter["name"] = name;
  parameter["in"] = in;
  if (std::string_view(in) == "path") parameter["required"] = true;
  if (dialect.is_v3) {
    parameter["schema"] = Scalar(type);
  } else {
    parameter["type"] = type;
  }
  return parameter;
}

struct Verb {
  const char* method;
  const char* action;
  bool returns_list = false;
  bool returns_status = false;
};

// One operation. kubectl looks for the fieldValidation parameter here before it leaves validation to the server.
json::object Operation(const Dialect& dialect, const objects::ResourceType& type, const Verb& verb,
                       const std::string& kind_name) {
  const std::string_view method = verb.method;
  json::object operation;
  json::array parameters;
  if (verb.returns_list) {
    for (const char* name : {"continue", "fieldSelector", "labelSelector", "resourceVersion"}) {
      parameters.push_back(Parameter(dialect, name, "query", "string"));
    }
    for (const char* name : {"limit", "timeoutSeconds"})
      parameters.push_back(Parameter(dialect, name, "query", "integer"));
    for (const char* name : {"allowWatchBookmarks", "watch"})
      parameters.push_back(Parameter(dialect, name, "query", "boolean"));
  }
  const bool is_write = method == "post" || method == "put" || method == "patch";
  if (is_write) {
    for (const char* name : {"dryRun", "fieldManager", "fieldValidation"}) {
      parameters.push_back(Parameter(dialect, name, "query", "string"));
    }
    if (method == "patch") parameters.push_back(Parameter(dialect, "force", "query", "boolean"));
  }
  const std::string body = method == "patch" ? MetaName("Patch") : kind_name;
  if (is_write && dialect.is_v3) {
    json::object content;
    if (method == "patch") {
      std::vector<const char*> types = {"application/apply-patch+yaml", "application/json-patch+json",
                                        "application/merge-patch+json"};
      // kubectl sends what it finds here.
      if (type.structural == nullptr) types.push_back("application/strategic-merge-patch+json");
      for (const char* media : types) content[media] = json::object{{"schema", Reference(dialect, body)}};
    } else {
      content["application/json"] = json::object{{"schema", Reference(dialect, body)}};
    }
    operation["requestBody"] = json::object{{"content", std::move(content)}, {"required", true}};
  } else if (is_write) {
    json::object parameter;
    parameter["name"] = "body";
    parameter["in"] = "body";
    parameter["required"] = true;
    parameter["schema"] = Reference(dialect, body);
    parameters.push_back(std::move(parameter));
  }
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  const std::string answer = verb.returns_status ? MetaName("Status")
                             : verb.returns_list ? kind_name + "List"
                                                 : kind_name;
  json::object response;
  response["description"] = "OK";
  if (dialect.is_v3) {
    json::object content;
    content["application/json"] = json::object{{"schema", Reference(dialect, answer)}};
    response["content"] = std::move(content);
  } else {
    response["schema"] = Reference(dialect, answer);
  }
  operation["responses"] = json::object{{"200", std::move(response)}};
  operation["x-kubernetes-action"] = verb.action;
  operation["x-kubernetes-group-version-kind"] = KindTag(type.group, type.version, type.kind);
  return operation;
}

void AddPath(const Dialect& dialect, const objects::ResourceType& type, const std::string& path,
             const std::vector<Verb>& verbs, json::object& paths) {
  const std::string kind_name = KindName(type);
  if (kind_name.empty()) return;
  json::object item;
  for (const Verb& verb : verbs) item[verb.method] = Operation(dialect, type, verb, kind_name);
  json::array parameters;
  for (const char* name : {"namespace", "name"}) {
    if (path.find(std::string("{") + name + "}") != std::string::npos) {
      parameters.push_back(Parameter(dialect, name, "path", "string"));
    }
  }
  if (!parameters.empty()) item["parameters"] = std::move(parameters);
  paths[path] = std::move(item);
}

void AddPaths(const Dialect& dialect, const objects::ResourceType& type, json::object& paths) {
  const std::string root = type.group.empty() ? "/api/v1" : "/apis/" + type.group + "/" + type.version;
  const Verb list = {"get", "list", true};
  const Verb delete_all = {"delete", "deletecollection", false, true};
  const std::vector<Verb> collection = type.kind == "Namespace" && type.structural == nullptr
                                           ? std::vector<Verb>{list, {"post", "post"}}
                                           : std::vector<Verb>{list, {"post", "post"}, delete_all};
  const std::vector<Verb> single = {
      {"get", "get"}, {"put", "put"}, {"patch", "patch"}, {"delete", "delete", false, true}};
  const std::vector<Verb> part = {{"get", "get"}, {"put", "put"}, {"patch", "patch"}};
  const std::string base = root + (type.namespaced ? "/namespaces/{namespace}/" : "/") + type.plural;
  if (IsMeasured(type)) {
    if (type.namespaced) AddPath(dialect, type, root + "/" + type.plural, {list}, paths);
    AddPath(dialect, type, base, {list}, paths);
    AddPath(dialect, type, base + "/{name}", {{"get", "get"}}, paths);
    return;
  }
  if (!type.is_stored) {
    AddPath(dialect, type, base, {{"post", "post"}}, paths);
    return;
  }
  if (type.namespaced) AddPath(dialect, type, root + "/" + type.plural, {list}, paths);
  AddPath(dialect, type, base, collection, paths);
  AddPath(dialect, type, base + "/{name}", single, paths);
  if (type.has_status) AddPath(dialect, type, base + "/{name}/status", part, paths);
}

json::object Info() { return {{"title", "Kubernetes"}, {"version", std::string(kGitVersion)}}; }

std::string MakeV3(const CustomCatalog& custom, std::string_view group, std::string_view version) {
  const Dialect dialect{true};
  json::object paths;
  json::object schemas;
  const auto add = [&](const objects::ResourceType& type) {
    if (type.group != group || type.version != version) return;
    AddPaths(dialect, type, paths);
    AddKind(dialect, type, schemas);
  };
  for (const objects::ResourceType& type : objects::ResourceTypes()) add(type);
  for (const objects::ResourceType* type : custom.types) add(*type);
  if (paths.empty()) return {};
  AddCommonSchemas(dialect, schemas);
  json::object document;
  document["openapi"] = "3.0.0";
  document["info"] = Info();
  document["paths"] = std::move(paths);
  document["components"] = json::object{{"schemas", std::move(schemas)}};
  return json::serialize(document);
}

json::object MakeV2(const CustomCatalog& custom) {
  const Dialect dialect{false};
  json::object paths;
  json::object definitions;
  const auto add = [&](const objects::ResourceType& type) {
    AddPaths(dialect, type, paths);
    AddKind(dialect, type, definitions);
  };
  for (const objects::ResourceType& type : objects::ResourceTypes()) add(type);
  for (const objects::ResourceType* type : custom.types) add(*type);
  AddCommonSchemas(dialect, definitions);
  json::object document;
  document["swagger"] = "2.0";
  document["info"] = Info();
  document["paths"] = std::move(paths);
  document["definitions"] = std::move(definitions);
  return document;
}

// The document of the last catalog that was asked for: it takes a while to be made.
class Kept {
 public:
  template <typename Make>
  std::shared_ptr<const std::string> Get(const std::string& version, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (document_ == nullptr || version != version_) {
      document_ = std::make_shared<const std::string>(make());
      version_ = version;
    }
    return document_;
  }

 private:
  std::mutex mutex_;
  std::string version_;
  std::shared_ptr<const std::string> document_;
};

}  // namespace

std::shared_ptr<const std::string> OpenApiV2(const CustomCatalog& custom) {
  static Kept kept;
  return kept.Get(custom.version, [&] { return json::serialize(MakeV2(custom)); });
}

std::shared_ptr<const std::string> OpenApiV2Protobuf(const CustomCatalog& custom) {
  static Kept kept;
  return kept.Get(custom.version, [&] { return EncodeOpenApiV2(MakeV2(custom)); });
}

std::string OpenApiV3(const CustomCatalog& custom, std::string_view group, std::string_view version) {
  static std::mutex mutex;  // guards `documents`, those that have no custom resources
  static std::map<std::pair<std::string, std::string>, std::string> documents;
  const auto is_of = [&](const objects::ResourceType& type) { return type.group == group && type.version == version; };
  const bool is_ours = std::any_of(objects::ResourceTypes().begin(), objects::ResourceTypes().end(), is_of);
  const bool is_custom = std::any_of(custom.types.begin(), custom.types.end(),
                                     [&](const objects::ResourceType* type) { return is_of(*type); });
  if (is_custom) return MakeV3(custom, group, version);
  if (!is_ours) return {};
  const std::lock_guard lock(mutex);
  std::string& document = documents[{std::string(group), std::string(version)}];
  if (document.empty()) document = MakeV3({}, group, version);
  return document;
}

const std::string& OpenApiHash() {
  static const std::string kHash = [] {
    std::uint64_t hash = 14695981039346656037ULL;
    const auto add = [&](std::string_view text) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    };
    add("2");  // to be counted up when the documents are generated in another way
    add(kGitVersion);
    for (const std::string_view text : objects::internal::SchemaTexts()) add(text);
    for (const objects::ResourceType& type : objects::ResourceTypes()) add(type.group + "/" + type.plural);
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llX", static_cast<unsigned long long>(hash));
    return std::string(digits);
  }();
  return kHash;
}

std::string OpenApiV3Index(const CustomCatalog& custom) {
  json::object paths;
  const auto add = [&](const objects::ResourceType& type) {
    const std::string path = type.group.empty() ? "api/v1" : "apis/" + type.group + "/" + type.version;
    const std::string hash = OpenApiHash() + (type.structural == nullptr ? "" : custom.version);
    paths[path] = json::object{{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + hash}};
  };
  for (const objects::ResourceType& type : objects::ResourceTypes()) add(type);
  for (const objects::ResourceType* type : custom.types) add(*type);
  return json::serialize(json::object{{"paths", std::move(paths)}});
}

}  // namespace berth::apiserver
