// SPDX-License-Identifier: Apache-2.0
// The arguments of SpotFirst. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"
#include "berth/plugins/spot_first/spot_labels.h"

namespace berth::plugins {

// On a pod: its SpotWish.
inline constexpr std::string_view kSpotAnnotation = "berth.dev/spot";

// Which nodes a pod wants.
enum class SpotWish : std::uint8_t {
  kPreferred,  // spot nodes first, others when those are full
  kRequired,   // spot nodes and no others
  kNever,      // no spot node
};

// "preferred", "required" and "never"; nullopt for anything else.
std::optional<SpotWish> ParseSpotWish(std::string_view text);

struct SpotFirstArgs {
  std::vector<SpotLabels::Label> spot_labels;  // beside those that are known
  // The percentage of each controller's pods, rounded up, that have to run on demand.
  std::int32_t on_demand_share = 0;
  SpotWish default_wish = SpotWish::kPreferred;  // of pods without the annotation
};

Expected<SpotFirstArgs> ReadSpotFirstArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
