// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/load_aware/usage_report.h"

#include <cmath>
#include <variant>

#include "berth/api/quantity.h"
#include "berth/codec/json_reader.h"
#include "berth/plugins/helper/instant_vector.h"
#include "berth/plugins/helper/outside_source.h"

namespace berth::plugins {
namespace {

using simdjson::dom::element;

constexpr codec::ReadLimits kLimits{std::size_t{64} << 20, 64};

void Count(UsageReport& report, Refusal refusal) { ++report.refused[static_cast<std::size_t>(refusal)]; }

std::optional<Refusal> RefusalOfShare(double share) {
  if (share < 0) return Refusal::kNegative;
  if (share > kShareMax) return Refusal::kImplausible;
  return std::nullopt;
}

// The amount in nanos, or why it does not count.
std::variant<double, Refusal> ReadAmount(std::string_view text) {
  const auto quantity = api::Quantity::Parse(text);
  if (!quantity.ok()) return Refusal::kNotANumber;
  if (quantity->IsNegative()) return Refusal::kNegative;
  return static_cast<double>(quantity->nanos());
}

void ReadNodeMetrics(element item, UsageReport& report) {
  const auto metadata = codec::FindMember(item, "metadata");
  const auto usage = codec::FindMember(item, "usage");
  const std::string_view name = metadata ? codec::StringOrEmpty(*metadata, "name") : std::string_view();
  if (name.empty()) return;
  const std::optional<Time> at = ParseRfc3339(codec::StringOrEmpty(item, "timestamp"));
  if (!at) return Count(report, Refusal::kBadTime);
  const auto window = ParseGoDuration(codec::StringOrEmpty(item, "window")).value_or(Duration{0});
  NodeMeasurements measured;
  for (const bool is_cpu : {true, false}) {
    const auto text = usage ? codec::FindString(*usage, is_cpu ? "cpu" : "memory") : std::nullopt;
    const auto amount = text ? ReadAmount(*text) : Refusal::kNotANumber;
    if (const auto* refusal = std::get_if<Refusal>(&amount)) return Count(report, *refusal);
    constexpr double kNanosPerMilli = 1e6;
    constexpr double kNanosPerUnit = 1e9;
    const double value = std::get<double>(amount) / (is_cpu ? kNanosPerMilli : kNanosPerUnit);
    (is_cpu ? measured.cpu : measured.memory) = Measurement{value, at, std::max(window, Duration{0})};
  }
  report.nodes.insert_or_assign(std::string(name), measured);
}

void ReadSeries(element item, const PrometheusFormat& format, UsageReport& report) {
  const auto labels = codec::FindMember(item, "metric");
  const std::string_view name =
      labels ? WithoutPort(codec::StringOrEmpty(*labels, format.node_label)) : std::string_view();
  if (name.empty()) return;
  const auto value = InstantValueOf(item);
  if (!value) return Count(report, Refusal::kNotANumber);
  const std::optional<Time> at = value->at();
  if (!at) return Count(report, Refusal::kBadTime);
  const auto number = ParseNumber(value->text);
  if (!number) return Count(report, Refusal::kNotANumber);
  const double share = format.is_percent ? *number / 100 : *number;
  if (const auto refusal = RefusalOfShare(share)) return Count(report, *refusal);
  NodeMeasurements& node = report.nodes[std::string(name)];
  std::optional<Measurement>& known = format.resource == MeasuredResource::kCpu ? node.cpu : node.memory;
  if (!known || known->value < share) known = Measurement{share, at, format.window};
}

std::optional<Refusal> ReadShare(std::string_view text, std::optional<Time> at, Duration window,
                                 std::optional<Measurement>& out) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto percent = ParseNumber(text);
  if (!percent) return Refusal::kNotANumber;
  if (const auto refusal = RefusalOfShare(*percent / 100)) return refusal;
  out = Measurement{*percent / 100, at, window};
  return std::nullopt;
}

}  // namespace

std::string_view ToString(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNotANumber: return "not_a_number";
    case Refusal::kNegative: return "negative";
    case Refusal::kImplausible: return "implausible";
    case Refusal::kFuture: return "future";
    case Refusal::kBadTime: return "bad_time";
  }
  return "";
}

Expected<UsageReport> ParseNodeMetrics(std::string_view body) {
  codec::JsonReader reader(kLimits);
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  const auto items = codec::FindArray(root, "items");
  if (!items) return InvalidError("no list of node metrics: it has no \"items\"");
  UsageReport report;
  for (const element item : *items) ReadNodeMetrics(item, report);
  return report;
}

Expected<UsageReport> ParsePrometheus(std::string_view body, const PrometheusFormat& format) {
  codec::JsonReader reader(kLimits);
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(body));
  BERTH_ASSIGN_OR_RETURN(const simdjson::dom::array series, SeriesOf(root, "Prometheus"));
  UsageReport report;
  for (const element item : series) ReadSeries(item, format, report);
  return report;
}

AnnotatedUsage ReadUsageAnnotations(const api::Node& node, Duration window) {
  const api::StringMap& annotations = node.metadata.annotations;
  const std::string* cpu = annotations.Find(kCpuUsageAnnotation);
  const std::string* memory = annotations.Find(kMemoryUsageAnnotation);
  AnnotatedUsage usage;
  if (cpu == nullptr && memory == nullptr) return usage;
  std::optional<Time> at;
  if (const std::string* time = annotations.Find(kUsageTimeAnnotation)) {
    at = ParseRfc3339(*time);
    if (!at) usage.refusal = Refusal::kBadTime;
    usage.refused = kUsageTimeAnnotation;
  }
  if (!usage.refusal && cpu != nullptr) {
    usage.refusal = ReadShare(*cpu, at, window, usage.measured.cpu);
    usage.refused = kCpuUsageAnnotation;
  }
  if (!usage.refusal && memory != nullptr) {
    usage.refusal = ReadShare(*memory, at, window, usage.measured.memory);
    usage.refused = kMemoryUsageAnnotation;
  }
  if (usage.refusal) {
    usage.measured = {};
  } else {
    usage.refused = {};
  }
  return usage;
}

}  // namespace berth::plugins
