// SPDX-License-Identifier: Apache-2.0
// Creating, changing and deleting.
#include "berth/devcluster/apiserver/rest_write.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/codec/yaml.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/status_response.h"
#include "berth/devcluster/apiserver/subresources.h"
#include "berth/devcluster/objects/duplicate_fields.h"
#include "berth/devcluster/objects/fields/managed_fields.h"
#include "berth/devcluster/objects/patch.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kApplyMediaType = "application/apply-patch+yaml";
constexpr std::string_view kPatchMediaTypes =
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
    "application/apply-patch+yaml";

constexpr std::string_view kCustomPatchMediaTypes =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

// The answer to a create that makes no object.
constexpr std::string_view kCreatedStatus =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})";

// Upstream's deletions answer with the object for these types and with a Status for all others.
bool ReturnsDeletedObject(const objects::ResourceType& type) {
  for (const std::string_view plural : {"pods", "services", "serviceaccounts", "persistentvolumes",
                                        "persistentvolumeclaims", "podtemplates", "resourcequotas"}) {
    if (type.group.empty() && type.plural == plural) return true;
  }
  return false;
}

void AddWarnings(net::Response& response, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    response.headers.push_back({"Warning", "299 - " + json::serialize(json::string(warning))});
  }
}

// As upstream warns of pods that stay.
std::vector<std::string> DeletionWarnings(const objects::ResourceType& type, const DeleteOptions& options) {
  if (type.kind != "Job" || !OrphansByDefault(type) || !options.propagation_policy.empty() ||
      options.orphan_dependents) {
    return {};
  }
  return {
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
      "set propagationPolicy=Orphan to suppress this warning"};
}

net::Response WriteResponse(const Rendering& rendering, const Written& written,
                            const std::vector<std::string>& warnings) {
  net::Response response = JsonResponse(written.is_created ? 201 : 200, RenderObject(rendering, *written.object));
  AddWarnings(response, warnings);
  return response;
}

// Duplicate keys are gone once the body is parsed, so they are looked for in its text.
objects::Outcome<objects::Done> CheckDuplicates(const RestCall& call, objects::WriteOptions& options) {
  if (options.field_validation == objects::FieldValidation::kIgnore) return objects::Done();
  if (!call.media_type.empty() && call.media_type != "application/json") return objects::Done();
  const std::vector<std::string> duplicates = objects::DuplicateFields(call.request.body);
  if (duplicates.empty()) return objects::Done();
  if (options.field_validation == objects::FieldValidation::kStrict) {
    const objects::ResourceType& type = *call.route.served->type;
    return objects::BadRequest(objects::WrongTypeMessage(type, "strict decoding error: " + duplicates[0]));
  }
  options.warnings->insert(options.warnings->end(), duplicates.begin(), duplicates.end());
  return objects::Done();
}

struct ParsedPatch {
  enum class Kind { kJson, kMerge, kStrategic, kApply } kind = Kind::kJson;
  json::value document;
  bool is_forced = false;  // of kApply
};

objects::StatusError InvalidPatchOptions(const char* field, const char* reason, const char* message) {
  return objects::InvalidKind("meta.k8s.io", "PatchOptions", "", {{field, reason, message}});
}

// The configuration of a server-side apply: YAML, of which JSON is a part.
objects::Outcome<ParsedPatch> ParseApply(const RestCall& call) {
  const std::string& body = call.request.body;
  if (call.target.Query("fieldManager").empty()) {
    return InvalidPatchOptions("fieldManager", "FieldValueRequired", "Required value: is required for apply patch");
  }
  ParsedPatch patch;
  patch.kind = ParsedPatch::Kind::kApply;
  BERTH_ASSIGN_OR_RETURN(const auto force, BoolParameter(call.target, "force"));
  patch.is_forced = force.value_or(false);
  if (body.size() > kBodyBytesMax) {
    return objects::TooLarge("Request entity too large: limit is " + std::to_string(kBodyBytesMax));
  }
  if (body.starts_with('{')) {
    BERTH_ASSIGN_OR_RETURN(patch.document, DecodeJson(body));
  } else {
    auto parsed = codec::ParseYaml(body, {.bytes_max = kBodyBytesMax});
    if (!parsed.ok()) return objects::BadRequest("error decoding patch: " + parsed.error().message);
    // What YAML can hold and JSON cannot ends here.
    BERTH_ASSIGN_OR_RETURN(patch.document, DecodeJson(json::serialize(*parsed)));
  }
  if (!patch.document.is_object()) return objects::BadRequest("error decoding patch: it must be an object");
  return patch;
}

