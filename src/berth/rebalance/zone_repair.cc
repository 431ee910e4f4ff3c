// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/zone_repair.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

// The pod's owner, with its namespace; empty: it has none, or does not count.
std::string GroupOf(const ZoneRepairArgs& args, const PodView& pod) {
  if (pod.is_finished || pod.pod->metadata.deletion_time || !args.pods.Takes(*pod.pod) ||
      whatif::KindOf(*pod.pod) != whatif::PodKind::kOwned) {
    return {};
  }
  const whatif::TopOwner owner = whatif::TopOwnerOf(*pod.pod);
  return owner.name.empty() ? "" : pod.pod->metadata.namespace_name + '/' + owner.kind + ' ' + owner.name;
}

const std::string* ZoneOf(const ZoneRepairArgs& args, const NodeView& node) {
  return node.node->metadata.labels.Find(args.topology_key);
}

class ZoneViolation final : public Violation {
 public:
  ZoneViolation(const ZoneRepairArgs& args, const ClusterView& view) : args_(args), view_(view) {
    for (const PodView& pod : view.pods()) Count(pod, pod.node, 1);
  }

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    const std::string* const from_zone = ZoneOf(args_, view_.node(pod.node));
    const std::string* const to_zone = ZoneOf(args_, view_.node(to));
    if (from_zone == nullptr || to_zone == nullptr || *from_zone == *to_zone) return 0;
    const std::string group = GroupOf(args_, pod);
    return group.empty() ? 0 : 2.0 * static_cast<double>(At(group, *to_zone) - At(group, *from_zone) + 1);
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    const std::string group = GroupOf(args_, pod);
    const std::string& from_zone = *ZoneOf(args_, view_.node(pod.node));
    const std::string& to_zone = *ZoneOf(args_, view_.node(to));
    const auto change = [&](const std::string& zone, std::int64_t by) {
      return zone + ' ' + std::to_string(At(group, zone)) + " to " + std::to_string(At(group, zone) + by);
    };
    return change(from_zone, -1) + ", " + change(to_zone, 1);
  }
  void OnMove(const PodView& pod, NodeNumber to) override {
    Count(pod, pod.node, -1);
    Count(pod, to, 1);
  }

 private:
  std::int64_t At(const std::string& group, const std::string& zone) const {
    const auto at = counts_.find({group, zone});
    return at == counts_.end() ? 0 : at->second;
  }
  void Count(const PodView& pod, NodeNumber node, std::int64_t by) {
    const std::string* const zone = ZoneOf(args_, view_.node(node));
    std::string group = zone == nullptr ? "" : GroupOf(args_, pod);
    if (!group.empty()) counts_[{std::move(group), *zone}] += by;
  }

  const ZoneRepairArgs& args_;
  const ClusterView& view_;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_;
};

using ZonePods = std::map<std::string_view, std::vector<PodNumber>>;  // those that may go, by zone

// Objects to pods of the fullest zone as long as one of `zones`, where pods can be placed, has fewer by more than is
// allowed.
void Level(const ZoneRepairArgs& args, const StrategyRun& run, const std::map<std::string_view, std::int64_t>& zones,
           std::map<std::string_view, std::int64_t> counts, ZonePods& pods) {
  while (true) {
    auto least = counts.end();
    for (auto at = counts.begin(); at != counts.end(); ++at) {
      if (zones.contains(at->first) && (least == counts.end() || at->second < least->second)) least = at;
    }
    // The fullest zone from which a pod may go.
    auto most = counts.end();
    for (auto at = counts.begin(); at != counts.end(); ++at) {
      if (!pods[at->first].empty() && (most == counts.end() || at->second > most->second)) most = at;
    }
    if (most == counts.end() || most->second - least->second <= args.max_skew) return;
    std::vector<PodNumber>& of_zone = pods[most->first];
    const PodNumber pod = of_zone.back();
    of_zone.pop_back();
    if (!run.Object(pod, "zone " + std::string(most->first) + " has " + std::to_string(most->second) +
                             " pods of its owner, zone " + std::string(least->first) + ' ' +
                             std::to_string(least->second)))
      continue;
    --most->second;
    ++least->second;
  }
}

}  // namespace

void Run(const ZoneRepairArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  // The zones where a pod could be placed.
  std::map<std::string_view, std::int64_t> zones;
  for (const NodeNumber number : run.nodes) {
    const NodeView& node = view.node(number);
    const std::string* const zone = ZoneOf(args, node);
    if (zone != nullptr && !node.node->unschedulable) zones[*zone] = 0;
  }
  if (zones.size() < 2) return;
  struct Group {
    std::map<std::string_view, std::int64_t> counts;
    ZonePods pods;
  };
  std::map<std::string, Group> groups;
  for (const NodeNumber number : run.nodes) {
    const std::string* const zone = ZoneOf(args, view.node(number));
    if (zone == nullptr) continue;
    for (const PodNumber pod_number : view.node(number).pods) {
      const PodView& pod = view.pod(pod_number);
      const std::string name = GroupOf(args, pod);
      if (name.empty()) continue;
      Group& group = groups[name];
      if (group.counts.empty()) group.counts = zones;
      ++group.counts[*zone];
      if (!run.refused.contains(pod_number) && run.MayEvict(pod)) group.pods[*zone].push_back(pod_number);
    }
  }
  for (auto& each : groups) Level(args, run, zones, each.second.counts, each.second.pods);
}

std::unique_ptr<Violation> MakeViolation(const ZoneRepairArgs& args, const ClusterView& view) {
  return std::make_unique<ZoneViolation>(args, view);
}

}  // namespace berth::rebalance
