// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log_settings.h"

#include <algorithm>
#include <atomic>

#include <fnmatch.h>

namespace berth::log {
namespace {

// A copy of the verbosity for hot paths, which need not read the settings.
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

void SetVerbosity(int verbosity) { g_verbosity.store(verbosity, std::memory_order_relaxed); }

bool IsVerboseIn(std::span<const std::string_view> names, int verbosity) {
  if (IsVerbose(verbosity)) return true;
  for (const auto& [pattern, level] : State().modules) {
    const auto matches = [&](std::string_view name) {
      return !name.empty() && fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
    };
    if (std::any_of(names.begin(), names.end(), matches)) return verbosity <= level;
  }
  return false;
}

}  // namespace berth::log
