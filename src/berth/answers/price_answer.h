// SPDX-License-Identifier: Apache-2.0
// What `berth price` prints of nodes and of changes to them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/prices/price_plan.h"
#include "berth/shell/cli/table.h"

namespace berth::answers {

// "node/a berth.dev/price=0.10" or, without a price afterwards, "node/a berth.dev/price-", as kubectl writes it.
std::string ChangeLine(const prices::PriceChange& change, std::string_view key);

// The cheapest first, then by name; nodes without a price last. Of `keys` the first whose text is a price counts.
cli::Table PriceTable(const std::vector<prices::PricedNode>& nodes, const std::vector<std::string>& keys);

}  // namespace berth::answers
