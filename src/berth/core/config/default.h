// SPDX-License-Identifier: Apache-2.0
// Upstream's defaults: the default plugins with their order, weights and arguments, and the merging of a profile's own
// sets into them. Pure functions.
#pragma once

#include <string_view>

#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// The default plugins: all of them in multiPoint, in order, with the weights of scoring ones. `gates` determine if
// NodeDeclaredFeatures is included, and their release determines the order.
Plugins DefaultPlugins(const FeatureGates& gates = {});

// Merges a user's set into a default one: disabled defaults are removed, a default that is enabled again is replaced in
// place, and the rest is appended in the user's order. The disabled names are kept, because the expansion of multiPoint
// needs them.
PluginSet MergePluginSet(const PluginSet& defaults, const PluginSet& custom);

// The default arguments of an in-tree plugin; monostate for a plugin without arguments and for names that upstream does
// not know.
PluginArgs DefaultArgs(std::string_view plugin, const FeatureGates& gates = {});

// Merges the profile's sets into the default plugins, and adds default arguments for each plugin without any, sorted by
// name.
void ApplyDefaults(Profile& profile, const FeatureGates& gates = {});

// The defaults of all profiles and of fields that depend on feature gates.
void ApplyDefaults(KubeSchedulerConfiguration& configuration, const FeatureGates& gates);

// The configuration without a file: one profile, "default-scheduler", with the default plugins.
KubeSchedulerConfiguration DefaultConfiguration(const FeatureGates& gates = {});

}  // namespace berth::config
