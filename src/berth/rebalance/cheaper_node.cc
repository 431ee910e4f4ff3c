// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheaper_node.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "berth/plugins/best_price/price.h"
#include "berth/plugins/best_price/price_column.h"
#include "berth/rebalance/cheap_packing.h"
#include "berth/rebalance/packing_view.h"
#include "berth/rebalance/pod_age.h"

namespace berth::rebalance {
namespace {

std::string PriceText(double price) {
  return plugins::FormatPrice(std::llround(price * static_cast<double>(plugins::kPriceMicroPerUnit)));
}

double PartOf(std::int64_t amount, std::int64_t capacity) {
  if (amount <= 0) return 0;
  return capacity > 0 ? static_cast<double>(amount) / static_cast<double>(capacity) : 1;
}

class PriceViolation final : public Violation {
 public:
  PriceViolation(const CheaperNodeArgs& args, const ClusterView& view) : args_(args), prices_(args, view) {}

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    if (to == pod.node || !args_.pods.Takes(*pod.pod)) return 0;
    return prices_.CostOf(pod, to) - prices_.CostOf(pod, pod.node);
  }
  std::string WhyNotTarget(const PodView& pod, NodeNumber to) const override {
    if (!prices_.HasPrice(to)) return "the node has no price";
    if (PaysOff(args_, prices_.CostOf(pod, pod.node), prices_.CostOf(pod, to))) return {};
    return "it would save too little";
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    return PriceText(prices_.CostOf(pod, pod.node)) + " to " + PriceText(prices_.CostOf(pod, to)) + " an hour";
  }

 private:
  const CheaperNodeArgs& args_;
  NodePrices prices_;
};

}  // namespace

NodePrices::NodePrices(const CheaperNodeArgs& args, const ClusterView& view) : view_(view) {
  plugins::BestPriceArgs from;
  if (!args.annotations.empty()) from.annotations = args.annotations;
  std::map<std::tuple<std::optional<double>, std::int64_t, std::int64_t, std::int64_t>, std::size_t> kinds;
  std::set<std::size_t> shown;
  for (NodeNumber i = 0; i < view.nodes().size(); ++i) {
    const NodeView& node = view.node(i);
    const plugins::NodePrice price = plugins::PriceOf(*node.node, from);
    std::optional<double>& slot = prices_.emplace_back();
    if (price.micro) slot = static_cast<double>(*price.micro) / static_cast<double>(plugins::kPriceMicroPerUnit);
    const std::tuple counts{slot, node.allocatable.cpu_milli, node.allocatable.memory_bytes, node.allocatable.pods};
    kinds_.push_back(kinds.try_emplace(counts, kinds.size()).first->second);
    if (!slot) continue;
    dearest_ = std::max(dearest_, *slot);
    if (node.is_ready && !node.node->unschedulable && shown.insert(kinds_.back()).second) examples_.push_back(i);
  }
}

double NodePrices::CostOf(const PodView& pod, NodeNumber number) const {
  const NodeView& node = view_.node(number);
  double part = std::max(PartOf(pod.requests.cpu_milli, node.allocatable.cpu_milli),
                         PartOf(pod.requests.memory_bytes, node.allocatable.memory_bytes));
  // A pod that requests nothing takes at least the place of one pod.
  part = std::max(part, PartOf(1, node.allocatable.pods));
  return PriceOf(number) * std::min(part, 1.0);
}

bool PaysOff(const CheaperNodeArgs& args, double from, double to) {
  const double saving = from - to;
  const double hours = std::chrono::duration<double, std::ratio<3600>>(args.horizon).count();
  const double restart =
      static_cast<double>(args.restart_cost_micro) / static_cast<double>(plugins::kPriceMicroPerUnit);
  return saving > 0 && saving >= from * args.min_saving_percent / 100 && saving * hours > restart;
}

void Run(const CheaperNodeArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  const NodePrices prices(args, view);
  if (prices.empty()) return;
  // The pods for which there is a cheaper kind of node at all.
  PackingView packing(run);
  PackingProblem& problem = packing.problem();
  const auto cost = [&](std::size_t item, std::size_t bin) {
    return prices.CostOf(view.pod(packing.PodOf(item)), packing.NodeOf(bin));
  };
  const auto reason = [&](std::size_t item, double there) {
    return "it costs " + PriceText(cost(item, problem.items[item].bin)) + " an hour, and elsewhere " + PriceText(there);
  };
  std::map<std::size_t, double> cheapest;  // by item
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    PackingItem& of = problem.items[item];
    const PodView& pod = view.pod(packing.PodOf(item));
    const double here = cost(item, of.bin);
    double best = here;
    for (const NodeNumber each : prices.examples()) best = std::min(best, prices.CostOf(pod, each));
    of.may_move = of.may_move && prices.HasPrice(pod.node) && args.pods.Takes(*pod.pod) &&
                  !HasJustCome(pod, args.min_stay, run.now) && PaysOff(args, here, best);
    if (of.may_move) cheapest[item] = best;
  }
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin)
    problem.bins[bin].may_receive = problem.bins[bin].may_receive && prices.HasPrice(packing.NodeOf(bin));
  ItemPrices how{cost, [&args](double from, double to) { return PaysOff(args, from, to); }, {}};
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) how.kinds.push_back(prices.KindOf(packing.NodeOf(bin)));
  for (const PackingMove& move : MoveForLess(problem, how)) {
    cheapest.erase(move.item);
    if (run.Object(packing.PodOf(move.item), reason(move.item, cost(move.item, move.to))))
      run.objections.back().wanted = packing.NodeOf(move.to);
  }
  // Other pods may find room after the core has decided about the proposed moves.
  for (const auto& [item, there] : cheapest) run.Object(packing.PodOf(item), reason(item, there));
}

std::unique_ptr<Violation> MakeViolation(const CheaperNodeArgs& args, const ClusterView& view) {
  return std::make_unique<PriceViolation>(args, view);
}

}  // namespace berth::rebalance
