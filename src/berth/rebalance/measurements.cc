// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/measurements.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "berth/api/quantity.h"
#include "berth/codec/json_reader.h"
#include "berth/plugins/helper/instant_vector.h"
#include "berth/plugins/helper/outside_source.h"

namespace berth::rebalance {
namespace {

using plugins::Printable;
using simdjson::dom::element;

constexpr codec::ReadLimits kLimits{kMetricsBytesMax, 64};
constexpr double kNanosPerMilli = 1e6;
constexpr double kNanosPerUnit = 1e9;
constexpr char kMetricsServer[] = "metrics-server";
constexpr char kPrometheus[] = "Prometheus";
constexpr std::size_t kShownMax = 80;

Error Refused(std::string_view source, const std::string& what) {
  return {ErrorCode::kUnavailable, std::string(source) + ": " + what};
}

// Why the measurement is not used; empty: it is.
std::string WhyNotOf(Time at, Time now) {
  if (now - at > kMeasurementAgeMax) {
    return "was measured " + FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(now - at)) +
           " ago, more than " + FormatGoDuration(kMeasurementAgeMax);
  }
  if (at - now > kMeasurementFutureMax) return "was measured in the future, at " + FormatRfc3339(at);
  return {};
}

Expected<double> ReadAmount(element usage, std::string_view resource) {
  const auto text = codec::FindString(usage, resource);
  if (!text) return InvalidError(std::string(resource) + " is missing");
  const auto quantity = api::Quantity::Parse(*text);
  if (!quantity.ok())
    return InvalidError(std::string(resource) + " is no quantity: \"" + Printable(*text, kShownMax) + '"');
  if (quantity->IsNegative())
    return InvalidError(std::string(resource) + " is negative: " + Printable(*text, kShownMax));
  return static_cast<double>(quantity->nanos());
}

// Adds what a container or a node uses.
Expected<void> AddUse(element object, MeasuredUse& use) {
  const auto usage = codec::FindMember(object, "usage");
  if (!usage) return InvalidError("usage is missing");
  BERTH_ASSIGN_OR_RETURN(const double cpu, ReadAmount(*usage, "cpu"));
  BERTH_ASSIGN_OR_RETURN(const double memory, ReadAmount(*usage, "memory"));
  use.cpu_milli += cpu / kNanosPerMilli;
  use.memory_bytes += memory / kNanosPerUnit;
  use.is_known = true;
  return {};
}

// The items of a list of metrics.k8s.io. `take` gets the item, its name and its namespace.
template <typename Take>
Expected<void> ForEachItem(std::string_view body, std::string_view kind, Take take) {
  codec::JsonReader reader(kLimits);
  const auto root = reader.Parse(body);
  if (!root.ok()) return Refused(kMetricsServer, root.error().message);
  const auto items = codec::FindArray(*root, "items");
  if (!items) return Refused(kMetricsServer, "the answer is no list: it has no \"items\"");
  for (const element item : *items) {
    const auto metadata = codec::FindMember(item, "metadata");
    const std::string name(metadata ? codec::StringOrEmpty(*metadata, "name") : "");
    const std::string name_space(metadata ? codec::StringOrEmpty(*metadata, "namespace") : "");
    const std::string key = name_space.empty() ? name : name_space + "/" + name;
    if (name.empty()) return Refused(kMetricsServer, "a " + std::string(kind) + " of the list has no name");
    const auto at = ParseRfc3339(codec::StringOrEmpty(item, "timestamp"));
    Expected<void> taken = at ? take(item, key, *at) : Expected<void>(InvalidError("has no time"));
    if (!taken.ok())
      return Refused(kMetricsServer,
                     std::string(kind) + " " + Printable(key, kShownMax) + ": " + taken.error().message);
  }
  return {};
}

Expected<MetricSample> ReadSample(element item, Time now) {
  MetricSample sample;
  const auto labels = codec::FindObject(item, "metric");
  if (labels) {
    for (const auto& label : *labels) {
      std::string_view text;
      if (label.value.get(text) == simdjson::SUCCESS) sample.labels.emplace(label.key, text);
    }
  }
  const auto written = plugins::InstantValueOf(item);
  if (!written) return InvalidError("a series has no value");
  const auto value = plugins::ParseNumber(written->text);
  if (!value) return InvalidError("a value is no finite number: \"" + Printable(written->text, kShownMax) + '"');
  const std::optional<Time> at = written->at();
  if (!at) return InvalidError("a value has no time");
  if (const std::string why = WhyNotOf(*at, now); !why.empty()) return InvalidError("a value " + why);
  sample.value = *value;
  return sample;
}

// --- What is measured, for a view ------------------------------------------------------------------------------------

struct SourceUse {
  std::vector<MeasuredUse> nodes, pods;
};

Expected<SourceUse> FromMetricsServer(const ClusterView& view, const std::vector<NodeNumber>& nodes,
                                      const Measurements& measurements) {
  SourceUse use;
  use.nodes.resize(view.nodes().size());
  for (const NodeNumber number : nodes) {
    const NodeView& node = view.node(number);
    const auto at = measurements.nodes.find(node.name());
    if (at == measurements.nodes.end()) return Refused(kMetricsServer, "node " + node.name() + " is not measured");
    const MeasuredUse& of_node = at->second;
    const auto is_beyond = [](double used, std::int64_t capacity) {
      return capacity > 0 && used > kUseOfCapacityMax * static_cast<double>(capacity);
    };
    if (is_beyond(of_node.cpu_milli, node.allocatable.cpu_milli) ||
        is_beyond(of_node.memory_bytes, node.allocatable.memory_bytes)) {
      return Refused(kMetricsServer, "node " + node.name() + " uses more than twice of what it has");
    }
    use.nodes[number] = of_node;
  }
  for (const PodView& pod : view.pods()) {
    const auto at = measurements.pods.find(pod.Key());
    MeasuredUse& of_pod = use.pods.emplace_back();
    if (at != measurements.pods.end()) {
      of_pod = at->second;
    } else {
      of_pod.cpu_milli = static_cast<double>(pod.requests.cpu_milli);
      of_pod.memory_bytes = static_cast<double>(pod.requests.memory_bytes);
    }
  }
  return use;
}

// Each pod has a part of its node's use, by what it requests of the CPU.
void ShareOut(const ClusterView& view, NodeNumber number, SourceUse& use) {
  const NodeView& node = view.node(number);
  const auto count = static_cast<double>(node.requested.pods);
  const auto requested = static_cast<double>(node.requested.cpu_milli);
  for (const PodNumber pod : node.pods) {
    if (view.pod(pod).is_finished) continue;
    const double share =
        requested > 0 ? static_cast<double>(view.pod(pod).requests.cpu_milli) / requested : 1 / std::max(count, 1.0);
    use.pods[pod].percent = use.nodes[number].percent * share;
  }
}

Expected<SourceUse> FromQuery(const ClusterView& view, const std::vector<NodeNumber>& nodes,
                              const std::vector<MetricSample>& samples) {
  std::map<std::string_view, double> by_node;
  for (const MetricSample& sample : samples) {
    const auto instance = sample.labels.find("instance");
    if (instance == sample.labels.end()) return Refused(kPrometheus, "a series has no label \"instance\"");
    if (sample.value < 0 || sample.value > 1) {
      return Refused(kPrometheus, "\"" + Printable(instance->second, kShownMax) + "\" has the value " +
                                      std::to_string(sample.value) + ", which is not from 0 to 1");
    }
    by_node[instance->second] = sample.value;
  }
  SourceUse use;
  use.nodes.resize(view.nodes().size());
  use.pods.resize(view.pods().size());
  for (const NodeNumber number : nodes) {
    const auto at = by_node.find(view.node(number).name());
    if (at == by_node.end()) {
      return Refused(kPrometheus, "no series has the node " + view.node(number).name() + " as its label \"instance\"");
    }
    // Whole percents, as the descheduler counts them.
    use.nodes[number].percent = std::trunc(at->second * 100);
    use.nodes[number].is_known = true;
    ShareOut(view, number, use);
  }
  return use;
}

}  // namespace

