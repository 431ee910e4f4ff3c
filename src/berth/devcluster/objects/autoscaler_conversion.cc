// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/autoscaler_conversion.h"

#include <string>
#include <tuple>
#include <utility>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects {
namespace {

constexpr const char* kPercent = "targetCPUUtilizationPercentage";
constexpr const char* kCurrentPercent = "currentCPUUtilizationPercentage";

// A member of v2 and the annotation that holds it in v1.
struct Kept {
  const char* part;
  const char* member;
  const char* annotation;
};
constexpr Kept kKept[] = {{"spec", "metrics", "autoscaling.alpha.kubernetes.io/metrics"},
                          {"spec", "behavior", "autoscaling.alpha.kubernetes.io/behavior"},
                          {"status", "currentMetrics", "autoscaling.alpha.kubernetes.io/current-metrics"},
                          {"status", "conditions", "autoscaling.alpha.kubernetes.io/conditions"}};

// The percentage of a metric of v2 that v1 has a field for; null for another.
const json::value* CpuPercent(const json::value& metric, const char* value_member) {
  const json::object* object = metric.if_object();
  if (object == nullptr || StringMember(*object, "type") != "Resource") return nullptr;
  const json::object& resource = internal::Part(*object, "resource");
  if (StringMember(resource, "name") != "cpu") return nullptr;
  return FindMember(internal::Part(resource, value_member), "averageUtilization");
}

json::object CpuMetric(const json::value& percent) {
  return {
      {"type", "Resource"},
      {"resource", json::object{{"name", "cpu"},
                                {"target", json::object{{"type", "Utilization"}, {"averageUtilization", percent}}}}}};
}

}  // namespace

void ToAutoscalerV1(json::object& autoscaler) {
  autoscaler["apiVersion"] = "autoscaling/v1";
  for (const auto& [part, list, value, percent] :
       {std::tuple("spec", "metrics", "target", kPercent),
        std::tuple("status", "currentMetrics", "current", kCurrentPercent)}) {
    json::object& owner = MutableObject(autoscaler, part);
    json::array others;
    if (const json::array* metrics = ArrayMember(owner, list)) {
      for (const json::value& metric : *metrics) {
        const json::value* found = owner.contains(percent) ? nullptr : CpuPercent(metric, value);
        if (found != nullptr) {
          const json::value copy = *found;
          owner[percent] = copy;
        } else {
          others.push_back(metric);
        }
      }
    }
    owner.erase(list);
    if (!others.empty()) owner[list] = std::move(others);
  }
  for (const Kept& kept : kKept) {
    json::object& owner = MutableObject(autoscaler, kept.part);
    const json::value* value = FindMember(owner, kept.member);
    if (value == nullptr) continue;
    std::string text = json::serialize(*value);
    owner.erase(kept.member);
    MutableObject(MutableObject(autoscaler, "metadata"), "annotations")[kept.annotation] = std::move(text);
  }
}

void ToAutoscalerV2(json::object& autoscaler) {
  autoscaler["apiVersion"] = "autoscaling/v2";
  for (const Kept& kept : kKept) {
    json::object& metadata = MutableObject(autoscaler, "metadata");
    if (ObjectMember(metadata, "annotations") == nullptr) break;
    json::object& annotations = MutableObject(metadata, "annotations");
    const std::string text(StringMember(annotations, kept.annotation));
    if (text.empty()) continue;
    // What somebody else has written there stays what it is: an annotation.
    auto value = codec::ParseJson(text);
    if (!value.ok()) continue;
    annotations.erase(kept.annotation);
    if (annotations.empty()) metadata.erase("annotations");
    MutableObject(autoscaler, kept.part)[kept.member] = std::move(*value);
  }
  json::object& spec = MutableObject(autoscaler, "spec");
  if (const json::value* percent = FindMember(spec, kPercent)) {
    json::array metrics{CpuMetric(*percent)};
    if (const json::array* others = ArrayMember(spec, "metrics")) {
      for (const json::value& each : *others) metrics.push_back(each);
    }
    spec["metrics"] = std::move(metrics);
    spec.erase(kPercent);
  }
  MutableObject(autoscaler, "status").erase(kCurrentPercent);
}

}  // namespace berth::objects