objects::Outcome<ParsedPatch> ParsePatch(const RestCall& call) {
  const std::string& type = call.media_type;
  ParsedPatch patch;
  if (type == "application/json-patch+json") {
    patch.kind = ParsedPatch::Kind::kJson;
  } else if (type == "application/merge-patch+json") {
    patch.kind = ParsedPatch::Kind::kMerge;
  } else if (type == "application/strategic-merge-patch+json") {
    // No schema of theirs says how lists merge in it.
    if (call.route.served->type->structural != nullptr) return objects::UnsupportedMediaType(kCustomPatchMediaTypes);
    patch.kind = ParsedPatch::Kind::kStrategic;
  } else if (type == kApplyMediaType) {
    return ParseApply(call);
  } else {
    return objects::UnsupportedMediaType(kPatchMediaTypes);
  }
  if (call.target.Has("force")) {
    return InvalidPatchOptions("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch");
  }
  BERTH_ASSIGN_OR_RETURN(patch.document, DecodeJson(call.request.body));
  return patch;
}

objects::Outcome<json::object> ApplyPatch(const ParsedPatch& patch, const json::object& current,
                                          const json::storage_ptr& storage, std::string_view kind) {
  json::value document(current, storage);
  const auto apply = [&]() -> objects::Outcome<json::value> {
    switch (patch.kind) {
      case ParsedPatch::Kind::kJson: return objects::ApplyJsonPatch(std::move(document), patch.document);
      case ParsedPatch::Kind::kMerge: return objects::ApplyMergePatch(std::move(document), patch.document);
      case ParsedPatch::Kind::kStrategic:
        return objects::ApplyStrategicMergePatch(std::move(document), patch.document, kind, &objects::PatchMergeKey);
      case ParsedPatch::Kind::kApply: break;  // ApplyConfiguration(), which has to know the writer
    }
    return objects::BadRequest("no such patch");
  };
  BERTH_ASSIGN_OR_RETURN(json::value patched, apply());
  if (!patched.is_object()) return objects::BadRequest("the patched document must still be an object");
  return std::move(patched.get_object());
}

}  // namespace

objects::Outcome<net::Response> RestWrite::Create(const RestCall& call) {
  const RestRoute& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  BERTH_ASSIGN_OR_RETURN(objects::WriteOptions options, call.write);
  std::vector<std::string> warnings;
  options.warnings = &warnings;
  BERTH_ASSIGN_OR_RETURN(json::object document, call.Body(objects::RequestStorage()));
  BERTH_RETURN_IF_ERROR(CheckDuplicates(call, options));
  BERTH_ASSIGN_OR_RETURN(const Written written,
                         registry_.Create(*route.served, route.namespace_name, std::move(document), options));
  if (route.served->IsDefinitions()) {
    for (std::string& each : objects::UnservedParts(objects::ParseStored(*written.object)))
      warnings.push_back(std::move(each));
  }
  AddCreationWarnings(route, written, warnings);
  return WriteResponse(rendering, written, warnings);
}

void RestWrite::AddCreationWarnings(const RestRoute& route, const Written& written,
                                    std::vector<std::string>& warnings) const {
  if (!written.is_created) return;
  const objects::ResourceType& type = *route.served->type;
  if (!type.unattended.empty()) warnings.push_back(type.unattended);
  if (warnings_ == nullptr) return;
  for (std::string& each : warnings_(type, written.object->bytes)) warnings.push_back(std::move(each));
}

