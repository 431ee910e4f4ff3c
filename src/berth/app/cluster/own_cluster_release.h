// SPDX-License-Identifier: Apache-2.0
// Which Kubernetes the cluster of `berth demo` and `berth cluster` is, and what its scheduler has of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/framework/release.h"
#include "berth/shell/cli/command.h"

namespace berth::embedded_cluster {
struct EmbeddedClusterOptions;
}

namespace berth::app {

struct OwnClusterRelease {
  std::optional<int> minor;                // --kubernetes-version
  std::vector<std::string> feature_gates;  // --feature-gates, as typed
};

// Parsing fills the second argument of each, which must outlive the parsing.
void AddOwnClusterRelease(cli::Command& command, OwnClusterRelease& release);

// Those of the scheduler; without --kubernetes-version of `otherwise`. Where the release has pod groups, they are on
// unless they are switched off: the API server has them.
Expected<config::FeatureGates> OwnClusterGates(const OwnClusterRelease& release,
                                               int otherwise = framework::kDefaultRelease);

// Fills in release and warnings of a cluster whose scheduler has these gates: who creates a group whose pods are placed
// one by one learns that, and what would change it.
void FollowGates(const config::FeatureGates& gates, embedded_cluster::EmbeddedClusterOptions& cluster);

}  // namespace berth::app
