// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the commands and flags that --help shows. Pure.
#pragma once

#include <map>
#include <string>

#include "berth/shell/cli/command.h"

namespace berth::app {

// By file name ("berth-explain-pod.1"): one of the program and one of each command.
std::map<std::string, std::string> ManPages(const cli::Command& program, const std::string& version);

// `berth __man DIRECTORY`, for the installation: writes them there. Returns the exit status.
int WriteManPages(const cli::Command& program, const std::string& directory);

}  // namespace berth::app
