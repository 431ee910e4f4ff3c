// SPDX-License-Identifier: Apache-2.0
#include "workloads.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "recipes.h"
#include "workload_table.h"

namespace berth::bench {
namespace {

constexpr std::string_view kPrefixes[kGroupCount] = {"old-", "pod-", "side-"};
constexpr const char* kNamespaces[kGroupCount] = {kExistingNamespace, kMeasuredNamespace, kSideNamespace};
// Prefixes of uids that look random; the pod's number follows.
constexpr std::string_view kUids[kGroupCount] = {"00000000-0000-4000-8000-", "00000000-0000-4000-9000-",
                                                 "00000000-0000-4000-a000-"};

// Inside the measured time: no allocation, little work.
void SetNumbered(std::string& text, std::string_view prefix, long number) {
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.assign(prefix).append(digits, static_cast<std::size_t>(end - digits));
}

// A pod before its kind is applied.
std::shared_ptr<api::Pod> BarePod(Group group, const std::string& scheduler_name) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.namespace_name = kNamespaces[static_cast<int>(group)];
  pod->metadata.creation_time = Time{std::chrono::seconds(1'700'000'000)};
  pod->spec.scheduler_name = scheduler_name;
  api::Container container;
  container.name = "pause";
  container.image = "pause";
  container.ports.emplace_back();
  pod->spec.containers.push_back(std::move(container));
  pod->status.phase = api::PodPhase::kPending;
  return pod;
}

}  // namespace

const WorkloadEntry* FindWorkload(const std::string& name) {
  const auto& all = Workloads();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const WorkloadEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Workload MakeWorkload(const WorkloadEntry& entry, Shape shape) {
  const auto of = [&](double per_node) { return static_cast<int>(per_node * shape.nodes); };
  if (shape.existing < 0) shape.existing = of(entry.existing_per_node);
  if (shape.pods < 0) shape.pods = std::max(1, of(entry.pods_per_node));
  Workload workload;
  workload.shape = shape;
  workload.existing = workload.measured = workload.side = Kinds({Basic});
  entry.make(workload);
  return workload;
}

std::string NodeName(int i) { return "node-" + std::to_string(i); }

int NumberIn(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  int number = kNowhere;
  if (dash != std::string::npos) std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  return number;
}

std::shared_ptr<const api::Node> MakeNode(const Workload& workload, int i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = NodeName(i);
  node->metadata.uid = "uid-" + node->metadata.name;
  node->metadata.labels = api::StringMap({{kHostname, node->metadata.name},
                                          {"kubernetes.io/arch", "amd64"},
                                          {"kubernetes.io/os", "linux"},
                                          {"topology.kubernetes.io/region", "region1"},
                                          {kZone, "zone" + std::to_string(i % workload.shape.zones + 1)}});
  node->allocatable = {{"cpu", Amount("4")}, {"memory", Amount("32Gi")}, {"pods", Amount("110")}};
  node->conditions = {{"Ready", "True"}};
  if (workload.node) workload.node(*node, i);
  return node;
}

const std::shared_ptr<api::Pod>& PodSource::Make(int i) {
  const auto kind = static_cast<std::size_t>(recipe_.KindOf(i));
  if (kinds_.empty()) kinds_.resize(static_cast<std::size_t>(recipe_.kinds));
  std::shared_ptr<api::Pod>& pod = kinds_[kind];
  if (!pod) {
    pod = BarePod(group_, scheduler_name_);
    recipe_.dress(*pod, static_cast<int>(kind));
  } else if (pod.use_count() > 1) {
    pod = std::make_shared<api::Pod>(*pod);  // the scheduler still holds the last object
  }
  const auto group = static_cast<std::size_t>(group_);
  SetNumbered(pod->metadata.name, kPrefixes[group], i);
  SetNumbered(pod->metadata.uid, kUids[group], 100'000'000'000L + i);
  SetNumbered(pod->metadata.resource_version, {}, ++version_);
  pod->spec.node_name.clear();
  pod->status.nominated_node_name.clear();
  pod->status.conditions.clear();
  pod->status.start_time.reset();
  if (recipe_.vary) recipe_.vary(*pod, i);
  return pod;
}

Group PodSource::GroupOf(const std::string& pod_name) {
  return pod_name.starts_with("old") ? Group::kExisting : pod_name.starts_with("pod") ? Group::kMeasured : Group::kSide;
}

}  // namespace berth::bench
