// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/debug_dump.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/base/log.h"
#include "berth/core/cache/cache.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/node_info.h"

namespace berth::runner {
namespace {

void Append(const framework::Resource& amounts, std::string& to) {
  to += "&{MilliCPU:" + std::to_string(amounts.cpu_milli) + " Memory:" + std::to_string(amounts.memory_bytes) +
        " EphemeralStorage:" + std::to_string(amounts.ephemeral_storage_bytes) +
        " AllowedPodNumber:" + std::to_string(amounts.pods) + " ScalarResources:map[";
  for (const auto& [name, amount] : amounts.scalars) {
    if (to.back() != '[') to += ' ';
    to += name + ":" + std::to_string(amount);
  }
  to += "]}";
}

// The core does not keep the phase, only whether the pod has ended.
void Append(const framework::PodInfo& pod, std::string& to) {
  to += "name: " + pod.name + ", namespace: " + pod.namespace_name() + ", uid: " + pod.uid +
        ", terminal: " + (pod.is_terminal ? "true" : "false") + ", nominated node: " + pod.nominated_node_name + "\n";
}

void Append(const framework::NodeInfo& info, const scheduler::Scheduler& scheduler, DebugDump& dump) {
  std::string& to = dump.nodes;
  // Pods may be on a node that is unknown or was deleted.
  const std::string name = info.has_node() ? info.name() : info.pods().empty() ? "" : info.pods().front()->node_name;
  if (!info.has_node() && info.pods().empty()) return;
  if (info.has_node()) dump.known.nodes.push_back(name);
  to += "Node name: " + name + "\nDeleted: " + (info.has_node() ? "false" : "true") + "\nRequested Resources: ";
  Append(info.requested(), to);
  to += "\nAllocatable Resources:";
  Append(info.allocatable(), to);
  to += "\nScheduled Pods(number: " + std::to_string(info.pods().size()) + "):\n";
  for (const framework::PodInfoPtr& pod : info.pods()) {
    Append(*pod, to);
    dump.known.pods.push_back(pod->Key());
  }
  const auto nominated = scheduler.queue().nominator().PodsForNode(name);
  to += "Nominated Pods(number: " + std::to_string(nominated.size()) + "):\n";
  for (const framework::PodInfoPtr& pod : nominated) Append(*pod, to);
  to += "\n";
}

}  // namespace

CacheMismatch Compare(std::vector<std::string> informers, std::vector<std::string> cache) {
  std::sort(informers.begin(), informers.end());
  std::sort(cache.begin(), cache.end());
  CacheMismatch mismatch;
  std::set_difference(informers.begin(), informers.end(), cache.begin(), cache.end(),
                      std::back_inserter(mismatch.missed));
  std::set_difference(cache.begin(), cache.end(), informers.begin(), informers.end(),
                      std::back_inserter(mismatch.redundant));
  return mismatch;
}

DebugDump DumpOf(const scheduler::Scheduler& scheduler) {
  DebugDump dump;
  const auto& nodes = scheduler.cache().nodes();
  for (std::size_t row = 0; row < nodes.row_count(); ++row) {
    Append(nodes.Info(static_cast<framework::NodeIndex>(row)), scheduler, dump);
  }
  const queue::SchedulingQueue& queue = scheduler.queue();
  for (const queue::PodStanding& standing : queue.Dump()) {
    dump.known.pods.push_back(standing.pod->Key());
    if (standing.place != queue::Place::kInFlight) Append(*standing.pod, dump.queue_pods);
  }
  dump.queue_summary = "activeQ:" + std::to_string(queue.active_count()) +
                       "; backoffQ:" + std::to_string(queue.backoff_count()) +
                       "; unschedulablePods:" + std::to_string(queue.unschedulable_count() + queue.gated_count());
  return dump;
}

void LogDump(const DebugDump& dump, const KnownNames& informers) {
  if (const CacheMismatch nodes = Compare(informers.nodes, dump.known.nodes); !nodes.empty()) {
    log::Info("debugger", "Cache mismatch",
              {{"missedNodes", GoList(nodes.missed)}, {"redundantNodes", GoList(nodes.redundant)}});
  }
  if (const CacheMismatch pods = Compare(informers.pods, dump.known.pods); !pods.empty()) {
    log::Info("debugger", "Cache mismatch",
              {{"missedPods", GoList(pods.missed)}, {"redundantPods", GoList(pods.redundant)}});
  }
  log::Info("debugger", "Dump of cached NodeInfo", {{"nodes", dump.nodes}});
  log::Info("debugger", "Dump of scheduling queue", {{"summary", dump.queue_summary}, {"pods", dump.queue_pods}});
}

}  // namespace berth::runner
