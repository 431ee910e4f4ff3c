// SPDX-License-Identifier: Apache-2.0
// Any text is refused, or evaluates within its limits, with the same result twice.
#include <cstdint>
#include <string_view>

#include "berth/languages/cel/device.h"

namespace {

berth::cel::Device MakeDevice() {
  using berth::cel::DeviceVersion;
  return {"d",
          true,
          {{"int", std::int64_t{3}},
           {"bool", true},
           {"string", std::string("fish")},
           {"version", DeviceVersion{"1.2.3"}},
           {"list", std::vector<std::int64_t>{1, 2, 3}}},
          {{"memory", berth::api::Quantity::FromValue(1024)}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::cel::DeviceFeatures;
  using berth::cel::DeviceInput;
  using berth::cel::DeviceSelector;
  constexpr DeviceFeatures kFeatures{true};
  constexpr std::uint64_t kCostMax = 20'000;
  static const DeviceInput kDevice = *DeviceInput::Make(MakeDevice(), kFeatures);
  const auto selector = DeviceSelector::Compile({reinterpret_cast<const char*>(data), size}, kFeatures);
  if (!selector.ok()) {
    BERTH_CHECK(!selector.error().message.empty());
    return 0;
  }
  const auto first = selector->Matches(kDevice, kCostMax);
  const auto second = selector->Matches(kDevice, kCostMax);
  BERTH_CHECK(first.cost == second.cost && first.matches.ok() == second.matches.ok());
  if (first.matches.ok()) BERTH_CHECK(*first.matches == *second.matches && first.cost <= kCostMax);
  return 0;
}
