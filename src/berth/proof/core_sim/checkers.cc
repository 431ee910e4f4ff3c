// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/core_sim/checkers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "berth/core/cache/cache.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::core_sim {
namespace {

// What a pod asks of a node, looked at with code that shares nothing with the scheduler's.
struct Usage {
  std::int64_t cpu_milli = 0;
  std::int64_t pods = 0;
  std::set<int> ports;
};

std::int64_t CpuMilli(const api::ResourceList& list) {
  const api::Quantity* cpu = api::FindResource(list, "cpu");
  return cpu == nullptr ? 0 : static_cast<std::int64_t>(cpu->nanos() / 1'000'000);
}
std::int64_t Pods(const api::ResourceList& list) {
  const api::Quantity* pods = api::FindResource(list, "pods");
  return pods == nullptr ? 0 : static_cast<std::int64_t>(pods->nanos() / 1'000'000'000);
}

void Count(const api::Pod& pod, Usage& usage) {
  ++usage.pods;
  for (const api::Container& container : pod.spec.containers) {
    usage.cpu_milli += CpuMilli(container.requests);
    for (const api::ContainerPort& port : container.ports) usage.ports.insert(port.host_port);
  }
}

// What the node's pods of at least that priority take.
Usage UsageOf(const ModelApiServer& server, const std::string& node_name,
              std::int32_t priority_min = std::numeric_limits<std::int32_t>::min()) {
  Usage usage;
  for (const auto& [key, pod] : server.pods()) {
    if (pod->spec.node_name != node_name || IsFinished(*pod)) continue;
    if (pod->spec.priority.value_or(0) >= priority_min) Count(*pod, usage);
  }
  return usage;
}

// Whether the pod fits beside the pods of at least its priority: those below it can be preempted.
bool Fits(const ModelApiServer& server, const api::Pod& pod, const api::Node& node) {
  if (node.unschedulable) return false;
  for (const api::Taint& taint : node.taints) {
    bool is_tolerated = false;
    for (const api::Toleration& toleration : pod.spec.tolerations) is_tolerated |= toleration.key == taint.key;
    if (!is_tolerated) return false;
  }
  for (const auto& [key, value] : pod.spec.node_selector) {
    const std::string* label = node.metadata.labels.Find(key);
    if (label == nullptr || *label != value) return false;
  }
  Usage usage = UsageOf(server, node.metadata.name, pod.spec.priority.value_or(0));
  const std::size_t ports = usage.ports.size();
  Usage own;
  Count(pod, own);
  Count(pod, usage);
  return usage.cpu_milli <= CpuMilli(node.allocatable) && usage.pods <= Pods(node.allocatable) &&
         usage.ports.size() == ports + own.ports.size();
}

std::string StandingOf(const scheduler::Scheduler& core, const std::string& uid) {
  const auto standing = core.queue().Find(uid);
  if (!standing) return "nowhere";
  switch (standing->place) {
    case queue::Place::kActive: return "in activeQ";
    case queue::Place::kBackoff:
    case queue::Place::kErrorBackoff: return "in back-off";
    case queue::Place::kInFlight: return "in flight";
    case queue::Place::kGated: return "gated by " + standing->gating_plugin;
    case queue::Place::kUnschedulable: break;
  }
  std::string text = "as unschedulable by";
  for (const std::string& plugin : standing->unschedulable_plugins) text += " " + plugin;
  return text;
}

std::string CoreViewOf(const scheduler::Scheduler& core, const std::string& node_name) {
  const framework::NodeIndex row = core.cache().nodes().Find(node_name);
  if (row == framework::kNoNode) return "the core does not know the node";
  std::string view =
      "the core sees " + std::to_string(core.cache().nodes().columns().requested_cpu_milli[row]) + "m taken by";
  for (const auto& pod : core.cache().nodes().Info(row).pods()) view += " " + pod->Key();
  view += ", nominated:";
  for (const auto& pod : core.queue().nominator().PodsForNode(node_name)) view += " " + pod->Key();
  return view;
}

}  // namespace

Checker::Checker(const ModelApiServer& server, const History& history, Violate violate)
    : server_(server), history_(history), violate_(std::move(violate)) {}

void Checker::CheckRoom(const api::Node& node) const {
  const std::string& name = node.metadata.name;
  if (history_.crowded.contains(name)) return;
  const Usage usage = UsageOf(server_, name);
  if (usage.cpu_milli > CpuMilli(node.allocatable)) {
    violate_("node " + name + " is overcommitted: " + std::to_string(usage.cpu_milli) + "m of CPU are taken");
  }
  if (usage.pods > Pods(node.allocatable)) violate_("node " + name + " has " + std::to_string(usage.pods) + " pods");
  std::size_t with_port = 0;
  for (const auto& [key, pod] : server_.pods()) {
    if (pod->spec.node_name != name || IsFinished(*pod)) continue;
    for (const api::Container& container : pod->spec.containers) with_port += container.ports.size();
  }
  if (with_port > 1) violate_("node " + name + " has a host port twice");
}

void Checker::CheckNothingForgotten(const scheduler::Scheduler& core) const {
  for (const auto& [key, pod] : server_.pods()) {
    if (!pod->spec.node_name.empty() || IsFinished(*pod) || pod->metadata.deletion_time) continue;
    if (!pod->spec.scheduling_gates.empty() || pod->spec.scheduler_name != api::kDefaultSchedulerName) continue;
    for (const auto& [name, node] : server_.nodes()) {
      if (!Fits(server_, *pod, *node)) continue;
      violate_("pod " + key + " waits " + StandingOf(core, pod->metadata.uid) + ", although node " + name +
               " has room for it; " + CoreViewOf(core, name));
    }
  }
  if (core.binding_count() != 0) violate_("bindings are still under way");
  if (core.cache().assumed_count() != 0) violate_("pods are still assumed");
}

void Checker::CheckEvents(int newest_instance) const {
  for (const auto& [uid, instance] : history_.bound_by) {
    int count = 0;
    if (const auto announced = history_.scheduled_events.find(uid); announced != history_.scheduled_events.end()) {
      for (const auto& [by, events] : announced->second) count += events;
    }
    if (count > 1) violate_(uid + " was announced " + std::to_string(count) + " times");
    // One that was deleted, or bound by a scheduler that crashed, may have gone without its event.
    const bool is_there = std::any_of(server_.pods().begin(), server_.pods().end(), [&](const auto& entry) {
      return entry.second->metadata.uid == uid && !IsFinished(*entry.second);
    });
    if (count == 0 && is_there && instance == newest_instance && !history_.bound_to_nothing.contains(uid)) {
      violate_(uid + " was bound without its event");
    }
  }
  for (const auto& [uid, events] : history_.scheduled_events) {
    if (!history_.bound_by.contains(uid) && !history_.bound_by_others.contains(uid)) {
      violate_(uid + " was announced and never bound");
    }
  }
}

void Checker::CheckNothingLeft(const scheduler::Scheduler& core) const {
  if (core.binding_count() != 0) violate_("a binding is left");
  if (core.cache().assumed_count() != 0) violate_("an assumed pod is left");
  if (core.cache().pod_count() != 0) violate_("a pod is left in the cache");
  if (const auto queued = core.queue().Dump(); !queued.empty()) {
    violate_("pod " + queued.front().pod->Key() + " is left in the queue");
  }
  if (!core.queue().nominator().empty()) violate_("a nomination is left");
  if (core.NextWake()) violate_("something is still due");
  for (const framework::NodeIndex row : core.cache().nodes().rows()) {
    if (core.cache().nodes().columns().requested_cpu_milli[row] != 0) violate_("room is still taken on a node");
  }
}

}  // namespace berth::core_sim
