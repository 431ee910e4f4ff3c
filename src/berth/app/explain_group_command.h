// SPDX-License-Identifier: Apache-2.0
// `berth explain podgroup`: where the pods of a pod group are, and whether those that wait would be placed. Reads only.
// Returns the exit status; a failure is one line on standard error. Main thread, after cli::BlockSignals().
#pragma once

#include <string>

#include "berth/app/question_flags.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct ExplainGroupOptions {
  QuestionOptions question;
  std::string group;  // "name" or "namespace/name"
};

int RunExplainGroup(const ExplainGroupOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
