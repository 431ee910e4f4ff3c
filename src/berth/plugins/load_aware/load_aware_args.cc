// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/load_aware/load_aware_args.h"

#include <string>
#include <utility>

#include "berth/plugins/helper/outside_source.h"
#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

void ReadPercent(config::ObjectReader& reader, std::string_view key, std::optional<double>& share) {
  std::optional<double> percent;
  reader.Read(key, percent);
  if (!percent) return;
  if (!(*percent > 0 && *percent <= 100))
    reader.errors().Add(reader.PathOf(key), "Invalid value: must be more than 0 and at most 100, in percent");
  share = *percent / 100;
}

void ReadPrometheus(config::ObjectReader& reader, LoadAwareArgs& args) {
  ReadEndpoint(reader, args.endpoint);
  reader.Read("cpuQuery", args.cpu_query);
  reader.Read("memoryQuery", args.memory_query);
  reader.Read("nodeLabel", args.node_label);
  if (args.cpu_query.empty()) reader.errors().Required(reader.PathOf("cpuQuery"));
  if (args.node_label.empty()) reader.errors().Required(reader.PathOf("nodeLabel"));
  std::string unit = "share";
  reader.Read("unit", unit);
  if (unit != "share" && unit != "percent") {
    reader.errors().NotSupported(reader.PathOf("unit"), unit, {"share", "percent"});
  }
  args.is_percent = unit == "percent";
}

void ReadArgs(config::ObjectReader& reader, LoadAwareArgs& args) {
  using enum LoadAwareArgs::Source;
  std::string source = "metrics.k8s.io";
  reader.Read("source", source);
  if (source == "prometheus") {
    args.source = kPrometheus;
  } else if (source == "annotations") {
    args.source = kAnnotations;
  } else if (source != "metrics.k8s.io") {
    reader.errors().NotSupported(reader.PathOf("source"), source, {"metrics.k8s.io", "prometheus", "annotations"});
  }
  bool has_prometheus = false;
  reader.Object("prometheus", [&](config::ObjectReader& prometheus) {
    has_prometheus = true;
    ReadPrometheus(prometheus, args);
  });
  if (args.source == kPrometheus && !has_prometheus) reader.errors().Required(reader.PathOf("prometheus"));
  if (args.source != kPrometheus && has_prometheus)
    reader.errors().Forbidden(reader.PathOf("prometheus"), "only with source \"prometheus\"");
  ReadPolling(reader, args.endpoint);
  ReadPercent(reader, "targetUtilization", args.target_utilization);
  ReadPercent(reader, "hotThreshold", args.hot_threshold);
  ReadDuration(reader, "freshness", std::chrono::seconds(1), args.freshness);
  ReadDuration(reader, "futureTolerance", Duration{0}, args.future_tolerance);
  ReadDuration(reader, "measurementWindow", Duration{0}, args.measurement_window);
}

}  // namespace

Expected<LoadAwareArgs> ReadLoadAwareArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<LoadAwareArgs>(names::kLoadAware, args, ReadArgs);
}

}  // namespace berth::plugins
