// SPDX-License-Identifier: Apache-2.0
// Any text is a configuration or an error: loading, checking and expanding must not crash, hang or exhaust memory.
#include <cstdint>
#include <string_view>

#include "berth/core/config/expand.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::config;
  const auto configuration = LoadConfiguration({reinterpret_cast<const char*>(data), size});
  if (!configuration.ok()) {
    BERTH_CHECK(!configuration.error().message.empty());
    return 0;
  }
  (void)ValidateConfiguration(*configuration);
  // Every name is a plugin with all points, so that as much as possible is expanded.
  (void)ExpandProfiles(configuration->profiles, [](std::string_view) { return ExtensionPointSet().set(); });
  return 0;
}
