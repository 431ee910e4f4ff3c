// SPDX-License-Identifier: Apache-2.0
// Runs a case of `berth plugin test` and compares the results with the expected ones.
#pragma once

#include <string>
#include <vector>

#include "berth/authoring/plugin_case.h"
#include "berth/core/config/known_plugins.h"

namespace berth::authoring {

// One expected result.
struct PluginCheck {
  std::string of;  // "filter a", "score b", "placed p", "message p", "forms"
  std::string want;
  std::string got;
  bool is_ok = false;
};

// Deterministic. Fails when a plugin cannot be made.
Expected<std::vector<PluginCheck>> RunPluginCase(const PluginCase& test, config::KnownPlugins plugins);

}  // namespace berth::authoring
