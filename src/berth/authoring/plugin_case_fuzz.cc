// SPDX-License-Identifier: Apache-2.0
// Any text is either a list of cases that can be run, or a one-line error.
#include <cstdint>
#include <string_view>

#include "berth/authoring/case_run.h"
#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/plugins/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  log::SetLevel(log::Level::kError);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cases = authoring::ParsePluginCases(
      text, "folder", "case",
      [](const std::string&) -> Expected<std::string> { return InvalidError("there are no files here"); });
  if (!cases.ok()) {
    BERTH_CHECK(cases.error().message.find('\n') == std::string::npos, cases.error().message);
    return 0;
  }
  // Scripts have a fuzz target of their own: here Script is an unknown plugin.
  std::vector<config::KnownPlugin> few;
  for (const config::KnownPlugin& plugin : plugins::InTreePlugins()) {
    if (plugin.name != "Script") few.push_back(plugin);
  }
  constexpr std::size_t kRunMax = 4;
  for (std::size_t i = 0; i < cases->size() && i < kRunMax; ++i) (void)authoring::RunPluginCase((*cases)[i], few);
  return 0;
}
