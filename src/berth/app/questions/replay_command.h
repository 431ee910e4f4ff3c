// SPDX-License-Identifier: Apache-2.0
// `berth replay`: a recorded run once more.
#pragma once

namespace berth::app {

class Commands;

void AddReplayCommand(Commands& commands);

}  // namespace berth::app
