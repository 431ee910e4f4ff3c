// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/review.h"

#include <cstdint>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects::internal {
namespace {

constexpr std::int64_t kTokenSecondsMin = 600;
constexpr std::int64_t kTokenSecondsMax = std::int64_t{1} << 32;

void ValidateAttributes(const json::object& spec, Errors& errors) {
  const bool has_resource = ObjectMember(spec, "resourceAttributes") != nullptr;
  const bool has_path = ObjectMember(spec, "nonResourceAttributes") != nullptr;
  if (has_resource == has_path) {
    errors.push_back(Invalid("spec", ValueOrNull(spec, "nonResourceAttributes"),
                             "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
}

}  // namespace

void ValidateSelfSubjectAccessReview(const json::object& review, const json::object*, Errors& errors) {
  ValidateAttributes(Part(review, "spec"), errors);
}

void ValidateSubjectAccessReview(const json::object& review, const json::object*, Errors& errors) {
  const json::object& spec = Part(review, "spec");
  ValidateAttributes(spec, errors);
  const json::array* groups = ArrayMember(spec, "groups");
  if (StringMember(spec, "user").empty() && (groups == nullptr || groups->empty())) {
    errors.push_back(Invalid("spec.user", "", "at least one of user or group must be specified"));
  }
  if (StringMember(review, "kind") != "LocalSubjectAccessReview") return;
  const std::string_view own = StringMember(Part(review, "metadata"), "namespace");
  if (ObjectMember(spec, "nonResourceAttributes") != nullptr) {
    errors.push_back(Invalid("spec.nonResourceAttributes", ValueOrNull(spec, "nonResourceAttributes"),
                             "disallowed on this kind of request"));
  } else if (const std::string_view asked = StringMember(Part(spec, "resourceAttributes"), "namespace"); asked != own) {
    errors.push_back(
        Invalid("spec.resourceAttributes.namespace", json::string(asked), "must match metadata.namespace"));
  }
}

void ValidateTokenRequest(const json::object& request, const json::object*, Errors& errors) {
  const json::value seconds = ValueOrNull(Part(request, "spec"), "expirationSeconds");
  if (!seconds.is_int64()) return;
  if (seconds.get_int64() < kTokenSecondsMin) {
    errors.push_back(Invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"));
  } else if (seconds.get_int64() > kTokenSecondsMax) {
    errors.push_back(Invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"));
  }
}

}  // namespace berth::objects::internal