MetricsNeeds MetricsNeedsOf(const Policy& policy) {
  MetricsNeeds needs;
  for (const StrategyArgs* strategy : StrategiesOf(policy)) {
    if (const auto* const low = std::get_if<LowNodeUtilizationArgs>(strategy); low != nullptr && low->metrics) {
      if (low->metrics->source == MetricsSource::kPrometheus) {
        needs.queries.insert(low->metrics->query);
      } else {
        needs.needs_metrics_server = true;
      }
    }
    if (const auto* const rule = std::get_if<CustomMetricArgs>(strategy)) needs.queries.insert(rule->FullQuery());
  }
  return needs;
}

Expected<StringHashMap<MeasuredUse>> ParseNodeUse(std::string_view body, Time now) {
  StringHashMap<MeasuredUse> nodes;
  const auto take = [&](element item, const std::string& key, Time at) -> Expected<void> {
    if (std::string why = WhyNotOf(at, now); !why.empty()) return InvalidError(std::move(why));
    return AddUse(item, nodes[key]);
  };
  BERTH_RETURN_IF_ERROR(ForEachItem(body, "node", take));
  return nodes;
}

Expected<StringHashMap<MeasuredUse>> ParsePodUse(std::string_view body, Time now) {
  StringHashMap<MeasuredUse> pods;
  const auto take = [&](element item, const std::string& key, Time at) -> Expected<void> {
    // A pod that has just ended is in the list for a while: it is as if it were not there.
    if (!WhyNotOf(at, now).empty()) return {};
    const auto containers = codec::FindArray(item, "containers");
    if (!containers) return InvalidError("containers are missing");
    MeasuredUse& use = pods[key];
    for (const element container : *containers) BERTH_RETURN_IF_ERROR(AddUse(container, use));
    return {};
  };
  BERTH_RETURN_IF_ERROR(ForEachItem(body, "pod", take));
  return pods;
}

