// SPDX-License-Identifier: Apache-2.0
// `berth simulate`: what would become of a cluster if manifests were applied to it and nodes taken away. Reads the
// cluster and changes nothing in it. Returns the exit status; a failure is one line on standard error. Main thread,
// after cli::BlockSignals().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/app/question_flags.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

// Something of what was asked about stays pending.
inline constexpr int kExitPending = 3;

struct SimulateOptions {
  QuestionOptions question;
  std::vector<std::string> files;         // "-": standard input; a directory: the manifests in it
  std::vector<std::string> remove_nodes;  // by name
  std::size_t add_nodes = 0;              // so many more, like `node_like`
  std::string node_like;
  std::string compare;  // another configuration's file; empty: none
};

int RunSimulate(const SimulateOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
