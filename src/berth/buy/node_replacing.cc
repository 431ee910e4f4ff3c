// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_replacing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "berth/buy/node_packer.h"
#include "berth/whatif/cluster_use.h"
#include "berth/whatif/eviction_budgets.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"

namespace berth::buy {
namespace {

using framework::kNoNode;
using framework::NodeIndex;
using PodPtr = std::shared_ptr<const api::Pod>;

// Cheaper offers that are tried in the place of one node.
constexpr std::size_t kOffersTriedMax = 6;

struct OldNode {
  std::string name;
  std::int64_t price_micro = 0;
  double idle_price = 0;  // of what no pod has requested
};

// A pod that has lost its node, and what comes in its place.
struct Displaced {
  PodPtr pod;             // null: an asked pod
  std::size_t asked = 0;  // its index
  framework::PodInfoPtr replacement;
};

class Replacer {
 public:
  Replacer(PurchaseTrial& trial, const PurchaseInput& input, const std::vector<Offer>& offers,
           const PurchaseDemand& demand, const PurchaseOptions& options, Purchase& purchase, TrialResult& result)
      : trial_(trial),
        overlay_(trial.overlay()),
        input_(input),
        offers_(offers),
        demand_(demand),
        options_(options),
        purchase_(purchase),
        result_(result),
        budgets_(input.state) {
    for (const PodPtr& pod : input.state.pods) pods_[pod->metadata.uid] = pod;
    for (std::size_t i = 0; i < demand.pods().size(); ++i) asked_[demand.pods()[i].info->uid] = i;
    for (std::size_t i = 0; i < offers.size(); ++i) by_price_.push_back(i);
    std::ranges::sort(by_price_, [&](std::size_t a, std::size_t b) {
      return PriceOf(a) != PriceOf(b) ? PriceOf(a) < PriceOf(b) : a < b;
    });
  }

