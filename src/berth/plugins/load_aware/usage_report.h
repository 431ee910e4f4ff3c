// SPDX-License-Identifier: Apache-2.0
// What measurements say: answers of metrics.k8s.io and of Prometheus, and the annotations of nodes. Plain functions;
// any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/node.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/outside_data.h"

namespace berth::plugins {

// The measured use of one resource of one node.
struct Measurement {
  double value = 0;        // milli-CPUs or bytes, or a share of the node: see UsageReport::are_shares
  std::optional<Time> at;  // when it was measured; absent: nobody says, it counts until it is replaced
  Duration window{0};      // what it is the mean of, before `at`
  bool operator==(const Measurement&) const = default;
};

struct NodeMeasurements {
  std::optional<Measurement> cpu, memory;
  bool operator==(const NodeMeasurements&) const = default;
};

// Why a measurement does not count. Also the values of a metric's label.
enum class Refusal : std::uint8_t { kNotANumber, kNegative, kImplausible, kFuture, kBadTime };
inline constexpr std::size_t kRefusalCount = 5;
std::string_view ToString(Refusal refusal);

struct UsageReport final : framework::OutsideData {
  StringHashMap<NodeMeasurements> nodes;
  std::array<std::size_t, kRefusalCount> refused{};  // by Refusal; their nodes go without
};

// A share above this is taken for a mistake, such as percent where shares of 1 were announced.
inline constexpr double kShareMax = 2;

// NodeMetricsList of metrics.k8s.io: cpu in milli-CPUs, memory in bytes.
Expected<UsageReport> ParseNodeMetrics(std::string_view body);

enum class MeasuredResource : std::uint8_t { kCpu, kMemory };
struct PrometheusFormat {
  MeasuredResource resource = MeasuredResource::kCpu;
  std::string node_label = "instance";  // names the node; a port behind it is cut
  bool is_percent = false;
  Duration window{0};
};
// The answer to an instant query: shares of the node. Of several series of one node the highest counts; series without
// the label are left out.
Expected<UsageReport> ParsePrometheus(std::string_view body, const PrometheusFormat& format);

// Annotations of a node, in percent: "37", "37.5" or "37.5%".
inline constexpr std::string_view kCpuUsageAnnotation = "berth.dev/cpu-usage";
inline constexpr std::string_view kMemoryUsageAnnotation = "berth.dev/memory-usage";
inline constexpr std::string_view kUsageTimeAnnotation = "berth.dev/usage-time";  // RFC 3339, optional

struct AnnotatedUsage {
  NodeMeasurements measured;       // shares; both absent where something was refused
  std::optional<Refusal> refusal;  // the first one
  std::string_view refused;        // the key of the annotation that it is about
};
AnnotatedUsage ReadUsageAnnotations(const api::Node& node, Duration window);

}  // namespace berth::plugins
