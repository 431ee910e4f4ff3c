// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/codec/yaml.h"
#include "berth/codec/yaml_lines.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/pod_decision.h"
#include "berth/devcluster/objects/metadata_validation.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/schema.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/admission_rules.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;
using controllers::ObjectIn;
using controllers::ObjectOf;
using controllers::StringOf;
using objects::FieldError;
using objects::ResourceType;

// Kinds that are simulated beside those that plugins read.
constexpr std::array<std::string_view, 10> kKinds = {
    "Pod",  "Deployment",    "ReplicaSet",   "StatefulSet",          "DaemonSet", "ReplicationController",
    "Node", "PriorityClass", "RuntimeClass", "ResourceClaimTemplate"};
constexpr std::string_view kJob = "Job";
constexpr std::string_view kJobVersion = "batch/v1";

std::string VersionOf(const ResourceType& type) {
  return type.group.empty() ? type.version : type.group + '/' + type.version;
}

bool IsSimulated(std::string_view kind) {
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() || framework::ObjectKindNamed(kind);
}

const ResourceType* FindType(std::string_view api_version, std::string_view kind) {
  for (const ResourceType& type : objects::ResourceTypes()) {
    if (type.kind == kind && VersionOf(type) == api_version && IsSimulated(kind)) return &type;
  }
  return nullptr;
}

Expected<void> ToError(const std::vector<FieldError>& errors, std::string_view path_prefix) {
  if (errors.empty()) return {};
  std::vector<std::string> lines;
  for (const FieldError& error : errors) lines.push_back(std::string(path_prefix) + error.field + ": " + error.message);
  return InvalidError(GoAggregate(lines));
}

// Checks what must be right before anything else of a document can be read.
Expected<void> CheckShape(const ResourceType& type, json::object& object, std::string_view path_prefix) {
  if (const auto wrong = objects::FindWrongField(type, object))
    return InvalidError(std::string(path_prefix) + wrong->field + ": " + wrong->message);
  const std::vector<std::string> unknown = objects::UnknownFields(type, object);
  if (!unknown.empty()) return InvalidError(GoAggregate(unknown));
  objects::DropNulls(object);
  return {};
}

Expected<void> Prepare(const ResourceType& type, json::object& object, std::string_view path_prefix) {
  type.set_defaults(object);
  type.prepare_create(object);
  std::vector<FieldError> errors = objects::ValidateMetadata(type, ObjectIn(object, "metadata"));
  if (errors.empty()) errors = type.validate(object, nullptr);
  return ToError(errors, path_prefix);
}

// The API server's schema has no Job: what controllers read of it is checked here, its pods as all pods are.
Expected<void> CheckJob(const json::object& job) {
  const json::object* metadata = ObjectOf(job, "metadata");
  if (metadata == nullptr || (StringOf(*metadata, "name").empty() && StringOf(*metadata, "generateName").empty()))
    return InvalidError("metadata.name: Required value: name or generateName is required");
  const json::object* spec = ObjectOf(job, "spec");
  const json::object* pod_template = spec == nullptr ? nullptr : ObjectOf(*spec, "template");
  if (pod_template == nullptr) return InvalidError("spec.template: Required value");
  static const ResourceType* const pods = objects::FindResource("", "v1", "pods");
  if (const auto wrong = objects::FindWrongField(*pods, *pod_template))
    return InvalidError("spec.template." + wrong->field + ": " + wrong->message);
  std::vector<std::string> errors;
  for (const char* field : {"parallelism", "completions"}) {
    const json::value* value = spec->if_contains(field);
    if (value == nullptr || value->is_null() || (value->is_int64() && value->get_int64() >= 0)) continue;
    errors.push_back(std::string("spec.") + field + ": Invalid value: " + codec::WriteJson(*value) +
                     ": must be a whole number, 0 or more");
  }
  const json::object* pod = ObjectOf(*pod_template, "spec");
  const std::string_view restart = pod == nullptr ? std::string_view() : StringOf(*pod, "restartPolicy");
  if (restart != "Never" && restart != "OnFailure")
    errors.emplace_back(R"(spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never")");
  if (!errors.empty()) return InvalidError(GoAggregate(errors));
  return {};
}

