// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/zone_balance/zone_balance_args.h"

#include <string>

#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

void ReadArgs(config::ObjectReader& reader, ZoneBalanceArgs& args) {
  std::string weights = "freeCapacity";
  reader.Read("weights", weights);
  if (weights == "freeCapacity") {
    args.weights = ZoneBalanceArgs::Weights::kFreeCapacity;
  } else if (weights == "equal") {
    args.weights = ZoneBalanceArgs::Weights::kEqual;
  } else {
    reader.errors().NotSupported(reader.PathOf("weights"), weights, {"equal", "freeCapacity"});
  }
}

}  // namespace

Expected<ZoneBalanceArgs> ReadZoneBalanceArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<ZoneBalanceArgs>(names::kZoneBalance, args, ReadArgs);
}

}  // namespace berth::plugins
