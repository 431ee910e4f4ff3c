// SPDX-License-Identifier: Apache-2.0
// `berth completion bash|zsh|fish`: the script that makes the shell ask `berth __complete`, and that command, which is
// hidden. kubectl asks it too, under the name kubectl_complete-berth.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace berth::app {

struct CompletionOptions {
  std::string shell;
};

// Parsing fills `options`, which must outlive it.
CLI::App* AddCompletionCommand(CLI::App& app, CompletionOptions& options);
int RunCompletion(const CompletionOptions& options);

// Prints what may stand in place of the last of `words`, which follow the program's name.
int RunComplete(const CLI::App& app, std::span<const std::string> words);

}  // namespace berth::app
