// SPDX-License-Identifier: Apache-2.0
// `berth ui`: the page of any cluster, whichever scheduler runs there, or of a snapshot
// or a recording; on loopback, and read-only.
#pragma once

namespace berth::app {

class Commands;

void AddUiCommand(Commands& commands);

}  // namespace berth::app
