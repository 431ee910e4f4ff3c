// SPDX-License-Identifier: Apache-2.0
// The arguments of PodGroupReservation.
#pragma once

#include <chrono>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/args.h"

namespace berth::plugins {

struct PodGroupReservationArgs {
  Duration after = std::chrono::minutes(1);  // how long a group waits before room is kept for it; 0 or more
};

Expected<PodGroupReservationArgs> ReadPodGroupReservationArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
