// SPDX-License-Identifier: Apache-2.0
// The answer of `berth explain --pending` as lines for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"
#include "berth/whatif/pending_pods.h"

namespace berth::answers {

std::vector<std::string> PendingLines(const whatif::PendingPods& pending, const cli::Table::Style& style);

codec::json::object PendingJson(const whatif::PendingPods& pending);
// The JSON without how long pods have waited: two answers that say the same have the same facts.
codec::json::object PendingFacts(const whatif::PendingPods& pending);

}  // namespace berth::answers
