// SPDX-License-Identifier: Apache-2.0
// ZoneBalance: a policy of berth's own. Spreads the pods of each owner over zones, without the pods asking for it, in
// the proportion of what the zones have free for them. See README.md in this folder. Within turns only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/zone_balance/zone_balance_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateZoneBalance(const ZoneBalanceArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
