// SPDX-License-Identifier: Apache-2.0
// The ready profiles of deploy/config, for the property tests of policies. Tests only.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/testing/source_path.h"

namespace berth::plugins {

// `handle` must outlive the plugins.
inline std::vector<std::unique_ptr<runtime::ProfilePlugins>> ReadyPlugins(const std::string& name,
                                                                          framework::Handle& handle) {
  std::ifstream file(testing::SourcePath("deploy/config/" + name + ".yaml"));
  std::stringstream text;
  text << file.rdbuf();
  const auto configuration = config::LoadConfiguration(text.str());
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  const auto valid = config::ValidateConfiguration(*configuration);
  BERTH_CHECK(valid.ok(), valid.error().message);
  auto made = runtime::MakeProfiles(*configuration, InTreePlugins(), handle);
  BERTH_CHECK(made.ok(), made.error().message);
  return std::move(*made);
}

// The same profile for a whole core.
inline scheduler::Profiles ReadyProfile(const std::string& name) {
  scheduler::Profiles profiles;
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = ReadyPlugins(name, *profiles.handle);
  return profiles;
}

// The node that the pod was bound to just now, confirmed as the API server would; empty: none.
inline std::string Bound(scheduler::Harness& harness, const testing::PodBuilder& pod) {
  const std::string prefix = "bind " + pod.Build().metadata.name + " to ";
  for (const std::string& line : harness.Take()) {
    if (!line.starts_with(prefix)) continue;
    const std::string node = line.substr(prefix.size());
    harness.Answer();
    harness.Set(testing::PodBuilder(pod).Node(node));
    (void)harness.Take();
    return node;
  }
  return "";
}

}  // namespace berth::plugins
