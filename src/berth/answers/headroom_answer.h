// SPDX-License-Identifier: Apache-2.0
// The answer of `berth headroom` as lines for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/headroom.h"

namespace berth::answers {

// `is_wide` adds priorities, pending pods, and of the loss that is not survived all nodes and the reasons.
std::vector<std::string> HeadroomLines(const whatif::Headroom& headroom, bool is_wide, const cli::Table::Style& style);

// docs/capacity.md describes the fields.
codec::json::object HeadroomJson(const whatif::Headroom& headroom);

}  // namespace berth::answers
