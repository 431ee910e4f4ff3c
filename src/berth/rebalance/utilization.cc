// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/utilization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "berth/base/check.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/pod_order.h"

namespace berth::rebalance {
namespace {

using Amounts = std::map<std::string, double, std::less<>>;  // by resource

bool IsByQuery(const std::optional<MetricsUse>& metrics) {
  return metrics && metrics->source == MetricsSource::kPrometheus;
}

// The resources of the thresholds, and always CPU, memory and pods, unless a query says how full nodes are.
std::vector<std::string> ResourcesOf(const Thresholds& thresholds, bool is_by_query = false) {
  using namespace framework::resources;
  std::set<std::string> names;
  if (!is_by_query) names = {std::string(kCpu), std::string(kMemory), std::string(kPods)};
  for (const auto& each : thresholds) names.insert(each.first);
  return {names.begin(), names.end()};
}

// What may be used at a threshold.
std::int64_t CapacityAt(const NodeView& node, const std::string& resource, const Thresholds& thresholds) {
  const std::int64_t capacity = Capacity(node, resource);
  const auto at = thresholds.find(resource);
  if (at == thresholds.end()) return capacity;
  return static_cast<std::int64_t>(at->second * 0.01 * static_cast<double>(capacity));
}

// The mean use in percent of the nodes that have the resource.
std::optional<double> AverageUse(const ClusterView& view, const std::vector<NodeNumber>& nodes,
                                 const std::string& resource, UseSource source) {
  double sum = 0;
  std::size_t count = 0;
  for (const NodeNumber number : nodes) {
    const NodeView& node = view.node(number);
    if (resource != kMetricResource && api::FindResource(node.node->allocatable, resource) == nullptr) continue;
    sum += PercentUsed(node, resource, source);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

double Clamped(double percent) { return std::clamp(percent, 0.0, 100.0); }

// Nodes that are equally full stay in order.
void SortByUse(const ClusterView& view, const std::vector<std::string>& resources, bool is_ascending,
               std::vector<NodeNumber>& nodes, UseSource source = {}) {
  const auto sum = [&](NodeNumber number) {
    double total = 0;
    for (const std::string& resource : resources) total += Used(view.node(number), resource, source);
    return is_ascending ? total : -total;
  };
  std::ranges::stable_sort(nodes, {}, sum);
}

// Like the descheduler: taints of any effect, and only where the pod has as many tolerations as the node has taints.
bool ToleratesSome(const StrategyRun& run, const api::Pod& pod, const std::vector<NodeNumber>& targets) {
  return std::ranges::any_of(targets, [&](NodeNumber number) {
    const std::vector<api::Taint>& taints = run.view.node(number).node->taints;
    return pod.spec.tolerations.size() >= taints.size() && std::ranges::all_of(taints, [&](const auto& taint) {
             return plugins::Tolerates(pod.spec.tolerations, taint);
           });
  });
}

struct Settings {
  const std::vector<std::string>& excluded_namespaces;
  std::optional<std::uint64_t> node_limit;
  std::vector<std::string> resources;
  // Stops at the high threshold of the source; else only when the targets are full.
  bool stops_at_high = false;
  UseSource source = {};
  // A query tells nothing of pods: what leaves a node is not known before the next measurement.
  bool is_by_query = false;
};

class Draining {
 public:
  Draining(const StrategyRun& run, const UtilizationGroups& groups, const Settings& settings)
      : round_(run), groups_(groups), settings_(settings) {
    for (const NodeNumber number : groups.targets) {
      const NodeView& node = run.view.node(number);
      for (const std::string& resource : settings.resources)
        available_[resource] +=
            static_cast<double>(CapacityAt(node, resource, groups.high)) - Used(node, resource, settings.source);
    }
  }

  // `takes` says which pods may leave. The text of a reason begins with what is said of the node.
  void Run(const auto& takes, const auto& reason) {
    for (const NodeNumber number : groups_.sources) {
      auto pods = round_.PodsOn(number, [&](const PodView& pod) { return !pod.is_finished && takes(pod); });
      SortByPriority(round_.view, pods);
      if (!DrainNode(number, pods, reason)) return;
    }
  }

 private:
  // Lets pods leave the node while that helps. False: no further node is looked at.
  bool DrainNode(NodeNumber number, const std::vector<PodNumber>& pods, const auto& reason) {
    const NodeView& node = round_.view.node(number);
    Amounts used;
    for (const std::string& resource : settings_.resources) used[resource] = Used(node, resource, settings_.source);
    if (!GoesOn(node, used)) return true;
    std::uint64_t evicted = 0;
    for (const PodNumber pod_number : pods) {
      const PodView& pod = round_.view.pod(pod_number);
      if (settings_.node_limit && evicted >= *settings_.node_limit) break;
      const auto& excluded = settings_.excluded_namespaces;
      if (!ToleratesSome(round_, *pod.pod, groups_.targets) || !round_.evictor.PreEvictionFilter(pod) ||
          std::ranges::find(excluded, pod.pod->metadata.namespace_name) != excluded.end())
        continue;
      const UseSource source = settings_.source;
      if (source && !settings_.is_by_query && !pod.measured[*source].is_known) continue;
      const EvictionAnswer answer = round_.Evict(pod_number, reason(node));
      if (answer == EvictionAnswer::kTotalLimit) return false;
      if (answer == EvictionAnswer::kNodeLimit) break;
      if (answer != EvictionAnswer::kEvicted) continue;
      ++evicted;
      if (settings_.is_by_query) {
        if (!settings_.node_limit) break;
        continue;
      }
      for (const std::string& resource : settings_.resources) {
        const double amount = UsedBy(pod, resource, source);
        used[resource] -= amount;
        available_[resource] -= amount;
      }
      if (!GoesOn(node, used)) break;
    }
    return true;
  }

  bool GoesOn(const NodeView& node, const Amounts& used) const {
    const bool is_above = std::ranges::any_of(used, [&](const auto& each) {
      return each.second > static_cast<double>(CapacityAt(node, each.first, groups_.high));
    });
    if (settings_.stops_at_high && !is_above) return false;
    return std::ranges::all_of(available_, [](const auto& each) { return each.second > 0; });
  }

  const StrategyRun& round_;
  const UtilizationGroups& groups_;
  const Settings& settings_;
  Amounts available_;  // in all targets
};

// Whether the groups are such that pods should move.
bool IsWorthIt(const std::vector<NodeNumber>& low, const std::vector<NodeNumber>& other, std::size_t node_count,
               std::int64_t number_of_nodes) {
  return !low.empty() && static_cast<std::int64_t>(low.size()) > number_of_nodes && low.size() != node_count &&
         !other.empty();
}

}  // namespace

double Used(const NodeView& node, std::string_view resource, UseSource source) {
  using namespace framework::resources;
  if (resource == kPods) return static_cast<double>(node.requested.pods);
  if (!source) return static_cast<double>(node.requested.Get(resource));
  const MeasuredUse& use = node.measured[*source];
  return resource == kCpu ? use.cpu_milli : resource == kMemory ? use.memory_bytes : use.percent;
}

double UsedBy(const PodView& pod, std::string_view resource, UseSource source) {
  using namespace framework::resources;
  if (resource == kPods) return 1;
  if (!source) return static_cast<double>(pod.requests.Get(resource));
  const MeasuredUse& use = pod.measured[*source];
  return resource == kCpu ? use.cpu_milli : resource == kMemory ? use.memory_bytes : use.percent;
}

std::int64_t Capacity(const NodeView& node, std::string_view resource) {
  if (resource == kMetricResource) return 100;
  return resource == framework::resources::kPods ? node.allocatable.pods : node.allocatable.Get(resource);
}

double PercentUsed(const NodeView& node, std::string_view resource, UseSource source) {
  const std::int64_t capacity = Capacity(node, resource);
  if (capacity <= 0) return 0;
  return Used(node, resource, source) / static_cast<double>(capacity) * 100;
}

std::string PercentText(double percent) { return std::to_string(std::llround(percent)) + " %"; }

bool IsWithin(const NodeView& node, const Thresholds& thresholds, UseSource source) {
  return std::ranges::all_of(thresholds,
                             [&](const auto& each) { return PercentUsed(node, each.first, source) <= each.second; });
}

UtilizationGroups GroupNodes(const LowNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes) {
  UtilizationGroups groups;
  groups.source = view.FindSource(args.metrics);
  groups.low = args.thresholds;
  groups.high = args.target_thresholds;
  if (args.use_deviation_thresholds) {
    groups.low.clear();
    groups.high.clear();
    for (const auto& [resource, percent] : args.thresholds) {
      const auto average = AverageUse(view, nodes, resource, groups.source);
      if (!average) continue;
      groups.low[resource] = Clamped(*average - percent);
      groups.high[resource] = Clamped(*average + args.target_thresholds.at(resource));
    }
  }
  for (const NodeNumber number : nodes) {
    const NodeView& node = view.node(number);
    if (!node.node->unschedulable && IsWithin(node, groups.low, groups.source)) {
      groups.targets.push_back(number);
    } else if (!IsWithin(node, groups.high, groups.source)) {
      groups.sources.push_back(number);
    }
  }
  SortByUse(view, ResourcesOf(args.thresholds, IsByQuery(args.metrics)), false, groups.sources, groups.source);
  return groups;
}

UtilizationGroups GroupNodes(const HighNodeUtilizationArgs& args, const ClusterView& view,
                             const std::vector<NodeNumber>& nodes) {
  UtilizationGroups groups;
  groups.low = args.thresholds;
  for (const auto& each : args.thresholds) groups.high[each.first] = 100;
  for (const NodeNumber number : nodes) {
    const NodeView& node = view.node(number);
    if (IsWithin(node, groups.low)) {
      groups.sources.push_back(number);
    } else if (!node.node->unschedulable) {
      groups.targets.push_back(number);
    }
  }
  SortByUse(view, ResourcesOf(args.thresholds), true, groups.sources);
  return groups;
}

void Run(const LowNodeUtilizationArgs& args, const StrategyRun& run) {
  BERTH_CHECK(!args.metrics || run.view.FindSource(args.metrics), args.metrics->query);
  const UtilizationGroups groups = GroupNodes(args, run.view, run.nodes);
  if (!IsWorthIt(groups.targets, groups.sources, run.nodes.size(), args.number_of_nodes)) return;
  const bool is_by_query = IsByQuery(args.metrics);
  const Settings settings{args.excluded_namespaces,
                          args.node_limit,
                          ResourcesOf(args.thresholds, is_by_query),
                          true,
                          groups.source,
                          is_by_query};
  const auto reason = [&](const NodeView& node) {
    std::string text = groups.source ? "its node is too full, as it is measured" : "its node is too full";
    for (const auto& [resource, percent] : groups.high) {
      const double used = PercentUsed(node, resource, groups.source);
      if (used > percent) text += ": " + (is_by_query ? "" : resource + " ") + PercentText(used);
    }
    return text;
  };
  Draining(run, groups, settings).Run([&](const PodView& pod) { return run.evictor.Filter(pod); }, reason);
}

void Run(const HighNodeUtilizationArgs& args, const StrategyRun& run) {
  const UtilizationGroups groups = GroupNodes(args, run.view, run.nodes);
  if (!IsWorthIt(groups.sources, groups.targets, run.nodes.size(), args.number_of_nodes)) return;
  const Settings settings{args.excluded_namespaces, std::nullopt, ResourcesOf(args.thresholds), false};
  const auto names_one = [&args](const PodView& pod) {
    const auto any = [&args](const std::vector<api::Container>& containers) {
      return std::ranges::any_of(containers, [&args](const api::Container& container) {
        return std::ranges::any_of(args.thresholds, [&container](const auto& each) {
          return api::FindResource(container.requests, each.first) != nullptr;
        });
      });
    };
    return any(pod.pod->spec.containers) || any(pod.pod->spec.init_containers);
  };
  const auto takes = [&](const PodView& pod) {
    return run.evictor.Filter(pod) && (!args.only_thresholding_resources || names_one(pod));
  };
  Draining(run, groups, settings).Run(takes, [](const NodeView&) { return std::string("its node is nearly empty"); });
}

}  // namespace berth::rebalance
