// SPDX-License-Identifier: Apache-2.0
// `berth rebalance`; and `berth rebalance plan`: which pods a policy would have moved, where each would go, and why the
// others stay.
#pragma once

#include <string>

#include "berth/base/expected.h"
#include "berth/rebalance/policy.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

class Commands;

void AddRebalanceCommand(Commands& commands);

// The flag --policy. Parsing fills `policy`, which must outlive it.
void AddPolicyFlag(cli::Command& command, std::string& policy);

// The file of the flag, with which an error begins.
Expected<rebalance::Policy> LoadPolicy(const std::string& flag, const std::string& path);

}  // namespace berth::app
