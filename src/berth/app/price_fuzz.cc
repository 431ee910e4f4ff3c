// Any text is a price within its bounds or none, and any file is a list of such prices or an error of one line.
#include <cstdint>
#include <string_view>

#include "berth/app/price_plan.h"
#include "berth/base/check.h"
#include "berth/plugins/best_price/price.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto price = plugins::ParsePrice(text)) {
    BERTH_CHECK(*price >= 0 && *price <= plugins::kPriceMicroMax);
    BERTH_CHECK(plugins::ParsePrice(plugins::FormatPrice(*price)) == price);
  } else {
    BERTH_CHECK(plugins::NotAPrice(text).find('\n') == std::string::npos);
  }
  const auto file = app::ParseTypePrices(text);
  if (!file.ok()) {
    BERTH_CHECK(file.error().message.find('\n') == std::string::npos);
    return 0;
  }
  BERTH_CHECK(!file->empty());
  for (const auto& [type, price] : *file) BERTH_CHECK(!type.empty() && plugins::ParsePrice(price));
  return 0;
}
