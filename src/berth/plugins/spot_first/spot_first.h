// SPDX-License-Identifier: Apache-2.0
// SpotFirst: a policy of berth's own. Spot nodes before on-demand ones, which are for what the spot nodes have no room
// for; a pod may insist on spot nodes or stay off them, and a share of each controller's pods may have to run on
// demand. See README.md in this folder. Within turns only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/spot_first/spot_first_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateSpotFirst(const SpotFirstArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
