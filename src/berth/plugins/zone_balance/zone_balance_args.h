// SPDX-License-Identifier: Apache-2.0
// The arguments of ZoneBalance. Plain values.
#pragma once

#include <cstdint>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"

namespace berth::plugins {

struct ZoneBalanceArgs {
  // What tells how many pods a zone is due.
  enum class Weights : std::uint8_t {
    kFreeCapacity,
    kEqual,
  };
  Weights weights = Weights::kFreeCapacity;
};

Expected<ZoneBalanceArgs> ReadZoneBalanceArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