// The line of the first word of each document that is not empty.
std::vector<std::size_t> DocumentLines(std::string_view text) {
  std::vector<std::size_t> lines;
  bool has_content = false;
  const auto see = [&](std::string_view rest, std::size_t number) {
    const std::size_t word = rest.find_first_not_of(" \t\r");
    if (has_content || word == std::string_view::npos || rest[word] == '#') return;
    has_content = true;
    lines.push_back(number);
  };
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::string_view mark = line.substr(0, 3);
    const bool is_mark =
        (mark == "---" || mark == "...") && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
    if (is_mark) {
      has_content = false;
      see(line.substr(3), number);
    } else if (has_content || !line.starts_with('%')) {
      see(line, number);
    }
  }
  return lines;
}

// Where a manifest is.
struct Place {
  const ManifestFile& file;
  std::size_t document;             // of the file, from 0
  std::optional<std::size_t> line;  // on which the document begins
  std::string item = {};            // "items[2]" of a list

  // "web.yaml:14", "web.yaml:14: items[2]".
  std::string Text() const { return At(line); }
  // The same with the line of what the error is about, where it is known.
  std::string TextFor(const Error& error) const {
    const std::string field(codec::FieldPathOf(error.message));
    const std::string path = item.empty() || field.empty() ? field : item + '.' + field;
    const auto found = path.empty() ? std::nullopt : codec::LineOfField(file.text, path, document);
    return At(found ? found : line);
  }

 private:
  std::string At(std::optional<std::size_t> at) const {
    return file.name + (at ? ':' + std::to_string(*at) : ": document " + std::to_string(document + 1)) +
           (item.empty() ? "" : ": " + item);
  }
};

class Reader {
 public:
  explicit Reader(const std::string& default_namespace) : default_namespace_(default_namespace) {}

  Expected<void> ReadFile(const ManifestFile& file) {
    const codec::ParseLimits limits{.bytes_max = kManifestFileBytesMax};
    auto parsed = codec::ParseYamlStream(file.text, limits);
    if (!parsed.ok()) return Error{parsed.error().code, file.name + ": " + parsed.error().message};
    if (parsed->empty()) return InvalidError(file.name + ": there is no document in it");
    const std::vector<std::size_t> lines = DocumentLines(file.text);
    for (std::size_t i = 0; i < parsed->size(); ++i) {
      const bool has_line = lines.size() == parsed->size();
      BERTH_RETURN_IF_ERROR(
          ReadDocument(std::move((*parsed)[i]), {file, i, has_line ? std::optional(lines[i]) : std::nullopt}));
    }
    return {};
  }

  Manifests Take() && { return std::move(out_); }

 private:
  Expected<void> ReadDocument(json::value document, const Place& place) {
    if (document.is_null()) return {};
    if (!document.is_object()) return InvalidError(place.Text() + ": a manifest is an object with a kind");
    json::object& object = document.get_object();
    const std::string kind(StringOf(object, "kind"));
    const std::string version(StringOf(object, "apiVersion"));
    if (kind.empty()) return InvalidError(place.Text() + ": kind: Required value");
    if (version.empty()) return InvalidError(place.Text() + ": apiVersion: Required value");
    const json::value* items = object.if_contains("items");
    if (kind.ends_with("List") && items != nullptr && items->is_array()) return ReadList(object, place);
    return ReadObject(std::move(object), kind, version, place);
  }

  // Lists within lists are not read: depth is bounded so.
  Expected<void> ReadList(json::object& list, const Place& place) {
    json::array& items = list["items"].get_array();
    for (std::size_t i = 0; i < items.size(); ++i) {
      Place item_place = place;
      item_place.item = "items[" + std::to_string(i) + ']';
      json::object* item = items[i].if_object();
      if (item == nullptr) return InvalidError(item_place.Text() + ": a manifest is an object with a kind");
      const std::string kind(StringOf(*item, "kind"));
      const std::string version(StringOf(*item, "apiVersion"));
      if (kind.empty()) return InvalidError(item_place.Text() + ".kind: Required value");
      BERTH_RETURN_IF_ERROR(ReadObject(std::move(*item), kind, version, item_place));
    }
    return {};
  }

