// SPDX-License-Identifier: Apache-2.0
// The PostFilter stage of an evaluation, which may make room for a pod that fits nowhere. Within turns only.
#pragma once

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// After an outcome of kRefused: calls the PostFilter plugins in order, as upstream does, and sets
// cycle.post_filter_message from their reasons.
framework::PostFilterResult RunPostFilter(EvaluationCycle& cycle, const framework::NodeStatuses& statuses,
                                          framework::FilterRunner& filters);

}  // namespace berth::runtime