objects::Outcome<net::Response> RestWrite::Replace(const RestCall& call, UpdateMode mode) {
  const RestRoute& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  Registry::UpdateOptions options{.mode = mode, .may_create = mode == UpdateMode::kObject};
  BERTH_ASSIGN_OR_RETURN(options.write, call.write);
  options.write.writer.subresource = route.subresource;
  std::vector<std::string> warnings;
  options.write.warnings = &warnings;
  BERTH_ASSIGN_OR_RETURN(const json::object document, call.Body());
  BERTH_RETURN_IF_ERROR(CheckDuplicates(call, options.write));
  const std::vector<std::string> duplicates = warnings;
  const auto change = [&](const json::object*, const json::storage_ptr& storage) -> objects::Outcome<json::object> {
    warnings = duplicates;  // those of an attempt that came too late are found again
    return json::object(document, storage);
  };
  BERTH_ASSIGN_OR_RETURN(const Written written,
                         registry_.Update(*route.served, route.namespace_name, route.name, change, options));
  AddCreationWarnings(route, written, warnings);
  return WriteResponse(rendering, written, warnings);
}

objects::Outcome<net::Response> RestWrite::Patch(const RestCall& call, UpdateMode mode) {
  const RestRoute& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  Registry::UpdateOptions options{.mode = mode};
  BERTH_ASSIGN_OR_RETURN(options.write, call.write);
  std::vector<std::string> warnings;
  options.write.warnings = &warnings;
  BERTH_ASSIGN_OR_RETURN(const ParsedPatch patch, ParsePatch(call));
  const bool is_apply = patch.kind == ParsedPatch::Kind::kApply;
  options.write.writer.subresource = route.subresource;
  options.write.writer.is_apply = is_apply;
  options.may_create = is_apply && mode == UpdateMode::kObject;
  const auto change = [&](const json::object* current,
                          const json::storage_ptr& storage) -> objects::Outcome<json::object> {
    warnings.clear();
    if (!is_apply) return ApplyPatch(patch, *current, storage, route.served->type->kind);
    return objects::ApplyConfiguration({*route.served->type, options.write.writer, registry_.WallNow()}, current,
                                       patch.document.get_object(), patch.is_forced);
  };
  BERTH_ASSIGN_OR_RETURN(const Written written,
                         registry_.Update(*route.served, route.namespace_name, route.name, change, options));
  AddCreationWarnings(route, written, warnings);
  return WriteResponse(rendering, written, warnings);
}

objects::Outcome<net::Response> RestWrite::Delete(const RestCall& call) {
  const RestRoute& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  BERTH_ASSIGN_OR_RETURN(const DeleteOptions options,
                         ParseDeleteOptions(call.request.body, call.media_type, call.target));
  BERTH_ASSIGN_OR_RETURN(const Deleted deleted,
                         registry_.Delete(*route.served, route.namespace_name, route.name, options));
  // 202 only for clients that use the older orphanDependents: others have always got 200.
  const bool is_accepted = !deleted.is_gone && options.orphan_dependents == false;
  net::Response response =
      deleted.is_gone && !ReturnsDeletedObject(*route.served->type)
          ? JsonResponse(200, objects::SuccessStatus(route.served->type, route.name, deleted.object->uid))
          : JsonResponse(is_accepted ? 202 : 200, RenderObject(rendering, *deleted.object));
  AddWarnings(response, DeletionWarnings(*route.served->type, options));
  return response;
}

