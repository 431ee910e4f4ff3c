// SPDX-License-Identifier: Apache-2.0
// The answer of `berth explain podgroup` as lines and as JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/group_explanation.h"

namespace berth::answers {

// `is_wide`: each pod's whole reason, in place of its first sentence.
std::vector<std::string> GroupLines(const whatif::GroupExplanation& said, bool is_wide, const cli::Table::Style& style);
codec::json::object GroupJson(const whatif::GroupExplanation& said);

}  // namespace berth::answers
