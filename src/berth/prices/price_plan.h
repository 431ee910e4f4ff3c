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

namespace berth::prices {

// What matters of a node for its price.
struct PricedNode {
  std::string name;
  api::StringMap annotations;  // those that were asked for
  std::string instance_type;   // of the label, or of the deprecated one; empty: it has neither
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

// A merge patch that touches the annotation alone.
std::string ChangePatch(const PriceChange& change, std::string_view key);

}  // namespace berth::prices
