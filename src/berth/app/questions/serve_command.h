// SPDX-License-Identifier: Apache-2.0
// `berth serve`: the questions over HTTPS, on a cluster that is followed or on a snapshot. Reads only.
#pragma once

namespace berth::app {

class Commands;

void AddServeCommand(Commands& commands);

}  // namespace berth::app
