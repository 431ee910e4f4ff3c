// SPDX-License-Identifier: Apache-2.0
// Loads a KubeSchedulerConfiguration from a file named on the command line.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"

namespace berth::app {

// Loads and validates a configuration, without creating plugins. Errors begin with `name`, which is how its text is
// called.
Expected<config::KubeSchedulerConfiguration> LoadConfigurationText(const std::string& name, const std::string& text,
                                                                   const config::FeatureGates& gates = {});

// The same of a file. Errors begin with "--config PATH".
Expected<config::KubeSchedulerConfiguration> LoadConfigurationFile(const std::string& path,
                                                                   const config::FeatureGates& gates = {});

// Loads it with the defaults that `gates` imply. Does not validate it, since flags may still change it. Errors begin
// with "--config PATH".
Expected<config::KubeSchedulerConfiguration> ReadConfigurationFile(const std::string& path,
                                                                   const config::FeatureGates& gates);

// An error about what is in that file: "--config PATH:LINE: profiles[0].schedulerName: ...", the line being that of the
// first field that it names.
Error InConfigurationFile(const std::string& path, const Error& error);

// One line with the reason for each field that is set but has no effect in berth. If the configuration is not from a
// file, fields that a flag sets are left out: the flag's own warning has named them.
std::vector<std::string> FieldsWithoutEffect(const config::KubeSchedulerConfiguration& configuration,
                                             bool is_from_file);

// One line for each unknown plugin name in pluginConfig and among disabled plugins, where upstream ignores it. Most of
// them are typing errors.
std::vector<std::string> UnnoticedNames(const config::KubeSchedulerConfiguration& configuration,
                                        config::KnownPlugins plugins);

}  // namespace berth::app
