// SPDX-License-Identifier: Apache-2.0
// `berth simulate`: what would become of a cluster if manifests were applied to it and nodes taken away.
#pragma once

namespace berth::app {

class Commands;

void AddSimulateCommand(Commands& commands);

}  // namespace berth::app
