// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/metadata_validation.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/base/text.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {
namespace {

using internal::Place;

constexpr std::string_view kMetadataRules = R"(
@meta
ObjectMeta labels@Labels annotations@Annotations finalizers:qualified
ObjectMeta.label name!{name or generateName is required}:label
ObjectMeta.segment name!{name or generateName is required}@Segment
ObjectMeta.subdomain name!{name or generateName is required}:subdomain
)";

// RBAC's names may hold colons and capitals; they only must be one segment of a path.
void CheckSegment(const Place& name) {
  const std::string_view text = name.text();
  if (text == "." || text == "..") return name.Invalid("may not be '" + std::string(text) + "'");
  if (text.find('/') != std::string_view::npos) return name.Invalid("may not contain '/'");
  if (text.find('%') != std::string_view::npos) name.Invalid("may not contain '%'");
}

void CheckAnnotations(const Place& annotations) {
  constexpr std::size_t kAnnotationBytesMax = std::size_t{256} << 10;
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.object()) {
    // Upstream lets annotations have capitals before the slash as well.
    annotations.AddInvalid(key, api::NotQualifiedName(LowerCase(key)));
    if (value.is_string()) bytes += key.size() + value.get_string().size();
  }
  if (bytes > kAnnotationBytesMax) annotations.TooLong(kAnnotationBytesMax);
}

}  // namespace

internal::RuleSet MetadataRules() {
  return {kMetadataRules, {{"Annotations", CheckAnnotations}, {"Segment", CheckSegment}}};
}

std::vector<FieldError> ValidateMetadata(const ResourceType& type, const json::object& metadata) {
  internal::Findings findings;
  const Place place(*FindMetaSchema("ObjectMeta"), metadata, nullptr, findings, "metadata");
  const bool is_namespace = type.group.empty() && type.kind == "Namespace";
  place.Walk(type.group == "rbac.authorization.k8s.io" ? "ObjectMeta.segment"
             : is_namespace                            ? "ObjectMeta.label"
                                                       : "ObjectMeta.subdomain");
  place.Walk();
  return std::move(findings.errors);
}

}  // namespace berth::objects
