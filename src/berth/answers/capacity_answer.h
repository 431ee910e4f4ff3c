// SPDX-License-Identifier: Apache-2.0
// The answer of `berth capacity` as lines for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/capacity.h"

namespace berth::answers {

// `is_wide` adds what a pod requests and how many pods each node takes.
std::vector<std::string> CapacityLines(const whatif::Capacity& capacity, bool is_wide, const cli::Table::Style& style);

// docs/capacity.md describes the fields.
codec::json::object CapacityJson(const whatif::Capacity& capacity);

}  // namespace berth::answers