Expected<std::vector<MetricSample>> ParseSamples(std::string_view body, Time now) {
  codec::JsonReader reader(kLimits);
  const auto root = reader.Parse(body);
  if (!root.ok()) return Refused(kPrometheus, root.error().message);
  const auto series = plugins::SeriesOf(*root, "it");
  if (!series.ok()) return Refused(kPrometheus, series.error().message);
  if (series->size() > kMetricSamplesMax)
    return Refused(kPrometheus, "the query gives more than " + std::to_string(kMetricSamplesMax) + " series");
  std::vector<MetricSample> samples;
  for (const element item : *series) {
    auto sample = ReadSample(item, now);
    if (!sample.ok()) return Refused(kPrometheus, sample.error().message);
    samples.push_back(std::move(*sample));
  }
  return samples;
}

Expected<Measurements> ReadMeasurements(const Policy& policy, MetricsClient& client, Time now) {
  Measurements measurements;
  const MetricsNeeds needs = MetricsNeedsOf(policy);
  if (needs.needs_metrics_server) {
    const auto nodes = client.ListMetrics("nodes");
    if (!nodes.ok()) return nodes.error().Wrap(kMetricsServer);
    BERTH_ASSIGN_OR_RETURN(measurements.nodes, ParseNodeUse(*nodes, now));
    const auto pods = client.ListMetrics("pods");
    if (!pods.ok()) return pods.error().Wrap(kMetricsServer);
    BERTH_ASSIGN_OR_RETURN(measurements.pods, ParsePodUse(*pods, now));
  }
  for (const std::string& query : needs.queries) {
    const auto answer = client.Query(query);
    if (!answer.ok()) return answer.error().Wrap(kPrometheus);
    BERTH_ASSIGN_OR_RETURN(measurements.answers[query], ParseSamples(*answer, now));
  }
  return measurements;
}

Expected<void> AddMeasuredUse(ClusterView& view, const Policy& policy, const std::vector<NodeNumber>& nodes,
                              const Measurements* measurements) {
  for (const StrategyArgs* strategy : StrategiesOf(policy)) {
    const auto* const low = std::get_if<LowNodeUtilizationArgs>(strategy);
    if (low == nullptr || !low->metrics || view.FindSource(low->metrics)) continue;
    const MetricsUse& metrics = *low->metrics;
    if (measurements == nullptr) {
      return InvalidError("LowNodeUtilization goes by what " + std::string(ToString(metrics.source)) +
                          " measures, and there are no measurements here");
    }
    Expected<SourceUse> use = Error{};
    if (metrics.source == MetricsSource::kKubernetes) {
      use = FromMetricsServer(view, nodes, *measurements);
    } else {
      const auto at = measurements->answers.find(metrics.query);
      use = at == measurements->answers.end() ? Expected<SourceUse>(Refused(kPrometheus, "the query was not asked"))
                                              : FromQuery(view, nodes, at->second);
    }
    if (!use.ok()) return use.error();
    view.AddSource(metrics, use->nodes, use->pods);
  }
  return {};
}

}  // namespace berth::rebalance
