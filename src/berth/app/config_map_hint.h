// SPDX-License-Identifier: Apache-2.0
// What is said to somebody who gives a ConfigMap in place of a file that is in it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::app {

// "is a ConfigMap, ..." with the command that takes the file of that kind ("KubeSchedulerConfiguration") out of it;
// nothing where the text is no ConfigMap.
std::optional<std::string> ConfigMapHint(std::string_view text, std::string_view kind);

}  // namespace berth::app
