// SPDX-License-Identifier: Apache-2.0
// `berth capacity`: how many more pods of a shape fit into a cluster.
#pragma once

namespace berth::app {

class Commands;

void AddCapacityCommand(Commands& commands);

}  // namespace berth::app
