// SPDX-License-Identifier: Apache-2.0
// The table of FeatureGates for all followed releases. tests/e2e/gates, a program linked with kube-scheduler, prints
// the rows of one release.
#pragma once

#include <span>

#include "berth/core/config/feature_gates.h"

namespace berth::config {

// Sorted by name.
std::span<const GateRow> FeatureGateTable();

struct GateDependency {
  std::string_view name;
  std::string_view needs;  // gate names, separated by spaces
  int first_release = framework::kOldestRelease;
  int last_release = framework::kNewestRelease;

  bool IsIn(int release_minor) const { return first_release <= release_minor && release_minor <= last_release; }
};
std::span<const GateDependency> FeatureGateDependencies();

}  // namespace berth::config
