// SPDX-License-Identifier: Apache-2.0
// Upstream's defaults: the default plugins, their order, weights and arguments, and how a
// profile's own sets are merged over them. Pure functions.
#pragma once

#include <string_view>

#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// The default plugins: all of them in multiPoint, in their order, the scoring ones with their weights.
// `gates` decide about NodeDeclaredFeatures, and their release about the order.
Plugins DefaultPlugins(const FeatureGates& gates = {});

// A user's set over a default one: defaults that are disabled go, a default that is enabled again is replaced in place,
// the rest is appended in the user's order. The disabled names stay: the expansion of multiPoint needs them.
PluginSet MergePluginSet(const PluginSet& defaults, const PluginSet& custom);

// The default arguments of an in-tree plugin; monostate for one that takes none and for names upstream does not know.
PluginArgs DefaultArgs(std::string_view plugin, const FeatureGates& gates = {});

// Merges `profile`'s sets over the default plugins, and adds the default arguments of every plugin that has none, by
// name.
void ApplyDefaults(Profile& profile, const FeatureGates& gates = {});

// What runs without a configuration file: one profile, "default-scheduler", with the default plugins.
KubeSchedulerConfiguration DefaultConfiguration(const FeatureGates& gates = {});

}  // namespace berth::config