objects::Outcome<net::Response> RestWrite::DeleteCollection(const RestCall& call) {
  const RestRoute& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  BERTH_ASSIGN_OR_RETURN(const ListParameters list,
                         ParseListParameters(call.target, *route.served, route.namespace_name));
  BERTH_ASSIGN_OR_RETURN(const DeleteOptions options,
                         ParseDeleteOptions(call.request.body, call.media_type, call.target));
  Store::ListQuery query;
  query.selector = list.selector;
  query.limit = list.limit > 0 ? std::min(list.limit, kDeleteCollectionMax) : kDeleteCollectionMax;
  BERTH_ASSIGN_OR_RETURN(const std::vector<objects::ObjectPtr> gone,
                         registry_.DeleteCollection(*route.served, query, options));
  net::Response response =
      JsonResponse(200, RenderList(rendering, gone, {.resource_version = registry_.store().resource_version()}));
  AddWarnings(response, DeletionWarnings(*route.served->type, options));
  return response;
}

objects::Outcome<net::Response> RestWrite::Bind(const RestCall& call) {
  BERTH_ASSIGN_OR_RETURN(const objects::WriteOptions options, call.write);
  BERTH_ASSIGN_OR_RETURN(const json::object binding, call.Body(objects::RequestStorage()));
  BERTH_RETURN_IF_ERROR(
      BindPod(registry_, *call.route.served, call.route.namespace_name, call.route.name, binding, options.is_dry_run));
  return JsonResponse(201, std::string(kCreatedStatus));
}

objects::Outcome<net::Response> RestWrite::Evict(const RestCall& call) {
  BERTH_ASSIGN_OR_RETURN(const objects::WriteOptions options, call.write);
  BERTH_ASSIGN_OR_RETURN(const json::object eviction, call.Body());
  BERTH_RETURN_IF_ERROR(EvictPod(registry_, *call.route.served, call.route.namespace_name, call.route.name, eviction,
                                 options.is_dry_run));
  return JsonResponse(201, std::string(kCreatedStatus));
}

objects::Outcome<net::Response> RestWrite::Scale(const RestCall& call) {
  const RestRoute& route = call.route;
  const auto respond = [&](const objects::StoredObject& object) {
    return JsonResponse(
        200, json::serialize(ScaleOf(*route.served->type, objects::ParseStored(object), object.resource_version)));
  };
  if (call.request.method == "GET" || call.request.method == "HEAD") {
    BERTH_ASSIGN_OR_RETURN(const objects::ObjectPtr object,
                           registry_.Get(*route.served, route.namespace_name, route.name));
    return respond(*object);
  }
  Registry::UpdateOptions options;
  BERTH_ASSIGN_OR_RETURN(options.write, call.write);
  options.write.field_validation = objects::FieldValidation::kIgnore;
  options.write.writer.subresource = "scale";
  ParsedPatch patch;
  json::object body;
  const bool is_patch = call.request.method == "PATCH";
  if (is_patch) {
    BERTH_ASSIGN_OR_RETURN(patch, ParsePatch(call));
    if (patch.kind == ParsedPatch::Kind::kApply) {
      return objects::BadRequest(
          "the subresource scale is not applied to here: use another patch, or apply to the object");
    }
  } else if (call.request.method == "PUT") {
    BERTH_ASSIGN_OR_RETURN(body, call.Body());
  } else {
    return objects::MethodNotAllowed();
  }
  const auto change = [&](const json::object* current,
                          const json::storage_ptr& storage) -> objects::Outcome<json::object> {
    if (!is_patch) return WithScale(*route.served->type, *current, body, storage);
    const std::string_view version =
        objects::StringMember(*objects::ObjectMember(*current, "metadata"), "resourceVersion");
    const json::object scale = ScaleOf(*route.served->type, *current, std::stoll(std::string(version)));
    BERTH_ASSIGN_OR_RETURN(const json::object patched, ApplyPatch(patch, scale, storage, "Scale"));
    return WithScale(*route.served->type, *current, patched, storage);
  };
  BERTH_ASSIGN_OR_RETURN(const Written written,
                         registry_.Update(*route.served, route.namespace_name, route.name, change, options));
  return respond(*written.object);
}

}  // namespace berth::apiserver
