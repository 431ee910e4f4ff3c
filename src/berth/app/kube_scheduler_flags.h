// SPDX-License-Identifier: Apache-2.0
// Flags of kube-scheduler 1.36 that `berth run` does not have, so that who brings them is told what they are. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace berth::app {

// `flag` with its dashes, without a value: "--bind-address".
inline bool IsKubeSchedulerFlag(std::string_view flag) {
  constexpr auto kFamilies = std::to_array<std::string_view>(
      {"--authentication-", "--authorization-", "--log-", "--requestheader-", "--tls-"});
  constexpr auto kFlags = std::to_array<std::string_view>(
      {"--allow-metric-labels", "--allow-metric-labels-manifest", "--bind-address", "--cert-dir", "--client-ca-file",
       "--contention-profiling", "--disabled-metrics", "--emulated-version", "--feature-gates",
       "--kube-api-content-type", "--logging-format", "--min-compatibility-version", "--permit-address-sharing",
       "--permit-port-sharing", "--pod-max-in-unschedulable-pods-duration", "--profiling",
       "--show-hidden-metrics-for-version", "--vmodule", "--write-config-to"});
  return std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end() ||
         std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](std::string_view family) { return flag.starts_with(family); });
}

}  // namespace berth::app
