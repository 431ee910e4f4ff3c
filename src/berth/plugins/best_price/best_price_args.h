// SPDX-License-Identifier: Apache-2.0
// The arguments of BestPrice, and reading them. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/selector.h"
#include "berth/base/expected.h"
#include "berth/core/config/args.h"

namespace berth::plugins {

// Where `berth price` writes, and what BestPrice reads first.
inline constexpr std::string_view kPriceAnnotation = "berth.dev/price";
// As the scheduler "hightower" of 2016 had it.
inline constexpr std::string_view kHightowerAnnotation = "hightower.com/cost";

// What a price is divided by before nodes are compared.
enum class PriceUnit : std::uint8_t { kNode, kCore, kGib };

// What becomes of nodes without a price.
enum class Unpriced : std::uint8_t { kLast, kRefused, kGivenPrice };

struct PriceRow {
  api::LabelSelector selector;
  std::int64_t price_micro = 0;
};

struct BestPriceArgs {
  static constexpr std::size_t kAnnotationsMax = 16;
  static constexpr std::size_t kTableRowsMax = 10'000;

  // The first of these annotations whose text is a price has a node's price.
  std::vector<std::string> annotations{std::string(kPriceAnnotation), std::string(kHightowerAnnotation)};
  // Prices of nodes that no annotation prices. The first row that matches a node's labels counts.
  std::vector<PriceRow> table;
  PriceUnit per = PriceUnit::kNode;
  Unpriced unpriced = Unpriced::kLast;
  std::int64_t unpriced_micro = 0;  // of kGivenPrice
};

// An error lists all that is wrong, each with its field path.
Expected<BestPriceArgs> ReadBestPriceArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
