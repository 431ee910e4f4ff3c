// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/body_check.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/text.h"
#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {
namespace {

Outcome<Done> CheckTypeMeta(const ResourceType& type, json::object& document) {
  const std::string api_version = type.group.empty() ? type.version : type.group + '/' + type.version;
  for (const auto& [key, want] : {std::pair<std::string_view, const std::string&>{"kind", type.kind},
                                  std::pair<std::string_view, const std::string&>{"apiVersion", api_version}}) {
    const json::value* got = FindMember(document, key);
    if (got != nullptr && !got->is_null() && !got->is_string()) {
      return BadRequest(std::string(key) + " must be a string, and here \"" + want + '"');
    }
    const std::string_view text = StringMember(document, key);
    if (text.empty()) {
      document[json::string_view(key.data(), key.size())] = want;
    } else if (text != want) {
      if (key == "apiVersion") {
        return BadRequest("the API version in the data (" + std::string(text) +
                          ") does not match the expected API version (" + want + ')');
      }
      return BadRequest("the kind in the data (" + std::string(text) + ") does not match the expected kind (" + want +
                        ')');
    }
  }
  return Done();
}

// Refuses unknown fields, or warns of them.
Outcome<Done> ReportUnknown(const ResourceType& type, const std::vector<std::string>& unknown,
                            const WriteOptions& options) {
  if (unknown.empty() || options.field_validation == FieldValidation::kIgnore) return Done();
  if (options.field_validation == FieldValidation::kStrict) {
    return BadRequest(WrongTypeMessage(type, "strict decoding error: " + Joined(unknown)));
  }
  if (options.warnings != nullptr) options.warnings->insert(options.warnings->end(), unknown.begin(), unknown.end());
  return Done();
}

// Objects of custom resources have Kubernetes' metadata, and else what their schema says; its types are checked with
// its other rules.
Outcome<Done> CheckCustomBody(const ResourceType& type, json::object& document, const WriteOptions& options) {
  json::object wrapped{{"metadata", MutableObject(document, "metadata")}};
  // A kind that has nothing but its metadata.
  static const ResourceType kMetadataOnly = [] {
    ResourceType only;
    only.group = "scheduling.k8s.io";
    only.version = "v1";
    only.kind = "PriorityClass";
    return only;
  }();
  if (const auto wrong = WrongType(kMetadataOnly, wrapped)) return BadRequest(WrongTypeMessage(type, *wrong));
  std::vector<std::string> unknown = UnknownFields(kMetadataOnly, wrapped);
  DropUnknownFields(kMetadataOnly, wrapped);
  DropNulls(wrapped);
  document["metadata"] = std::move(wrapped["metadata"]);
  for (std::string& each : type.structural->Prune(document)) unknown.push_back(std::move(each));
  return ReportUnknown(type, unknown, options);
}

}  // namespace

Outcome<Done> CheckBody(const ResourceType& type, json::object& document, const WriteOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckTypeMeta(type, document));
  const json::value* metadata = FindMember(document, "metadata");
  if (metadata != nullptr && !metadata->is_object() && !metadata->is_null()) {
    return BadRequest("metadata must be an object");
  }
  if (type.structural != nullptr) return CheckCustomBody(type, document, options);
  if (const auto wrong = WrongType(type, document)) return BadRequest(WrongTypeMessage(type, *wrong));
  if (options.field_validation != FieldValidation::kIgnore) {
    BERTH_RETURN_IF_ERROR(ReportUnknown(type, UnknownFields(type, document), options));
  }
  DropUnknownFields(type, document);
  DropNulls(document);
  json::object& kept = MutableObject(document, "metadata");
  kept.erase("selfLink");
  return Done();
}

}  // namespace berth::objects
