// SPDX-License-Identifier: Apache-2.0
// `berth headroom`: how many node losses each workload of a cluster survives. Returns the exit status; a failure is one
// line on standard error. Call it on the main thread, after cli::BlockSignals().
#pragma once

#include <cstddef>
#include <optional>

#include "berth/app/question_flags.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct HeadroomCommandOptions {
  QuestionOptions question;
  std::size_t losses_max = 3;
  std::optional<std::size_t> required;  // losses that each workload should survive
};

int RunHeadroom(const HeadroomCommandOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
