// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/custom_metric.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/plugins/helper/outside_source.h"

namespace berth::rebalance {
namespace {

constexpr double kPairWeight = 1e4;  // above a metric: a pair that is together fails together

const std::string* LabelOf(const MetricSample& sample, const std::string& label) {
  const auto at = sample.labels.find(label);
  return at == sample.labels.end() ? nullptr : &at->second;
}

// "0.95", "1.2e+09".
std::string NumberText(double value) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.4g", value);
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

// Which pods and nodes cross the line, and which pods are pairs.
class MetricFacts {
 public:
  MetricFacts(const CustomMetricArgs& args, const ClusterView& view, const Measurements* measurements)
      : args_(args), view_(view) {
    if (measurements != nullptr) {
      const auto answer = measurements->answers.find(args.FullQuery());
      if (answer != measurements->answers.end()) {
        for (const MetricSample& sample : answer->second) Take(sample);
      }
    }
    if (!args.pair) return;
    for (PodNumber number = 0; number < view.pods().size(); ++number) {
      if (std::string pair = PairOf(view.pod(number)); !pair.empty()) pairs_[std::move(pair)].push_back(number);
    }
  }

  // The measured value of the pod or of its node, if that is beyond the line.
  std::optional<double> Crossed(const PodView& pod) const {
    const bool is_of_node = args_.of == CustomMetricArgs::Of::kNode;
    const auto at = crossed_.find(is_of_node ? view_.node(pod.node).name() : pod.Key());
    return at == crossed_.end() ? std::nullopt : std::optional(at->second);
  }
  bool IsCrossedOn(NodeNumber node) const {
    return args_.of == CustomMetricArgs::Of::kNode && crossed_.contains(view_.node(node).name());
  }

  // The pod's pair, with its namespace; empty: it has none.
  std::string PairOf(const PodView& pod) const {
    if (!args_.pair || pod.is_finished || pod.pod->metadata.deletion_time || !args_.pods.Takes(*pod.pod)) return {};
    const std::string* const value = pod.pod->metadata.labels.Find(args_.pair->label);
    return value == nullptr || value->empty() ? "" : pod.pod->metadata.namespace_name + '/' + *value;
  }
  // The other pods of its pair.
  std::vector<const PodView*> PartnersOf(const PodView& pod) const {
    std::vector<const PodView*> partners;
    const auto at = pairs_.find(PairOf(pod));
    if (at == pairs_.end()) return partners;
    for (const PodNumber number : at->second) {
      if (&view_.pod(number) != &pod) partners.push_back(&view_.pod(number));
    }
    return partners;
  }
  bool IsTogether(NodeNumber a, NodeNumber b) const {
    if (a == b) return true;
    const std::string* const x = view_.node(a).node->metadata.labels.Find(args_.pair->topology_key);
    const std::string* const y = view_.node(b).node->metadata.labels.Find(args_.pair->topology_key);
    return x != nullptr && y != nullptr && *x == *y;
  }
  std::size_t CountTogether(const PodView& pod, NodeNumber node) const {
    if (!args_.pair) return 0;
    const auto partners = PartnersOf(pod);
    return static_cast<std::size_t>(
        std::ranges::count_if(partners, [&](const PodView* each) { return IsTogether(node, each->node); }));
  }

 private:
  void Take(const MetricSample& sample) {
    const bool is_beyond = args_.above ? sample.value > *args_.above : sample.value < *args_.below;
    if (!is_beyond) return;
    std::string key;
    if (args_.of == CustomMetricArgs::Of::kNode) {
      const std::string* const node = LabelOf(sample, args_.node_label);
      if (node == nullptr) return;
      // "node-1:9100" is node-1.
      key = view_.FindNode(*node) ? *node : std::string(plugins::WithoutPort(*node));
    } else {
      const std::string* const name_space = LabelOf(sample, args_.namespace_label);
      const std::string* const pod = LabelOf(sample, args_.pod_label);
      if (name_space == nullptr || pod == nullptr) return;
      key = *name_space + "/" + *pod;
    }
    // Of several series the one that is furthest beyond the line counts.
    const auto [at, is_new] = crossed_.try_emplace(std::move(key), sample.value);
    if (!is_new && (args_.above ? sample.value > at->second : sample.value < at->second)) at->second = sample.value;
  }

