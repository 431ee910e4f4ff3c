// SPDX-License-Identifier: Apache-2.0
// `berth plugin`: tools for authors of plugins, which begin one and test one.
#pragma once

namespace berth::app {

class Commands;

void AddPluginCommand(Commands& commands);

}  // namespace berth::app
