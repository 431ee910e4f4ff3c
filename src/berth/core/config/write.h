// SPDX-License-Identifier: Apache-2.0
// Writes a configuration as a KubeSchedulerConfiguration file with every default, as kube-scheduler's --write-config-to
// does. Pure.
#pragma once

#include <string>

#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// YAML. multiPoint is not expanded; arguments are those of the plugins that the profile enables, sorted by name.
// `configuration` must be loaded (with defaults) and validated.
std::string WriteConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates = {});

// The same for logs, pages and recordings, which more people read than the file: without private keys, without user and
// password in URLs, and with "xxxxx" for values in plugins' arguments that are named like a password, a secret or a
// token.
std::string ShowConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates = {});

}  // namespace berth::config
