// SPDX-License-Identifier: Apache-2.0
// `berth can-drain`: what draining some nodes would do to their pods. Returns the exit status; a failure is one line on
// standard error. Call it on the main thread, after cli::BlockSignals().
#pragma once

#include <string>
#include <vector>

#include "berth/app/question_flags.h"
#include "berth/core/config/known_plugins.h"
#include "berth/whatif/drain.h"

namespace berth::app {

struct CanDrainOptions {
  QuestionOptions question;
  std::vector<std::string> nodes;
  whatif::DrainOptions drain;
};

int RunCanDrain(const CanDrainOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