  const CustomMetricArgs& args_;
  const ClusterView& view_;
  std::map<std::string, double, std::less<>> crossed_;  // by node or "namespace/pod"
  std::map<std::string, std::vector<PodNumber>> pairs_;
};

class MetricViolation final : public Violation {
 public:
  MetricViolation(const CustomMetricArgs& args, const ClusterView& view, const Measurements* measurements)
      : args_(args), facts_(args, view, measurements) {
    for (const PodView& pod : view.pods()) {
      if (args.of == CustomMetricArgs::Of::kPod && !pod.is_finished && facts_.Crossed(pod))
        home_.emplace(pod.pod->metadata.uid, pod.node);
    }
  }

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    if (to == pod.node || !args_.pods.Takes(*pod.pod)) return 0;
    return Of(pod, to) - Of(pod, pod.node);
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    if (facts_.CountTogether(pod, to) < facts_.CountTogether(pod, pod.node)) return "its pair is apart";
    return "away from where the line is crossed";
  }
  // A pair is only as safe as the one of the two that stays.
  std::string WhyNotTarget(const PodView& pod, NodeNumber /*to*/) const override {
    const auto partners = facts_.PartnersOf(pod);
    if (partners.empty() && !facts_.PairOf(pod).empty()) return "no other pod of its pair is there";
    for (const PodView* partner : partners) {
      if (partner->is_moved) return partner->Key() + " of its pair would move at the same time";
      if (!IsReady(*partner)) return partner->Key() + " of its pair is not ready";
    }
    return {};
  }

 private:
  static bool IsReady(const PodView& pod) {
    const auto& conditions = pod.details->status.conditions;
    const auto at = std::ranges::find_if(conditions, [](const auto& each) { return each.type == "Ready"; });
    return at == conditions.end() || at->status == "True";
  }
  double Of(const PodView& pod, NodeNumber node) const {
    double sum = kPairWeight * static_cast<double>(facts_.CountTogether(pod, node));
    if (args_.of == CustomMetricArgs::Of::kNode) return sum + (facts_.IsCrossedOn(node) ? 1 : 0);
    const auto home = home_.find(pod.pod->metadata.uid);
    return sum + (home != home_.end() && home->second == node ? 1 : 0);
  }

  const CustomMetricArgs& args_;
  MetricFacts facts_;
  std::map<std::string, NodeNumber, std::less<>> home_;  // of pods that crossed the line: where that was, by uid
};

bool IsActive(const CustomMetricArgs& args, const PodView& pod) {
  return args.pair && args.pair->active && args.pair->active->Matches(pod.pod->metadata.labels);
}

}  // namespace

Expected<void> CheckSamples(const CustomMetricArgs& args, const Measurements* measurements) {
  if (measurements == nullptr) return InvalidError("CustomMetric goes by a query, and there are no measurements here");
  const auto answer = measurements->answers.find(args.FullQuery());
  if (answer == measurements->answers.end())
    return Error{ErrorCode::kUnavailable, "Prometheus: the query was not asked"};
  std::vector<std::string_view> wanted{args.node_label};
  if (args.of == CustomMetricArgs::Of::kPod) wanted = {args.namespace_label, args.pod_label};
  for (const MetricSample& sample : answer->second) {
    for (const std::string_view label : wanted) {
      if (!sample.labels.contains(label)) {
        return Error{ErrorCode::kUnavailable,
                     "Prometheus: a series of CustomMetric's query has no label \"" + std::string(label) + "\""};
      }
    }
  }
  return {};
}

void Run(const CustomMetricArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  const MetricFacts facts(args, view, run.measurements);
  const std::string line =
      args.above ? "above " + NumberText(*args.above) : "below " + NumberText(args.below.value_or(0));
  std::set<std::string> of_pairs;  // of which one pod has been named
  // Active pods last: while another one of the pair can go, they stay.
  for (const bool active : {false, true}) {
    for (const NodeNumber number : run.nodes) {
      std::size_t of_node = view.CountLeft(number);
      const auto pods = run.PodsOn(number, [&](const PodView& pod) {
        return !pod.is_finished && args.pods.Takes(*pod.pod) && IsActive(args, pod) == active && run.MayEvict(pod);
      });
      for (const PodNumber pod_number : pods) {
        const PodView& pod = view.pod(pod_number);
        const std::string pair = facts.PairOf(pod);
        if (run.refused.contains(pod_number) || of_pairs.contains(pair)) continue;
        const std::optional<double> value = facts.Crossed(pod);
        const bool is_together = facts.CountTogether(pod, pod.node) > 0;
        if (!is_together && (!value || pod.is_moved)) continue;
        if (!is_together && args.of == CustomMetricArgs::Of::kNode && of_node >= args.moves_per_node) break;
        ++of_node;
        if (!pair.empty()) of_pairs.insert(pair);
        run.Object(pod_number,
                   is_together ? "it is together with another pod of its pair " + pair
                               : std::string(args.of == CustomMetricArgs::Of::kNode ? "its node is at " : "it is at ") +
                                     NumberText(*value) + ", " + line);
      }
    }
  }
}

std::unique_ptr<Violation> MakeViolation(const CustomMetricArgs& args, const ClusterView& view,
                                         const Measurements* measurements) {
  return std::make_unique<MetricViolation>(args, view, measurements);
}

}  // namespace berth::rebalance
