// SPDX-License-Identifier: Apache-2.0
// `berth buy` and `berth buy-catalogue`.
#pragma once

namespace berth::app {

class Commands;

void AddBuyCommand(Commands& commands);

}  // namespace berth::app