  Replacing Go() {
    std::vector<OldNode> nodes = Candidates();
    // Several at once, onto nodes that a packing proposes: all, half of them, and so on.
    for (std::size_t count = nodes.size(); count > 1;) {
      const std::vector<OldNode> some(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count));
      if (TakeAwayForPacked(some)) {
        nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count));
        count = nodes.size();
      } else {
        count /= 2;
      }
    }
    // One at a time: onto what is there, or onto cheaper nodes.
    for (const OldNode& node : nodes) {
      if (receivers_.contains(node.name)) continue;
      if (!TakeAway({node}, {}) && !TakeAwayForPacked({node})) TakeAwayForOne(node);
    }
    return std::move(out_);
  }

 private:
  std::int64_t PriceOf(std::size_t offer) const { return input_.catalogue.shapes[offers_[offer].shape].price_micro; }

  bool IsOver() {
    if (options_.is_interrupted && options_.is_interrupted()) return true;
    out_.is_cut_short = out_.is_cut_short || trial_.placement_count() + placed_ > options_.placements_max * 2;
    return out_.is_cut_short;
  }

  // What the node costs: by its annotation, or as a shape of the catalogue of its instance type does.
  std::optional<std::int64_t> PriceOfNode(const api::Node& node, const whatif::NodeUse& use) const {
    if (use.price_micro) return use.price_micro;
    const std::string* type = node.metadata.labels.Find(kInstanceTypeLabel);
    if (type == nullptr) return std::nullopt;
    const std::string* capacity = node.metadata.labels.Find(kCapacityTypeLabel);
    for (const CatalogueShape& shape : input_.catalogue.shapes) {
      if (shape.name == *type && shape.is_spot == (capacity != nullptr && *capacity == kSpot)) return shape.price_micro;
    }
    return std::nullopt;
  }

  // Why the node has to stay; empty: its pods may go.
  std::string WhyStays(const framework::NodeInfo& info) {
    for (const framework::PodInfoPtr& info_of_pod : info.pods()) {
      const auto at = pods_.find(info_of_pod->uid);
      if (at == pods_.end()) continue;  // an asked pod
      const api::Pod& pod = *at->second;
      const whatif::PodKind kind = whatif::KindOf(pod);
      if (kind == whatif::PodKind::kBare) return "pod " + whatif::KeyOf(pod) + " has no controller";
      if (kind != whatif::PodKind::kOwned) continue;
      const auto answer = budgets_.Ask(pod).answer;
      if (answer != whatif::BudgetAnswer::kNone && answer != whatif::BudgetAnswer::kAllows)
        return "a PodDisruptionBudget keeps pod " + whatif::KeyOf(pod);
    }
    return "";
  }

  std::vector<OldNode> Candidates() {
    const auto uses = whatif::NodeUses(overlay_.nodes());
    std::vector<OldNode> nodes;
    std::size_t unpriced = 0;
    std::map<std::string, std::size_t> staying;
    for (const auto& node : input_.state.nodes) {
      const auto use = uses.find(node->metadata.name);
      if (use == uses.end()) continue;
      const auto price = PriceOfNode(*node, use->second);
      if (!price) {
        ++unpriced;
        continue;
      }
      const NodeIndex row = overlay_.nodes().Find(node->metadata.name);
      if (const std::string why = WhyStays(overlay_.nodes().Info(row)); !why.empty()) {
        ++staying[why];
        continue;
      }
      const double used = use->second.cpu_milli_of == 0 ? 1
                                                        : static_cast<double>(use->second.cpu_milli) /
                                                              static_cast<double>(use->second.cpu_milli_of);
      nodes.push_back({node->metadata.name, *price, static_cast<double>(*price) * (1 - used)});
    }
    if (unpriced > 0) {
      out_.notes.push_back("nodes that stay because nothing says what they cost: " + std::to_string(unpriced));
    }
    for (const auto& [why, count] : staying) out_.notes.push_back("a node stays: " + why);
    std::ranges::sort(nodes, [](const OldNode& a, const OldNode& b) {
      return a.idle_price != b.idle_price ? a.idle_price > b.idle_price : a.name < b.name;
    });
    return nodes;
  }

  // Takes the node and its pods off the overlay. Nothing: a pod could not be made anew.
  std::optional<std::vector<Displaced>> Remove(const std::string& name) {
    const NodeIndex row = overlay_.nodes().Find(name);
    const std::vector<framework::PodInfoPtr> on_it = overlay_.nodes().Info(row).pods();
    std::vector<Displaced> displaced;
    for (const framework::PodInfoPtr& info : on_it) {
      if (const auto asked = asked_.find(info->uid); asked != asked_.end()) {
        overlay_.RemovePod(info->uid);
        displaced.push_back({nullptr, asked->second, demand_.pods()[asked->second].info});
        continue;
      }
      const auto at = pods_.find(info->uid);
      if (at == pods_.end() || whatif::KindOf(*at->second) != whatif::PodKind::kOwned) {
        overlay_.RemovePod(info->uid);
        continue;
      }
      whatif::RemoveWithClaims(overlay_, *at->second);
      const whatif::Replacement fresh = whatif::MakeReplacement(overlay_, *at->second, info->uid + "-again");
      if (fresh.pod == nullptr) return std::nullopt;
      displaced.push_back({at->second, 0, fresh.pod});
    }
    overlay_.RemoveNode(name);
    return displaced;
  }

  // Whether the nodes can go when nodes of these offers are bought. If not, nothing has changed.
  bool TakeAway(const std::vector<OldNode>& old, const std::vector<std::size_t>& bought) {
    if (IsOver()) return false;
    std::vector<std::size_t> all = purchase_.nodes;
    all.insert(all.end(), bought.begin(), bought.end());
    if (!bought.empty() && !demand_.KeepsLimits(all)) return false;
    const scheduler::Overlay::Mark mark = overlay_.mark();
    std::vector<ReplacedNode> replaced;
    std::vector<NodeIndex> new_rows;
    std::vector<std::string> new_names;
    std::vector<std::pair<std::size_t, NodeIndex>> asked_rows;
    for (const std::size_t offer : bought) {
      std::string name;
      std::size_t number = 0;
      do {
        name = trial_.NameOf(offer, ++number);
      } while (overlay_.nodes().Find(name) != kNoNode);
      new_rows.push_back(trial_.AddNode(offer, name));
      new_names.push_back(std::move(name));
    }
    bool is_possible = true;
    std::vector<PodPtr> evicted;
    // All of the nodes are cordoned first, so that no pod goes from one to the other.
    std::vector<std::pair<std::size_t, std::vector<Displaced>>> to_place;
    for (std::size_t i = 0; i < old.size() && is_possible; ++i) {
      auto displaced = Remove(old[i].name);
      is_possible = displaced.has_value();
      if (displaced) to_place.emplace_back(i, *std::move(displaced));
    }
    whatif::Placer placer(overlay_);
    for (auto& [i, displaced] : to_place) {
      if (!is_possible) break;
      ReplacedNode& node = replaced.emplace_back(ReplacedNode{old[i].name, old[i].price_micro, {}});
      for (const Displaced& each : displaced) {
        is_possible = each.pod == nullptr || MayEvict(*each.pod, evicted);
        if (!is_possible) break;
        ++placed_;
        const NodeIndex row = placer.Place(each.replacement);
        is_possible = row != kNoNode;
        if (!is_possible) break;
        if (each.pod == nullptr) {
          asked_rows.emplace_back(each.asked, row);
        } else {
          node.moves.emplace_back(whatif::KeyOf(*each.pod), overlay_.nodes().Info(row).name());
        }
      }
    }
    if (!is_possible) {
      for (auto at = evicted.rbegin(); at != evicted.rend(); ++at) budgets_.GiveBack(**at);
      overlay_.UndoTo(mark);
      return false;
    }
    for (const auto& [pod, row] : asked_rows) result_.rows[pod] = row;
    for (const ReplacedNode& node : replaced) {
      for (const auto& [pod, to] : node.moves) receivers_.insert(to);
    }
    purchase_.nodes = std::move(all);
    result_.node_rows.insert(result_.node_rows.end(), new_rows.begin(), new_rows.end());
    result_.node_names.insert(result_.node_names.end(), new_names.begin(), new_names.end());
    out_.nodes.insert(out_.nodes.end(), replaced.begin(), replaced.end());
    return true;
  }

  bool MayEvict(const api::Pod& pod, std::vector<PodPtr>& evicted) {
    const auto answer = budgets_.Ask(pod).answer;
    if (answer != whatif::BudgetAnswer::kNone && answer != whatif::BudgetAnswer::kAllows) return false;
    if (budgets_.Take(pod)) evicted.push_back(pods_.at(pod.metadata.uid));
    return true;
  }

  void TakeAwayForOne(const OldNode& node) {
    std::size_t tried = 0;
    std::int64_t last = -1;
    for (const std::size_t offer : by_price_) {
      if (PriceOf(offer) >= node.price_micro || tried == kOffersTriedMax) return;
      if (PriceOf(offer) == last) continue;
      last = PriceOf(offer);
      ++tried;
      if (TakeAway({node}, {offer})) return;
    }
  }

  bool TakeAwayForPacked(const std::vector<OldNode>& old) {
    if (IsOver()) return false;
    const scheduler::Overlay::Mark mark = overlay_.mark();
    std::int64_t price = 0;
    std::vector<whatif::NewPod> pods;
    bool is_possible = true;
    for (const OldNode& node : old) {
      price += node.price_micro;
      const auto displaced = Remove(node.name);
      is_possible = is_possible && displaced.has_value();
      if (!is_possible) break;
      for (const Displaced& each : *displaced) {
        api::Pod fresh =
            whatif::AsNew(each.pod == nullptr ? *demand_.pods()[each.asked].model : *each.pod, each.replacement->uid);
        const std::string name = fresh.metadata.name;
        pods.push_back({std::make_shared<const api::Pod>(std::move(fresh)), name});
      }
    }
    std::vector<std::size_t> bought;
    if (is_possible) {
      placed_ += offers_.size() + pods.size();
      const PurchaseDemand own(overlay_, input_.catalogue, offers_, input_.state.objects, pods, {}, options_);
      std::vector<std::size_t> all;
      for (std::size_t i = 0; i < pods.size(); ++i) all.push_back(i);
      const Demand wanted = own.For(all, {}, purchase_.nodes);
      PackOptions options;
      options.steps_max = options_.packing_steps_max;
      options.is_interrupted = options_.is_interrupted;
      const PackResult packed = PackNodes(wanted.problem, options);
      is_possible = packed.packing.price_micro < price && packed.packing.LeftCount() == 0;
      for (const PackedNode& node : packed.packing.nodes) bought.push_back(node.offer);
    }
    overlay_.UndoTo(mark);
    return is_possible && TakeAway(old, bought);
  }

  PurchaseTrial& trial_;
  scheduler::Overlay& overlay_;
  const PurchaseInput& input_;
  const std::vector<Offer>& offers_;
  const PurchaseDemand& demand_;
  const PurchaseOptions& options_;
  Purchase& purchase_;
  TrialResult& result_;
  whatif::EvictionBudgets budgets_;
  std::map<std::string, PodPtr, std::less<>> pods_;        // of the cluster, by uid
  std::map<std::string, std::size_t, std::less<>> asked_;  // by uid
  std::vector<std::size_t> by_price_;                      // offers
  std::set<std::string, std::less<>> receivers_;           // nodes with moved pods, which are not moved twice
  std::uint64_t placed_ = 0;
  Replacing out_;
};

}  // namespace

Replacing ReplaceNodes(PurchaseTrial& trial, const PurchaseInput& input, const std::vector<Offer>& offers,
                       const PurchaseDemand& demand, const PurchaseOptions& options, Purchase& purchase,
                       TrialResult& result) {
  return Replacer(trial, input, offers, demand, options, purchase, result).Go();
}

}  // namespace berth::buy
