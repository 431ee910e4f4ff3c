// SPDX-License-Identifier: Apache-2.0
// Validation of questions about access, in upstream's words. Pure, any thread.
#pragma once

#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateSelfSubjectAccessReview(const json::object& review, const json::object* old, Errors& errors);

// SubjectAccessReview and LocalSubjectAccessReview.
void ValidateSubjectAccessReview(const json::object& review, const json::object* old, Errors& errors);

void ValidateTokenRequest(const json::object& request, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
