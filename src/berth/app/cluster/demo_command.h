// SPDX-License-Identifier: Apache-2.0
// `berth demo`: berth at work on an embedded cluster.
#pragma once

namespace berth::app {

class Commands;

void AddDemoCommand(Commands& commands);

}  // namespace berth::app
