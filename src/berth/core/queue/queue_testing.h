// SPDX-License-Identifier: Apache-2.0
// Helpers for the queue's tests: small pods, plugins that answer from a table, a fake time. Tests only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

using namespace std::chrono_literals;

// A whole second, so that back-off windows are easy to see.
inline constexpr Time kStart{std::chrono::seconds(1'000'000'020)};

struct PodSketch {
  std::string name;
  std::int32_t priority = 0;
  std::string uid = "";  // empty: "uid-" + name
  std::string scheduler_name = "default-scheduler";
  std::string nominated_node_name = "";
  std::vector<std::string> gates = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  std::int64_t cpu_milli = 100;
  int tolerations = 0;
  std::string node_name = "";
};

inline framework::PodInfoPtr MakePodInfo(const PodSketch& sketch) {
  auto pod_class = std::make_shared<framework::PodClass>();
  pod_class->namespace_name = "default";
  pod_class->labels = api::StringMap(sketch.labels);
  pod_class->spec.scheduler_name = sketch.scheduler_name;
  pod_class->spec.priority = sketch.priority;
  pod_class->spec.scheduling_gates = sketch.gates;
  pod_class->spec.tolerations.resize(static_cast<std::size_t>(sketch.tolerations));
  pod_class->requests.cpu_milli = sketch.cpu_milli;
  auto pod = std::make_shared<framework::PodInfo>();
  pod->name = sketch.name;
  pod->uid = sketch.uid.empty() ? "uid-" + sketch.name : sketch.uid;
  pod->node_name = sketch.node_name;
  pod->nominated_node_name = sketch.nominated_node_name;
  pod->pod_class = std::move(pod_class);
  return pod;
}

// The order of PrioritySort.
class PriorityThenTime final : public framework::QueueSortPlugin {
 public:
  std::string_view Name() const override { return "PrioritySort"; }
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const override {
    if (a.pod.priority() != b.pod.priority()) return a.pod.priority() > b.pod.priority();
    return a.timestamp < b.timestamp;
  }
};

// Refuses pods that have a scheduling gate of its own name, or that `extra` selects. Records its calls.
class Gate final : public framework::PreEnqueuePlugin {
 public:
  explicit Gate(std::string name, std::vector<std::string>* calls = nullptr) : name_(std::move(name)), calls_(calls) {}
  std::string_view Name() const override { return name_; }
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override {
    if (calls_ != nullptr) calls_->push_back(name_);
    for (const std::string& gate : pod.spec().scheduling_gates) {
      if (gate == name_) return framework::Status::UnschedulableAndUnresolvable("held by " + name_);
      if (gate == name_ + "-throws") throw std::runtime_error("no idea");
    }
    return extra && extra(pod) ? framework::Status::Unschedulable("held by " + name_) : framework::Status();
  }

  std::function<bool(const framework::PodInfo&)> extra;

 private:
  std::string name_;
  std::vector<std::string>* calls_;
};

namespace events {
using framework::ClusterEvent;
using framework::EventResource;
namespace action = framework::action;
inline constexpr ClusterEvent kNodeAdd{EventResource::kNode, action::kAdd};
inline constexpr ClusterEvent kNodeLabel{EventResource::kNode, action::kUpdateNodeLabel};
inline constexpr ClusterEvent kNodeTaint{EventResource::kNode, action::kUpdateNodeTaint};
inline constexpr ClusterEvent kPodDelete{EventResource::kPod, action::kDelete};
inline constexpr ClusterEvent kAssignedPodAdd{EventResource::kAssignedPod, action::kAdd};
inline constexpr ClusterEvent kAssignedPodDelete{EventResource::kAssignedPod, action::kDelete};
inline constexpr ClusterEvent kPodToleration{EventResource::kPod, action::kUpdatePodToleration};
inline constexpr ClusterEvent kGatesGone{EventResource::kPod, action::kUpdatePodSchedulingGatesEliminated};
inline constexpr ClusterEvent kWildcard{};
}  // namespace events

inline std::shared_ptr<const api::Node> MakeNode(std::string name) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = std::move(name);
  return node;
}

}  // namespace berth::queue
