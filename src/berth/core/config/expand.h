// SPDX-License-Identifier: Apache-2.0
// From a profile's plugin sets to the plugins that run: upstream's expansion of multiPoint and the checks of its
// framework constructor. Knows no plugin by name: what a plugin implements is the caller's to say. Pure functions.
#pragma once

#include <bitset>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/types.h"

namespace berth::config {

// Which extension points a plugin implements; the bit is the ExtensionPoint's value.
using ExtensionPointSet = std::bitset<kExtensionPointCount>;

// What the plugin of this name implements; nullopt when the registry has none.
using PluginLookup = std::function<std::optional<ExtensionPointSet>(std::string_view name)>;

struct ExpandedProfile {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  // The plugins that run at each point, in order. At kScore and kPlacementScore each has its weight, never 0;
  // elsewhere weights are 0.
  PerPoint<std::vector<PluginRef>> plugins;
  // Every plugin that some set enables, sorted: the instances that the profile needs.
  std::vector<std::string> plugin_names;
};

// `known` are the names that there are: where it is not empty, the error about a name that there is not ends with the
// nearest of them.
Expected<ExpandedProfile> ExpandProfile(const Profile& profile, const PluginLookup& lookup,
                                        std::span<const std::string_view> known = {});

// All profiles of a configuration, in order; they must share one queue sort plugin with the same arguments.
Expected<std::vector<ExpandedProfile>> ExpandProfiles(const std::vector<Profile>& profiles, const PluginLookup& lookup,
                                                      std::span<const std::string_view> known = {});

}  // namespace berth::config
