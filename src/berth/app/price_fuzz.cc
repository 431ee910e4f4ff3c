// Any text is a price within its bounds or none, any file is a list of such prices or an error of one line, and what is
// made of nodes with any annotations can be shown and sent.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/app/price_plan.h"
#include "berth/base/check.h"
#include "berth/codec/json_reader.h"
#include "berth/plugins/best_price/price.h"

namespace {

using namespace berth;

void CheckChanges(const std::vector<app::PriceChange>& changes, std::string_view key) {
  for (const app::PriceChange& change : changes) {
    BERTH_CHECK(app::ChangeLine(change, key).find('\n') == std::string::npos);
    codec::JsonReader reader({.bytes_max = std::size_t{4} << 20, .depth_max = 8});
    BERTH_CHECK(reader.Parse(app::ChangePatch(change, key)).ok());
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
  std::vector<app::PricedNode> nodes(2);
  nodes[0].name = "a";
  nodes[0].instance_type = "m5.large";
  nodes[0].annotations.Set(key, text);
  nodes[1].name = "b";
  for (const std::string& line : app::PriceTable(nodes, {key}).Lines({}))
    BERTH_CHECK(line.find('\n') == std::string::npos, line);
  CheckChanges(app::ClearPrices(nodes, key), key);
  const auto file = app::ParseTypePrices(text);
  if (!file.ok()) {
    BERTH_CHECK(file.error().message.find('\n') == std::string::npos);
    return 0;
  }
  BERTH_CHECK(!file->empty());
  for (const auto& [type, price] : *file) BERTH_CHECK(!type.empty() && plugins::ParsePrice(price));
  CheckChanges(app::ImportPrices(nodes, key, *file).changes, key);
  return 0;
}
