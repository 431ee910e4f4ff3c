// SPDX-License-Identifier: Apache-2.0
// `berth cluster`: a development cluster with API server, nodes, controllers and scheduler.
#pragma once

namespace berth::app {

class Commands;

void AddClusterCommand(Commands& commands);

}  // namespace berth::app
