// SPDX-License-Identifier: Apache-2.0
// The rows of FeatureGates: printed by tests/e2e/gates, a program that is linked with kube-scheduler.
#pragma once

#include <span>

#include "berth/core/config/feature_gates.h"

namespace berth::config {

// By name.
std::span<const GateRow> FeatureGateTable();

struct GateDependency {
  std::string_view name;
  std::string_view needs;  // gates, separated by spaces
};
std::span<const GateDependency> FeatureGateDependencies();

}  // namespace berth::config
