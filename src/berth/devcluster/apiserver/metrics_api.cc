// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/metrics_api.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/quantity.h"
#include "berth/base/hash_map.h"
#include "berth/codec/json_reader.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/status_response.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kGroup = "metrics.k8s.io";
// What a container uses that asks for nothing.
constexpr std::int64_t kIdleCpuNanos = 1'000'000;
constexpr std::int64_t kIdleMemoryBytes = std::int64_t{8} << 20;
// The share of its requests that a container uses, in percent.
constexpr std::int64_t kUsedPercent = 50;
// Far above any machine, and low enough that sums of a hundred thousand pods cannot overflow.
constexpr std::int64_t kCpuNanosMax = std::int64_t{10'000} * 1'000'000'000;
constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 46;

struct Usage {
  std::int64_t cpu_nanos = 0;
  std::int64_t memory_bytes = 0;

  void Add(const Usage& other) {
    cpu_nanos = std::min(cpu_nanos + other.cpu_nanos, INT64_MAX / 2);
    memory_bytes = std::min(memory_bytes + other.memory_bytes, INT64_MAX / 2);
  }
};

struct ContainerUsage {
  std::string name;
  Usage usage;
};

// Absent when there is none, or one below 0.
std::optional<std::int64_t> Amount(std::optional<std::string_view> text, std::int64_t per_unit, std::int64_t most) {
  if (!text) return std::nullopt;
  const auto quantity = api::Quantity::Parse(*text);
  if (!quantity.ok() || quantity->IsNegative()) return std::nullopt;
  const auto amount = quantity->nanos() / (1'000'000'000 / per_unit);
  return static_cast<std::int64_t>(std::min(amount, api::Quantity::Nanos(most)));
}
std::optional<std::int64_t> CpuOf(std::optional<std::string_view> text) {
  return Amount(text, 1'000'000'000, kCpuNanosMax);
}
std::optional<std::int64_t> MemoryOf(std::optional<std::string_view> text) { return Amount(text, 1, kMemoryBytesMax); }

std::optional<std::string_view> Member(const std::optional<simdjson::dom::element>& object, std::string_view name) {
  return object ? codec::FindString(*object, name) : std::nullopt;
}

// The use of each container: all have the same share of `total`, and the last makes up for what is cut off.
void ScaleTo(std::int64_t total, std::int64_t Usage::* what, std::vector<ContainerUsage>& containers) {
  std::int64_t sum = 0;
  for (const ContainerUsage& each : containers) sum += each.usage.*what;
  std::int64_t left = total;
  for (ContainerUsage& each : containers) {
    const bool is_last = &each == &containers.back();
    using Wide = api::Quantity::Nanos;
    each.usage.*what =
        is_last ? left : static_cast<std::int64_t>(Wide(total) * (each.usage.*what) / std::max(sum, std::int64_t{1}));
    left -= each.usage.*what;
  }
}

void AddContainers(simdjson::dom::element pod, std::string_view list, bool only_sidecars,
                   std::vector<ContainerUsage>& out) {
  const auto containers = codec::FindPath(pod, {"spec", list});
  if (!containers || !containers->is_array()) return;
  const simdjson::dom::array each_of = containers->get_array().value();
  for (const simdjson::dom::element container : each_of) {
    if (only_sidecars && codec::StringOrEmpty(container, "restartPolicy") != "Always") continue;
    const auto requests = codec::FindPath(container, {"resources", "requests"});
    const auto cpu = CpuOf(Member(requests, "cpu"));
    const auto memory = MemoryOf(Member(requests, "memory"));
    out.push_back(
        {std::string(codec::StringOrEmpty(container, "name")),
         {cpu ? *cpu * kUsedPercent / 100 : kIdleCpuNanos, memory ? *memory * kUsedPercent / 100 : kIdleMemoryBytes}});
  }
}

std::vector<ContainerUsage> UsageOfPod(simdjson::dom::element pod) {
  std::vector<ContainerUsage> containers;
  AddContainers(pod, "initContainers", true, containers);
  AddContainers(pod, "containers", false, containers);
  if (containers.empty()) return containers;
  const auto annotations = codec::FindPath(pod, {"metadata", "annotations"});
  if (const auto cpu = CpuOf(Member(annotations, kCpuUsageAnnotation))) ScaleTo(*cpu, &Usage::cpu_nanos, containers);
  if (const auto memory = MemoryOf(Member(annotations, kMemoryUsageAnnotation)))
    ScaleTo(*memory, &Usage::memory_bytes, containers);
  return containers;
}

// The share in "97" or "12.5"; absent when it is none from 0 to 100.
std::optional<double> Percent(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  double percent = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), percent);
  const bool is_share = problem == std::errc() && end == text->data() + text->size() && percent >= 0 && percent <= 100;
  return is_share ? std::optional(percent) : std::nullopt;
}

bool IsReady(simdjson::dom::element node) {
  const auto conditions = codec::FindPath(node, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  const simdjson::dom::array each_of = conditions->get_array().value();
  return std::any_of(each_of.begin(), each_of.end(), [](const simdjson::dom::element condition) {
    return codec::StringOrEmpty(condition, "type") == "Ready" && codec::StringOrEmpty(condition, "status") == "True";
  });
}

Usage UsageOfNode(simdjson::dom::element node, Usage of_pods) {
  const auto annotations = codec::FindPath(node, {"metadata", "annotations"});
  const auto allocatable = codec::FindPath(node, {"status", "allocatable"});
  const auto share = [](std::optional<std::int64_t> all, std::optional<double> percent, std::int64_t otherwise) {
    return all && percent ? static_cast<std::int64_t>(static_cast<double>(*all) * *percent / 100) : otherwise;
  };
  return {
      share(CpuOf(Member(allocatable, "cpu")), Percent(Member(annotations, kCpuUsageAnnotation)), of_pods.cpu_nanos),
      share(MemoryOf(Member(allocatable, "memory")), Percent(Member(annotations, kMemoryUsageAnnotation)),
            of_pods.memory_bytes)};
}

// A use in the units of metrics-server.
json::object UsageDocument(const Usage& usage) {
  return {{"cpu", std::to_string(usage.cpu_nanos) + "n"}, {"memory", std::to_string(usage.memory_bytes / 1024) + "Ki"}};
}

// The measurement of `measured` as an object; `more` are the members behind the window.
objects::ObjectPtr MakeMetrics(std::string_view kind, const objects::StoredObject& measured, const std::string& time,
                               json::object more) {
  json::object metadata{{"name", measured.name()}, {"creationTimestamp", time}};
  if (!measured.namespace_name().empty()) metadata["namespace"] = measured.namespace_name();
  json::object labels;
  for (const auto& [key, value] : measured.labels) labels[std::string_view(key)] = std::string_view(value);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  json::object document{{"kind", kind},
                        {"apiVersion", "metrics.k8s.io/v1beta1"},
                        {"metadata", std::move(metadata)},
                        {"timestamp", time},
                        {"window", "1s"}};
  for (auto& [key, value] : more) document[key] = std::move(value);
  auto object = std::make_shared<objects::StoredObject>();
  object->key = measured.key;
  object->name_begin = measured.name_begin;
  object->bytes = json::serialize(document);
  return object;
}

}  // namespace

struct MetricsApi::Measurement {
  struct Pod {
    objects::ObjectPtr pod;
    std::vector<ContainerUsage> containers;
  };
  struct Node {
    objects::ObjectPtr node;
    Usage usage;
  };

  // The measurements of the type that the selector wants, as objects.
  std::vector<objects::ObjectPtr> Documents(const objects::ResourceType& type, const Selector& selector) const {
    std::vector<objects::ObjectPtr> documents;
    const std::string text = FormatRfc3339(time);
    if (type.plural == "nodes") {
      for (const Node& each : nodes) {
        if (selector.Matches(*each.node))
          documents.push_back(MakeMetrics(type.kind, *each.node, text, {{"usage", UsageDocument(each.usage)}}));
      }
      return documents;
    }
    for (const Pod& each : pods) {
      if (!selector.Matches(*each.pod)) continue;
      json::array containers;
      for (const ContainerUsage& container : each.containers)
        containers.push_back(json::object{{"name", container.name}, {"usage", UsageDocument(container.usage)}});
      documents.push_back(MakeMetrics(type.kind, *each.pod, text, {{"containers", std::move(containers)}}));
    }
    return documents;
  }

  Time time;  // of the clock on the wall
  std::vector<Pod> pods;
  std::vector<Node> nodes;
};

bool IsMeasured(const objects::ResourceType& type) { return type.group == kGroup && type.structural == nullptr; }

std::shared_ptr<const MetricsApi::Measurement> MetricsApi::Measure() {
  const std::lock_guard lock(mutex_);
  const Time now = registry_.WallNow();
  if (measured_ != nullptr && now >= measured_->time && now < next_at_) return measured_;
  auto measurement = std::make_shared<Measurement>();
  measurement->time = now;
  codec::JsonReader reader;
  StringHashMap<Usage> by_node;
  if (const objects::ServedType* pods = registry_.Find("", "v1", "pods")) {
    for (objects::ObjectPtr& pod : registry_.store().List(pods->table, {}).objects) {
      const auto document = reader.Parse(pod->bytes);
      if (!document.ok()) continue;
      const auto node = codec::FindPath(*document, {"spec", "nodeName"});
      const auto status = codec::FindMember(*document, "status");
      if (!node || !node->is_string() || Member(status, "phase") != "Running") continue;
      std::vector<ContainerUsage> containers = UsageOfPod(*document);
      Usage& sum = by_node[std::string(node->get_string().value())];
      for (const ContainerUsage& each : containers) sum.Add(each.usage);
      measurement->pods.push_back({std::move(pod), std::move(containers)});
    }
  }
  if (const objects::ServedType* nodes = registry_.Find("", "v1", "nodes")) {
    for (objects::ObjectPtr& node : registry_.store().List(nodes->table, {}).objects) {
      const auto document = reader.Parse(node->bytes);
      if (!document.ok() || !IsReady(*document)) continue;
      const Usage usage = UsageOfNode(*document, by_node[std::string(node->name())]);
      measurement->nodes.push_back({std::move(node), usage});
    }
  }
  measured_ = std::move(measurement);
  const Time end = registry_.WallNow();
  next_at_ = end + std::max(kMeasureInterval, (end - now) * 10);
  return measured_;
}

objects::Outcome<net::Response> MetricsApi::List(const RestCall& call) {
  const objects::ServedType& served = *call.route.served;
  BERTH_ASSIGN_OR_RETURN(const ListParameters list,
                         ParseListParameters(call.target, served, call.route.namespace_name));
  if (list.is_watch) return objects::MethodNotAllowed();
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  return JsonResponse(200, RenderList(rendering, Measure()->Documents(*served.type, list.selector),
                                      {.resource_version = registry_.store().resource_version()}));
}

objects::Outcome<net::Response> MetricsApi::Get(const RestCall& call) {
  const objects::ServedType& served = *call.route.served;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  Selector selector;
  selector.namespace_name = call.route.namespace_name;
  selector.fields.push_back({.value = call.route.name});
  const std::vector<objects::ObjectPtr> found = Measure()->Documents(*served.type, selector);
  if (found.empty()) {
    objects::StatusError error = objects::NotFound(*served.type, call.route.name);
    error.message = served.type->singular + '.' + served.type->group + " \"" +
                    objects::ObjectKey(call.route.namespace_name, call.route.name) + "\" not found";
    return error;
  }
  return JsonResponse(200, RenderObject(rendering, *found.front()));
}

}  // namespace berth::apiserver
