// SPDX-License-Identifier: Apache-2.0
// `berth kubelets`: simulated nodes and kubelets for any cluster.
#pragma once

namespace berth::app {

class Commands;

void AddKubeletsCommand(Commands& commands);

}  // namespace berth::app
