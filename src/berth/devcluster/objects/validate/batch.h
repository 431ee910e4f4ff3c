// SPDX-License-Identifier: Apache-2.0
// Validation of Jobs, CronJobs and HorizontalPodAutoscalers. Functions of their arguments: any thread.
#pragma once

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

void ValidateJob(const json::object& job, const json::object* old, Errors& errors);
void ValidateCronJob(const json::object& object, const json::object* old, Errors& errors);
void ValidateHorizontalPodAutoscaler(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