  Expected<void> ReadObject(json::object object, const std::string& kind, const std::string& version,
                            const Place& place) {
    if (out_.documents.size() + out_.left_out.size() >= kManifestsMax)
      return Error{ErrorCode::kTooLarge, place.Text() + ": more than " + std::to_string(kManifestsMax) + " manifests"};
    const bool is_job = kind == kJob && version == kJobVersion;
    const ResourceType* type = is_job ? nullptr : FindType(version, kind);
    Manifest out;
    out.kind = kind;
    if (const json::object* metadata = ObjectOf(object, "metadata")) {
      out.name = StringOf(*metadata, "name");
      out.namespace_name = StringOf(*metadata, "namespace");
      out.where = out.name.empty() ? std::string(StringOf(*metadata, "generateName")) + "..." : out.name;
    }
    if (is_job || (type != nullptr && type->namespaced)) {
      if (out.namespace_name.empty()) out.namespace_name = default_namespace_;
    } else if (type != nullptr) {
      out.namespace_name.clear();
    }
    const std::string what = ": " + kind + (out.where.empty() ? "" : " ") +
                             (out.namespace_name.empty() ? "" : out.namespace_name + '/') + out.where;
    out.where = place.Text() + what;
    if (!is_job && type == nullptr) {
      out_.left_out.push_back(out.where + ": " + version + " " + kind + " is not simulated");
      return {};
    }
    if (const auto checked = Check(type, out.namespace_name, object); !checked.ok())
      return checked.error().Wrap(place.TextFor(checked.error()) + what);
    out.object = std::move(object);
    out_.documents.push_back(std::move(out));
    return {};
  }

  static Expected<void> Check(const ResourceType* type, const std::string& namespace_name, json::object& object) {
    if (type == nullptr) return CheckJob(object);
    BERTH_RETURN_IF_ERROR(CheckShape(*type, object, ""));
    json::object& metadata = ObjectIn(object, "metadata");
    if (type->namespaced) {
      metadata["namespace"] = namespace_name;
    } else {
      metadata.erase("namespace");
    }
    // These are prepared once the PriorityClasses are known.
    if (type->kind == "Pod" || type->kind == "PodGroup" || type->kind == "CompositePodGroup") return {};
    return Prepare(*type, object, "");
  }

  const std::string& default_namespace_;
  Manifests out_;
};

}  // namespace

Expected<Manifests> ReadManifests(const std::vector<ManifestFile>& files, const std::string& default_namespace) {
  Reader reader(default_namespace);
  for (const ManifestFile& file : files) BERTH_RETURN_IF_ERROR(reader.ReadFile(file));
  return std::move(reader).Take();
}

Expected<void> PreparePod(json::object& pod, std::string_view path_prefix, const AdmissionRules& rules) {
  static const ResourceType* const type = objects::FindResource("", "v1", "pods");
  BERTH_RETURN_IF_ERROR(CheckShape(*type, pod, path_prefix));
  BERTH_RETURN_IF_ERROR(rules.Admit(pod, path_prefix));
  return Prepare(*type, pod, path_prefix);
}

Expected<void> PreparePodGroup(json::object& group, const AdmissionRules& rules) {
  static const ResourceType* const single = objects::FindResource("scheduling.k8s.io", "v1beta1", "podgroups");
  static const ResourceType* const composite =
      objects::FindResource("scheduling.k8s.io", "v1alpha3", "compositepodgroups");
  const bool is_composite = StringOf(group, "kind") == composite->kind;
  group.erase("status");
  BERTH_RETURN_IF_ERROR(rules.AdmitPodGroup(group, is_composite ? "composite pod group" : "pod group"));
  return Prepare(is_composite ? *composite : *single, group, "");
}

}  // namespace berth::whatif
