// SPDX-License-Identifier: Apache-2.0
// The PostFilter stage of an evaluation: what may help a pod that fits nowhere. Within turns only.
#pragma once

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// After an outcome of kRefused: asks the PostFilter plugins in order, as upstream does, and puts what they say into
// cycle.post_filter_message.
framework::PostFilterResult RunPostFilter(EvaluationCycle& cycle, const framework::NodeStatuses& statuses,
                                          framework::FilterRunner& filters);

}  // namespace berth::runtime
