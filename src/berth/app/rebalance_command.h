// SPDX-License-Identifier: Apache-2.0
// `berth rebalance plan`: which pods a policy would have moved, where each would go, and why the others stay. Returns
// the exit status; a failure is one line on standard error. Call it on the main thread, after cli::BlockSignals().
#pragma once

#include <string>

#include "berth/app/question_flags.h"
#include "berth/base/expected.h"
#include "berth/core/config/known_plugins.h"
#include "berth/rebalance/policy.h"

namespace berth::app {

struct RebalancePlanOptions {
  QuestionOptions question;
  std::string policy;             // the DeschedulerPolicy's file
  bool within_scheduler = false;  // as berth run --rebalance plans
};

int RunRebalancePlan(const RebalancePlanOptions& options, config::KnownPlugins plugins);

// The file of the flag, with which an error begins.
Expected<rebalance::Policy> LoadPolicy(const std::string& flag, const std::string& path);

}  // namespace berth::app
