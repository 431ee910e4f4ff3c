// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/back_to_spot.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/plugins/spot_first/spot_first_args.h"
#include "berth/plugins/spot_first/spot_labels.h"

namespace berth::rebalance {
namespace {

using plugins::SpotWish;

// Taints with which AWS' and Google's node agents announce that a node will be gone in a minute or two.
constexpr std::array<std::string_view, 2> kReclaimTaints = {"aws-node-termination-handler/spot-itn",
                                                            "cloud.google.com/impending-node-termination"};
// Weighs more than any number of pods that are only on the wrong kind of node.
constexpr double kReclaimWeight = 1e7;

// Why the node is about to go; empty: it is not.
std::string ReclaimOf(const BackToSpotArgs& args, const api::Node& node, Time now) {
  for (const api::Taint& taint : node.taints) {
    if (std::ranges::find(kReclaimTaints, taint.key) != kReclaimTaints.end() ||
        std::ranges::find(args.reclaim_taints, taint.key) != args.reclaim_taints.end()) {
      return "it has the taint " + taint.key;
    }
  }
  const std::string* const text = node.metadata.annotations.Find(kReclaimAtAnnotation);
  const auto at = text == nullptr ? std::nullopt : ParseRfc3339(*text);
  if (!at || *at - now > args.reclaim_within) return {};
  return std::string(kReclaimAtAnnotation) + " is " + FormatRfc3339(*at);
}

// What the strategy knows of nodes and pods.
class SpotFacts {
 public:
  SpotFacts(const BackToSpotArgs& args, const ClusterView& view, Time now) : args_(args) {
    std::vector<plugins::SpotLabels::Label> added;
    for (const BackToSpotArgs::Label& label : args.spot_labels) added.push_back({label.key, label.value});
    const plugins::SpotLabels labels(added);
    for (const NodeView& node : view.nodes())
      nodes_.push_back({labels.IsSpot(*node.node), ReclaimOf(args, *node.node, now)});
  }

  bool IsSpot(NodeNumber node) const { return nodes_[node].is_spot; }
  const std::string& Reclaim(NodeNumber node) const { return nodes_[node].reclaim; }

  bool WantsSpot(const PodView& pod) const {
    const std::string* const text = pod.pod->metadata.annotations.Find(plugins::kSpotAnnotation);
    const auto wish = text == nullptr ? std::nullopt : plugins::ParseSpotWish(*text);
    return wish ? *wish != SpotWish::kNever : args_.is_wanted;
  }

  double Of(const PodView& pod, NodeNumber node) const {
    if (!args_.pods.Takes(*pod.pod)) return 0;
    if (!nodes_[node].reclaim.empty()) return kReclaimWeight;
    return !nodes_[node].is_spot && WantsSpot(pod) ? 1 : 0;
  }

 private:
  struct Node {
    bool is_spot;
    std::string reclaim;
  };

  const BackToSpotArgs& args_;
  std::vector<Node> nodes_;
};

class SpotViolation final : public Violation {
 public:
  SpotViolation(const BackToSpotArgs& args, const ClusterView& view, Time now) : view_(view), facts_(args, view, now) {}
  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    return facts_.Of(pod, to) - facts_.Of(pod, pod.node);
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    if (!facts_.Reclaim(pod.node).empty()) return "away from " + view_.node(pod.node).name() + ", which will be gone";
    return facts_.IsSpot(to) ? "on demand to spot" : "spot to on demand";
  }

 private:
  const ClusterView& view_;
  SpotFacts facts_;
};

}  // namespace

void Run(const BackToSpotArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  const SpotFacts facts(args, view, run.now);
  const auto takes = [&](const PodView& pod) {
    return !pod.is_finished && args.pods.Takes(*pod.pod) && run.MayEvict(pod);
  };
  bool has_spot = false;
  // Nodes that are about to go need not be ready any more.
  for (NodeNumber node = 0; node < view.nodes().size(); ++node) {
    const std::string& reclaim = facts.Reclaim(node);
    has_spot |=
        facts.IsSpot(node) && reclaim.empty() && view.node(node).is_ready && !view.node(node).node->unschedulable;
    if (reclaim.empty()) continue;
    for (const PodNumber pod : run.PodsOn(node, takes)) {
      if (run.Object(pod, "its node will be taken back: " + reclaim)) run.objections.back().is_urgent = true;
    }
  }
  if (!has_spot) return;
  for (const NodeNumber node : run.nodes) {
    if (facts.IsSpot(node) || !facts.Reclaim(node).empty()) continue;
    const auto pods = run.PodsOn(node, [&](const PodView& pod) { return takes(pod) && facts.WantsSpot(pod); });
    for (const PodNumber pod : pods) run.Object(pod, "it runs on demand, and wants a spot node");
  }
}

std::unique_ptr<Violation> MakeViolation(const BackToSpotArgs& args, const ClusterView& view, Time now) {
  return std::make_unique<SpotViolation>(args, view, now);
}

}  // namespace berth::rebalance
