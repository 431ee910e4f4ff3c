// SPDX-License-Identifier: Apache-2.0
// `berth rebalance plan`: which pods a policy would have moved, where each would go, and why the others stay. Returns
// the exit status; a failure is one line on standard error. Call it on the main thread, after cli::BlockSignals().
#pragma once

#include <string>

#include "berth/app/question_flags.h"
#include "berth/plugins/registry.h"

namespace berth::app {

struct RebalanceOptions {
  QuestionOptions question;
  std::string policy;  // the DeschedulerPolicy's file
};

int RunRebalancePlan(const RebalanceOptions& options, plugins::KnownPlugins plugins);

}  // namespace berth::app
