// SPDX-License-Identifier: Apache-2.0
// The answer of `berth explain podgroup` as lines and as JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/group_explanation.h"

namespace berth::whatif {

// `is_wide`: all that is told of each pod, in place of the beginning.
std::vector<std::string> GroupLines(const GroupExplanation& said, bool is_wide, const cli::Table::Style& style);
codec::json::object GroupJson(const GroupExplanation& said);

}  // namespace berth::whatif
