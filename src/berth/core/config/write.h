// SPDX-License-Identifier: Apache-2.0
// A configuration as a KubeSchedulerConfiguration file, with every default written out: what kube-scheduler's
// --write-config-to writes. Pure.
#pragma once

#include <string>

#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"

namespace berth::config {

// YAML. multiPoint is not expanded; arguments are those of the plugins that the profile enables, by name.
// `configuration` has been loaded (defaults are in place) and validated.
std::string WriteConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates = {});

// The same for logs, pages and recordings, which more people read than the file: without private keys, without user and
// password of URLs, and with "xxxxx" for what plugins' arguments call a password, a secret or a token.
std::string ShowConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates = {});

}  // namespace berth::config
