// SPDX-License-Identifier: Apache-2.0
// Any body is a report or an error; the words of a report are short, and in one line.
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/plugins/external_health/health_report.h"

namespace {

void Check(const berth::Expected<berth::plugins::HealthReport>& report) {
  if (!report.ok()) {
    BERTH_CHECK(!report.error().message.empty());
    BERTH_CHECK(report.error().message.find('\n') == std::string::npos);
    return;
  }
  for (const auto& [name, word] : report->hosts) {
    BERTH_CHECK(!name.empty());
    BERTH_CHECK(word.words.size() <= berth::plugins::kWordsBytesMax);
    for (const char c : word.words) BERTH_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::plugins;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  Check(ParseNagios(body));
  Check(ParseAlertmanager(body, {}));
  Check(ParseAlertmanager(body, {.node_label = "node", .severities = {"critical"}}));
  Check(ParseJsonHealth(body, {"data.hosts", "name", "state", {"ok"}, "reason"}));
  Check(ParseJsonHealth(body, {"", "name", "state", {"ok"}, ""}));
  return 0;
}
