// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/price_answer.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "berth/plugins/best_price/price.h"
#include "berth/shell/cli/text.h"

namespace berth::answers {

std::string ChangeLine(const prices::PriceChange& change, std::string_view key) {
  return "node/" + cli::Printable(change.node) + ' ' + std::string(key) + (change.after ? '=' + *change.after : "-");
}

cli::Table PriceTable(const std::vector<prices::PricedNode>& nodes, const std::vector<std::string>& keys) {
  constexpr std::size_t kTextMax = 40;
  // Each row has the price, the name and the text that is shown.
  std::vector<std::tuple<std::int64_t, std::string, std::string>> rows;
  for (const prices::PricedNode& node : nodes) {
    std::int64_t price = plugins::kPriceMicroMax + 1;
    std::string shown = "<none>";
    for (const std::string& key : keys) {
      const std::string* text = node.annotations.Find(key);
      if (text == nullptr) continue;
      if (const auto parsed = plugins::ParsePrice(*text)) {
        price = *parsed;
        shown = plugins::FormatPrice(price);
        break;
      }
      if (shown == "<none>") shown = '"' + text->substr(0, kTextMax) + "\" (no price)";
    }
    rows.emplace_back(price, node.name, std::move(shown));
  }
  std::ranges::sort(rows);
  cli::Table table({{"NODE"}, {"PRICE"}});
  for (const auto& [price, name, shown] : rows) table.AddRow({name, shown});
  return table;
}

}  // namespace berth::answers
