// SPDX-License-Identifier: Apache-2.0
// `berth price`: edits the prices of nodes on any cluster, as annotations for the policy best-price.
#pragma once

namespace berth::app {

class Commands;

void AddPriceCommand(Commands& commands);

}  // namespace berth::app
