// SPDX-License-Identifier: Apache-2.0
// Expands a profile's plugin sets to the plugins that run, with upstream's rules for multiPoint and the checks of its
// framework constructor. Knows no plugin by name: the caller says which interfaces a plugin implements. Pure functions.
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

// The extension points that a plugin implements; bit numbers are ExtensionPoint values.
using ExtensionPointSet = std::bitset<kExtensionPointCount>;

// Returns what the plugin with this name implements; nullopt when the registry does not have it.
using PluginLookup = std::function<std::optional<ExtensionPointSet>(std::string_view name)>;

struct ExpandedProfile {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::optional<std::int32_t> percentage_of_placements_to_score;
  // The plugins of each point in order. At kScore and kPlacementScore each has its weight, never 0; elsewhere weights
  // are 0.
  PerPoint<std::vector<PluginRef>> plugins;
  // The plugins that any set enables, sorted: the instances that the profile needs.
  std::vector<std::string> plugin_names;
};

// `known` are the existing names. If it is not empty, the error about an unknown name suggests the nearest one.
Expected<ExpandedProfile> ExpandProfile(const Profile& profile, const PluginLookup& lookup,
                                        std::span<const std::string_view> known = {});

// Expands all profiles of a configuration in order. They must use the same queue sort plugin with the same arguments.
Expected<std::vector<ExpandedProfile>> ExpandProfiles(const std::vector<Profile>& profiles, const PluginLookup& lookup,
                                                      std::span<const std::string_view> known = {});

}  // namespace berth::config
