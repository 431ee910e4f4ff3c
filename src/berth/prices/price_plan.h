// SPDX-License-Identifier: Apache-2.0
// What `berth price` wants of each node: prices read, drawn by chance, taken from a file, taken away. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/meta.h"
#include "berth/base/expected.h"
#include "berth/shell/cli/table.h"

namespace berth::prices {

// A node as far as its price goes.
struct PricedNode {
  std::string name;
  api::StringMap annotations;  // those that were asked for
  std::string instance_type;   // by its label, or by the one of old; empty: it says none
};

// The annotation of one node, before and after; nullopt: it has none.
struct PriceChange {
  std::string node;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

// Each node, in the order of names, gets one of 0.05, 0.10, 0.20, 0.40, 0.80 and 1.60, with equal chance.
std::vector<PriceChange> RandomPrices(const std::vector<PricedNode>& nodes, std::string_view key, std::uint64_t seed);

// Instance type to price, from a file with comma-separated values: a header line that names the columns instance_type
// and price (case, spaces, '-' and '_' make no difference; others are left alone), then one type a line. Errors say the
// line.
using TypePrices = std::map<std::string, std::string, std::less<>>;
Expected<TypePrices> ParseTypePrices(std::string_view text);

struct ImportPlan {
  std::vector<PriceChange> changes;
  std::map<std::string, std::size_t> unknown_types;  // types that have no price, with their number of nodes
  std::size_t nodes_without_type = 0;
};
ImportPlan ImportPrices(const std::vector<PricedNode>& nodes, std::string_view key, const TypePrices& prices);

// The nodes that have the annotation.
std::vector<PriceChange> ClearPrices(const std::vector<PricedNode>& nodes, std::string_view key);

// "node/a berth.dev/price=0.10" or, without a price afterwards, "node/a berth.dev/price-", as kubectl writes it.
std::string ChangeLine(const PriceChange& change, std::string_view key);
// A merge patch that touches the annotation alone.
std::string ChangePatch(const PriceChange& change, std::string_view key);

// The cheapest first, then by name; nodes without a price last. Of `keys` the first whose text is a price counts.
cli::Table PriceTable(const std::vector<PricedNode>& nodes, const std::vector<std::string>& keys);

}  // namespace berth::prices
