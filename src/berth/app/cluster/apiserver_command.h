// SPDX-License-Identifier: Apache-2.0
// `berth apiserver`: the embedded API server by itself.
#pragma once

namespace berth::app {

class Commands;

void AddApiServerCommand(Commands& commands);

}  // namespace berth::app
