// SPDX-License-Identifier: Apache-2.0
// `berth explain` of several pods at once: named ones, those of workloads or of a selector, or all that wait; once, or
// again and again until nothing waits. Reads only. Returns the exit status.
#pragma once

#include "berth/app/questions/explain_command.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

int RunExplainMany(const ExplainOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
