// SPDX-License-Identifier: Apache-2.0
// `berth shadow`: decides beside the scheduler of a cluster, and reports how far the two agree. Reads only. Returns the
// exit status; a failure is one line on standard error. Call it once per process, on the main thread, after
// cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/question_flags.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct ShadowCommandOptions {
  ConnectionOptions connection;
  std::string config;          // KubeSchedulerConfiguration's file; empty: the defaults
  std::string scheduler_name;  // empty: every profile
  QuestionOutput output = QuestionOutput::kTable;
  std::string page;                   // empty: none
  std::optional<Duration> duration;   // nullopt: until a signal comes
  std::optional<std::uint64_t> pods;  // decisions after which it ends; nullopt: it does not
  std::string metrics_bind_address;   // empty: none are served
};

int RunShadow(const ShadowCommandOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
