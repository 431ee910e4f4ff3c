// SPDX-License-Identifier: Apache-2.0
// `berth replay`: a recorded run once more. Returns the exit status; a failure is one line on standard error. Call it
// once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <string>

#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct ReplayOptions {
  std::string recording;  // a directory or a file
  std::string explain;    // "namespace/pod", or the number of a decision; empty: none
  std::string until;      // a time of day, or a duration since the beginning; empty: to the end
  std::string config;     // of another configuration; empty: none
  bool with_decisions = false;
};

int RunReplay(const ReplayOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
