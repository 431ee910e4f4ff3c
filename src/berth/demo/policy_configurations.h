// SPDX-License-Identifier: Apache-2.0
// The ready profiles of deploy/config, in the program. Any thread.
#pragma once

#include <string_view>

namespace berth::demo {

// The ready profile of that policy, as deploy/config/NAME.yaml has it. Made by CMake.
std::string_view PolicyConfiguration(std::string_view policy);

}  // namespace berth::demo
