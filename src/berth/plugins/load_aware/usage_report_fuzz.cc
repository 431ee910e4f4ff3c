// SPDX-License-Identifier: Apache-2.0
// Any body is a report or an error, and so is any annotation; all that a report holds can be counted with.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/base/check.h"
#include "berth/plugins/load_aware/usage_report.h"

namespace {

using berth::plugins::Measurement;

void Check(const std::optional<Measurement>& measured) {
  if (!measured) return;
  BERTH_CHECK(std::isfinite(measured->value) && measured->value >= 0);
  BERTH_CHECK(measured->window >= berth::Duration{0});
}

void Check(const berth::Expected<berth::plugins::UsageReport>& report) {
  if (!report.ok()) {
    BERTH_CHECK(!report.error().message.empty());
    BERTH_CHECK(report.error().message.find('\n') == std::string::npos);
    return;
  }
  for (const auto& [name, node] : report->nodes) {
    BERTH_CHECK(!name.empty());
    Check(node.cpu);
    Check(node.memory);
  }
}

// The three annotations, a line each.
void CheckAnnotations(std::string_view text) {
  berth::api::Node node;
  for (const std::string_view key : {berth::plugins::kCpuUsageAnnotation, berth::plugins::kMemoryUsageAnnotation,
                                     berth::plugins::kUsageTimeAnnotation}) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    node.metadata.annotations.Set(key, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const berth::plugins::AnnotatedUsage usage = berth::plugins::ReadUsageAnnotations(node, std::chrono::minutes(5));
  Check(usage.measured.cpu);
  Check(usage.measured.memory);
  BERTH_CHECK(!usage.refusal || (!usage.measured.cpu && !usage.measured.memory));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::plugins;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  Check(ParseNodeMetrics(body));
  Check(ParsePrometheus(body, {}));
  Check(ParsePrometheus(body, {.resource = MeasuredResource::kMemory, .node_label = "node", .is_percent = true}));
  CheckAnnotations(body);
  return 0;
}
