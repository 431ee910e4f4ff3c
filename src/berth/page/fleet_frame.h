// SPDX-License-Identifier: Apache-2.0
// The fleet frame of docs/reference/page-api.yaml: rows as columns. A pure function of the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/page/fleet_rows.h"

namespace berth::page {

inline constexpr std::string_view kFleetFrameType = "application/vnd.berth.fleet.v4";

// Bits of the columns node.flags and pod.flags.
namespace node_flags {
inline constexpr std::uint16_t kCordoned = 1, kTainted = 2, kNotReady = 4, kSpot = 8, kUnderPressure = 16,
                               kUnknown = 32;
}
namespace pod_flags {
inline constexpr std::uint16_t kPhaseMask = 7, kDeleted = 8, kGated = 16, kNominated = 32, kEnded = 64, kOfNode = 128,
                               kRefused = 256;
}

struct FleetFrameOptions {
  std::uint32_t epoch = 0;
  std::uint32_t revision = 0;
  std::optional<std::uint32_t> base;  // a delta: only what has changed since
  std::size_t pod_rows_max = 0;       // of more pods there is no row for each
  std::size_t owner_rows_max = 0;     // then, owners that are named
};

std::string WriteFleetFrame(const FleetRows& rows, const FleetSchema& schema, const FleetFrameOptions& options);
// The pods on some nodes and nothing else.
std::string WriteFleetPart(const FleetRows& rows, const FleetSchema& schema, const FleetFrameOptions& options,
                           const std::vector<RowId>& nodes);

// "key=value:NoSchedule, other:NoExecute".
std::string TaintsText(const api::Node& node);
std::string_view TaintEffectName(api::TaintEffect effect);
// Per hour, from the annotations that the policy best-price reads.
std::optional<double> PriceOf(const api::Node& node);
std::uint16_t NodeFlags(const NodeRow& row);
std::uint16_t PodFlags(const api::Pod& pod);

}  // namespace berth::page
