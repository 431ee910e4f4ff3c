// SPDX-License-Identifier: Apache-2.0
// `berth explain`: why a pod is where it is, or nowhere, on any cluster or snapshot. Reads only. Returns the exit
// status; a failure is one line on standard error. Call it once per process, on the main thread, after
// cli::BlockSignals().
#pragma once

#include <string>

#include "berth/app/ask_scheduler.h"
#include "berth/app/explain_group_command.h"
#include "berth/app/question_flags.h"
#include "berth/plugins/registry.h"

namespace berth::app {

// The pod has no node, and no node takes it.
inline constexpr int kExitRefused = 3;

struct ExplainOptions {
  QuestionOptions question;
  std::string pod;               // "name" or "namespace/name"
  bool with_nodes = false;       // what each node says
  SchedulerPort scheduler;       // of a running berth that is asked; else the cluster is read
  ExplainGroupOptions of_group;  // where a group is named, the question is about that
};

int RunExplain(const ExplainOptions& options, plugins::KnownPlugins plugins);

}  // namespace berth::app
