// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the commands and flags that --help shows. Pure.
#pragma once

#include <map>
#include <string>

#include "berth/shell/cli/flag_set.h"

namespace CLI {
class App;
}

namespace berth::app {

// By file name ("berth-explain-pod.1"): one of the program and one of each command. `run_flags` are those of
// `berth run`, which `app` has not.
std::map<std::string, std::string> ManPages(const CLI::App& app, const cli::FlagSet& run_flags,
                                            const std::string& version);

// `berth __man DIRECTORY`, for the installation: writes them there. Returns the exit status.
int WriteManPages(const CLI::App& app, const std::string& directory);

}  // namespace berth::app
