// SPDX-License-Identifier: Apache-2.0
// `berth shadow`: decides beside the scheduler of a cluster, and reports how far the two agree.
#pragma once

namespace berth::app {

class Commands;

void AddShadowCommand(Commands& commands);

}  // namespace berth::app
