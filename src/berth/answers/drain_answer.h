// SPDX-License-Identifier: Apache-2.0
// The answer of `berth can-drain` as lines for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/drain.h"

namespace berth::answers {

// `is_wide` adds the owners, and the pods that stay.
std::vector<std::string> DrainLines(const whatif::DrainPlan& plan, bool is_wide, const cli::Table::Style& style);

// docs/capacity.md describes the fields.
codec::json::object DrainJson(const whatif::DrainPlan& plan);

}  // namespace berth::answers
