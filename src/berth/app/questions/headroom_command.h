// SPDX-License-Identifier: Apache-2.0
// `berth headroom`: how many node losses each workload of a cluster survives.
#pragma once

namespace berth::app {

class Commands;

void AddHeadroomCommand(Commands& commands);

}  // namespace berth::app
