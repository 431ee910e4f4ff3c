// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log_settings.h"

#include <atomic>

#include <fnmatch.h>

namespace berth::log {
namespace {

// Lines on decisions are asked about often: this one needs no look at the settings.
std::atomic<int> g_verbosity{0};

Settings& State() {
  static Settings settings;
  return settings;
}

}  // namespace

void Configure(Settings settings) {
  g_verbosity.store(settings.verbosity, std::memory_order_relaxed);
  State() = std::move(settings);
}

const Settings& CurrentSettings() { return State(); }

bool IsVerbose(int verbosity) { return g_verbosity.load(std::memory_order_relaxed) >= verbosity; }

bool IsVerboseIn(std::string_view area, int verbosity) {
  if (IsVerbose(verbosity)) return true;
  const std::string name(area);
  for (const auto& [pattern, level] : State().modules) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return verbosity <= level;
  }
  return false;
}

}  // namespace berth::log
