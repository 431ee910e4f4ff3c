// SPDX-License-Identifier: Apache-2.0
// The two spellings of a HorizontalPodAutoscaler: autoscaling/v2, which is stored, and autoscaling/v1. As upstream,
// what v1 has no field for is kept in an annotation. Functions of their argument: any thread.
#pragma once

#include "berth/codec/json.h"

namespace berth::objects {

void ToAutoscalerV1(codec::json::object& autoscaler);
void ToAutoscalerV2(codec::json::object& autoscaler);

}  // namespace berth::objects
