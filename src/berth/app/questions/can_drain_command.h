// SPDX-License-Identifier: Apache-2.0
// `berth can-drain`: what draining nodes would do to their pods.
#pragma once

namespace berth::app {

class Commands;

void AddCanDrainCommand(Commands& commands);

}  // namespace berth::app
