// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/plugin_args.h"

namespace berth::framework {

PluginArgs::~PluginArgs() = default;

}  // namespace berth::framework
