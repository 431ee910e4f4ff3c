// SPDX-License-Identifier: Apache-2.0
// `berth snapshot`: a cluster's state into a file (whatif/snapshot_file.h).
#pragma once

namespace berth::app {

class Commands;

void AddSnapshotCommand(Commands& commands);

}  // namespace berth::app
