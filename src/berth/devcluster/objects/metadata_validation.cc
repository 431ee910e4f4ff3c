// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/metadata_validation.h"

#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/base/text.h"

namespace berth::objects {
namespace {

constexpr std::size_t kAnnotationBytesMax = std::size_t{256} << 10;

// One error for each reason why `value` will not do.
void Refuse(std::string_view field, std::string_view value, const std::vector<std::string>& reasons,
            std::vector<FieldError>& errors) {
  for (const std::string& reason : reasons) {
    errors.push_back({std::string(field), "FieldValueInvalid",
                      "Invalid value: " + json::serialize(json::string(value)) + ": " + reason});
  }
}

// RBAC's names may hold colons and capitals; they only must be one segment of a path.
std::vector<std::string> NotPathSegment(std::string_view name) {
  if (name == "." || name == "..") return {"may not be '" + std::string(name) + "'"};
  if (name.find('/') != std::string_view::npos) return {"may not contain '/'"};
  if (name.find('%') != std::string_view::npos) return {"may not contain '%'"};
  return {};
}

void ValidateName(const ResourceType& type, std::string_view name, std::vector<FieldError>& errors) {
  constexpr std::string_view kField = "metadata.name";
  if (name.empty()) {
    errors.push_back({std::string(kField), "FieldValueRequired", "Required value: name or generateName is required"});
  } else if (type.group == "rbac.authorization.k8s.io") {
    Refuse(kField, name, NotPathSegment(name), errors);
  } else if (type.group.empty() && type.kind == "Namespace") {
    Refuse(kField, name, api::NotDnsLabel(name), errors);
  } else {
    Refuse(kField, name, api::NotDnsSubdomain(name), errors);
  }
}

void ValidateLabels(const json::object& labels, std::vector<FieldError>& errors) {
  constexpr std::string_view kField = "metadata.labels";
  for (const auto& entry : labels) {
    Refuse(kField, entry.key(), api::NotQualifiedName(entry.key()), errors);
    if (const json::string* text = entry.value().if_string()) {
      Refuse(kField, View(*text), api::NotLabelValue(View(*text)), errors);
    } else {
      Refuse(kField, json::serialize(entry.value()), {"a label must be a string"}, errors);
    }
  }
}

void ValidateAnnotations(const json::object& annotations, std::vector<FieldError>& errors) {
  constexpr std::string_view kField = "metadata.annotations";
  std::size_t bytes = 0;
  for (const auto& entry : annotations) {
    // Upstream lets annotations have capitals before the slash as well.
    Refuse(kField, entry.key(), api::NotQualifiedName(LowerCase(entry.key())), errors);
    if (const json::string* text = entry.value().if_string()) {
      bytes += entry.key().size() + text->size();
    } else {
      Refuse(kField, json::serialize(entry.value()), {"an annotation must be a string"}, errors);
    }
  }
  if (bytes > kAnnotationBytesMax) {
    errors.push_back({std::string(kField), "FieldValueTooLong",
                      "Too long: may not be more than " + std::to_string(kAnnotationBytesMax) + " bytes"});
  }
}

}  // namespace

std::vector<FieldError> ValidateMetadata(const ResourceType& type, const json::object& metadata) {
  std::vector<FieldError> errors;
  ValidateName(type, StringMember(metadata, "name"), errors);
  if (const json::object* labels = ObjectMember(metadata, "labels")) ValidateLabels(*labels, errors);
  if (const json::object* annotations = ObjectMember(metadata, "annotations"))
    ValidateAnnotations(*annotations, errors);
  if (const json::array* finalizers = ArrayMember(metadata, "finalizers")) {
    for (std::size_t i = 0; i < finalizers->size(); ++i) {
      const std::string field = "metadata.finalizers[" + std::to_string(i) + ']';
      const json::string* text = (*finalizers)[i].if_string();
      if (text == nullptr) {
        Refuse(field, json::serialize((*finalizers)[i]), {"a finalizer must be a string"}, errors);
      } else {
        Refuse(field, View(*text), api::NotQualifiedName(View(*text)), errors);
      }
    }
  }
  return errors;
}

}  // namespace berth::objects
