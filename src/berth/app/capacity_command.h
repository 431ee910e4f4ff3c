// SPDX-License-Identifier: Apache-2.0
// `berth capacity`: how many more pods of a shape fit into a cluster. Returns the exit status; a failure is one line on
// standard error. Call it on the main thread, after cli::BlockSignals().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "berth/app/question_flags.h"
#include "berth/core/config/known_plugins.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/shapes.h"

namespace berth::app {

struct CapacityCommandOptions {
  QuestionOptions question;
  std::vector<std::string> files;  // of manifests
  std::vector<std::string> likes;  // "NAMESPACE/POD", or "POD"
  whatif::ShapeAmounts amounts;    // of the flags' own shape
  whatif::CapacityOptions capacity;
  std::optional<std::size_t> required;  // of each shape
};

int RunCapacity(const CapacityCommandOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
