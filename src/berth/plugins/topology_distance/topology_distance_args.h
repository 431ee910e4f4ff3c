// SPDX-License-Identifier: Apache-2.0
// The arguments of TopologyDistance. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"

namespace berth::plugins {

// Sums over all pods of a cluster, times its nodes, stay far below kRawScoreMax.
inline constexpr std::int64_t kTopologyDistanceMax = 10'000;
inline constexpr std::size_t kTopologyLevelsMax = 8;

struct TopologyDistanceArgs {
  struct Level {
    std::string key;            // of the nodes' label
    std::int64_t distance = 0;  // between nodes in one domain of it, and in none of a narrower level
  };
  std::vector<Level> levels;      // the narrowest first; distances grow
  std::int64_t max_distance = 0;  // between nodes that no level joins
  std::string peer_label;         // of pods in no pod group; empty: none
  bool by_controller = false;     // of pods that have neither
};

Expected<TopologyDistanceArgs> ReadTopologyDistanceArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
