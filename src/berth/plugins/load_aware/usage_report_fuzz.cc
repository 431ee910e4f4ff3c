// Any body is a report or an error, and all that a report holds can be counted with.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/plugins/load_aware/usage_report.h"

namespace {

void Check(const berth::Expected<berth::plugins::UsageReport>& report) {
  if (!report.ok()) {
    BERTH_CHECK(!report.error().message.empty());
    BERTH_CHECK(report.error().message.find('\n') == std::string::npos);
    return;
  }
  for (const auto& [name, node] : report->nodes) {
    BERTH_CHECK(!name.empty());
    for (const auto* one : {&node.cpu, &node.memory}) {
      if (!*one) continue;
      BERTH_CHECK(std::isfinite((*one)->value) && (*one)->value >= 0);
      BERTH_CHECK((*one)->window >= berth::Duration{0});
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::plugins;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  Check(ParseNodeMetrics(body));
  Check(ParsePrometheus(body, {}));
  return 0;
}
