// SPDX-License-Identifier: Apache-2.0
// KubeSchedulerConfiguration from a file named on the command line.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"
#include "berth/plugins/registry.h"

namespace berth::app {

// Loaded and validated; plugins are not made yet. Errors begin with "--config PATH".
Expected<config::KubeSchedulerConfiguration> LoadConfigurationFile(const std::string& path);

// Loaded with defaults by the gates, and not validated: flags may change it yet. Errors begin with "--config PATH".
Expected<config::KubeSchedulerConfiguration> ReadConfigurationFile(const std::string& path,
                                                                   const config::FeatureGates& gates);

// A line for each field that is set and has no effect in berth, with the reason. Without a file, flags that set such a
// field have said so themselves.
std::vector<std::string> FieldsWithoutEffect(const config::KubeSchedulerConfiguration& configuration,
                                             bool is_from_file);

// A line for each name of a plugin that does not exist where upstream takes no notice: in pluginConfig and among those
// that are disabled. Most are mistyped.
std::vector<std::string> UnnoticedNames(const config::KubeSchedulerConfiguration& configuration,
                                        plugins::KnownPlugins plugins);

}  // namespace berth::app
