// SPDX-License-Identifier: Apache-2.0
// Any text is a price within its bounds or none, any file is a list of such prices or an error of one line, and what is
// made of nodes with any annotations can be shown and sent.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/answers/price_answer.h"
#include "berth/base/check.h"
#include "berth/codec/json_reader.h"
#include "berth/plugins/best_price/price.h"
#include "berth/prices/price_plan.h"

namespace {

using namespace berth;

void CheckChanges(const std::vector<prices::PriceChange>& changes, std::string_view key) {
  for (const prices::PriceChange& change : changes) {
    BERTH_CHECK(answers::ChangeLine(change, key).find('\n') == std::string::npos);
    codec::JsonReader reader({.bytes_max = std::size_t{4} << 20, .depth_max = 8});
    BERTH_CHECK(reader.Parse(prices::ChangePatch(change, key)).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto price = plugins::ParsePrice(text)) {
    BERTH_CHECK(*price >= 0 && *price <= plugins::kPriceMicroMax);
    BERTH_CHECK(plugins::ParsePrice(plugins::FormatPrice(*price)) == price);
  } else {
    BERTH_CHECK(plugins::NotAPrice(text).find('\n') == std::string::npos);
  }
  const std::string key = "berth.dev/price";
  std::vector<prices::PricedNode> nodes(2);
  nodes[0].name = "a";
  nodes[0].instance_type = "m5.large";
  nodes[0].annotations.Set(key, text);
  nodes[1].name = "b";
  for (const std::string& line : answers::PriceTable(nodes, {key}).Lines({}))
    BERTH_CHECK(line.find('\n') == std::string::npos, line);
  CheckChanges(prices::ClearPrices(nodes, key), key);
  const auto file = prices::ParseTypePrices(text);
  if (!file.ok()) {
    BERTH_CHECK(file.error().message.find('\n') == std::string::npos);
    return 0;
  }
  BERTH_CHECK(!file->empty());
  for (const auto& [type, price] : *file) BERTH_CHECK(!type.empty() && plugins::ParsePrice(price));
  CheckChanges(prices::ImportPrices(nodes, key, *file).changes, key);
  return 0;
}
