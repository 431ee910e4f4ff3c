// SPDX-License-Identifier: Apache-2.0
// Any text is either a selector with valid requirements or an error.
#include <cstdint>
#include <string_view>

#include "berth/api/selector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::api;
  const auto selector = ParseLabelSelector({reinterpret_cast<const char*>(data), size});
  if (!selector.ok()) {
    BERTH_CHECK(!selector.error().message.empty());
    return 0;
  }
  for (const Requirement& requirement : selector->requirements) BERTH_CHECK(requirement.Validate().ok());
  (void)selector->Matches(StringMap{{"a", "1"}, {"app", "web"}});
  return 0;
}
