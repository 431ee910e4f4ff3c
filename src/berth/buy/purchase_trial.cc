// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/outcome.h"
#include "berth/core/runtime/profile_plugins.h"

namespace berth::buy {
namespace {

// How often pods that are told their nodes are tried there again.
constexpr int kRetriesMax = 3;
// A pod that is proven is placed about so much faster than one about which the core is asked.
constexpr std::uint64_t kProvenPerPlacement = 8;
// Patterns of nodes that are remembered.
constexpr std::size_t kProvenMax = 100'000;

using framework::NodeIndex;

// The one of the best nodes that comes first by name, or last.
NodeIndex OneSidedChoice(const runtime::Outcome& outcome, std::uint64_t ties, const framework::NodeList& nodes) {
  if (outcome.best.empty()) return outcome.node;
  const auto name = [&](NodeIndex row) -> const std::string& { return nodes.Info(row).name(); };
  const auto [first, last] = std::ranges::minmax_element(outcome.best, {}, name);
  return ties == kFirstOfEqualNodes ? *first : *last;
}

}  // namespace

PurchaseTrial::PurchaseTrial(scheduler::Overlay& overlay, const NodeCatalogue& catalogue,
                             const std::vector<Offer>& offers, const std::vector<framework::AnyObject>& of_cluster,
                             const PurchaseDemand& demand)
    : overlay_(overlay),
      catalogue_(catalogue),
      offers_(offers),
      of_cluster_(of_cluster),
      demand_(demand),
      begin_(overlay.mark()),
      cluster_node_count_(overlay.nodes().node_count()),
      run_cost_(demand.pods().size()) {}

std::string PurchaseTrial::NameOf(std::size_t offer, std::size_t number) const {
  return catalogue_.shapes[offers_[offer].shape].name + "-new-" + std::to_string(number);
}

NodeIndex PurchaseTrial::AddNode(std::size_t offer, const std::string& name) {
  overlay_.SetNode(NodeNamed(offers_[offer], name));
  for (framework::AnyObject& object : ObjectsLike(of_cluster_, catalogue_.shapes[offers_[offer].shape].like, name))
    overlay_.SetObject(std::move(object));
  for (const auto& daemon : offers_[offer].daemons) overlay_.AddPod(overlay_.MakePod(DaemonOn(*daemon, name)));
  return overlay_.nodes().Find(name);
}

const TrialResult& PurchaseTrial::Run(const Purchase& purchase, std::uint64_t ties) {
  if (last_ && last_->ties == ties && last_->end == overlay_.mark() && last_->purchase == purchase)
    return last_->result;
  last_.reset();
  overlay_.UndoTo(begin_);
  const std::uint64_t before = placement_count_;
  TrialResult result;
  const std::vector<std::uint8_t> is_proven = FindProven(purchase);
  Buy(purchase, result);
  PlaceAll(purchase, is_proven, ties, result);
  FindCrowded(result);
  run_cost_ = placement_count_ - before;
  return last_.emplace(Last{purchase, ties, overlay_.mark(), std::move(result)}).result;
}

void PurchaseTrial::Buy(const Purchase& purchase, TrialResult& result) {
  std::map<std::string, std::size_t, std::less<>> numbers;  // of nodes by the name of their shape
  for (const std::size_t offer : purchase.nodes) {
    std::size_t& number = numbers[catalogue_.shapes[offers_[offer].shape].name];
    std::string name;
    do {
      name = NameOf(offer, ++number);
    } while (overlay_.nodes().Find(name) != framework::kNoNode);
    result.node_rows.push_back(AddNode(offer, name));
    result.node_names.push_back(std::move(name));
  }
}

// Pods that are told their nodes are placed there or wait until the others are placed, as they would in the queue: room
// elsewhere is kept for those that are told to go there. What waits in vain goes anywhere.
void PurchaseTrial::PlaceAll(const Purchase& purchase, const std::vector<std::uint8_t>& is_proven, std::uint64_t ties,
                             TrialResult& result) {
  const std::vector<AskedPod>& pods = demand_.pods();
  result.rows.assign(pods.size(), framework::kNoNode);
  result.is_certain = true;
  // New nodes that have a pod that was not told to go there.
  std::vector<bool> is_disturbed(purchase.nodes.size(), false);
  std::map<NodeIndex, std::size_t> node_of;
  for (std::size_t i = 0; i < result.node_rows.size(); ++i) node_of[result.node_rows[i]] = i;
  std::uint64_t proven_count = 0;
  const auto place = [&](std::size_t pod, bool only_as_told) {
    framework::PodInfoPtr info = pods[pod].info;
    const std::uint32_t target = purchase.targets.empty() ? kAnywhere : purchase.targets[pod];
    const bool is_alone = demand_.company().IsAlone(pods[pod].group);
    const std::string* wanted = nullptr;
    if (target != kAnywhere) wanted = &result.node_names[target];
    if (target == kAnywhere && pod < homes_.size() && !homes_[pod].empty()) wanted = &homes_[pod];
    if (target != kAnywhere && is_alone && is_proven[target] != 0 && !is_disturbed[target]) {
      auto placed = std::make_shared<framework::PodInfo>(*info);
      placed->node_name = *wanted;
      overlay_.AddPod(std::move(placed));
      result.rows[pod] = result.node_rows[target];
      ++proven_count;
      return true;
    }
    if (wanted != nullptr) {
      auto nominated = std::make_shared<framework::PodInfo>(*info);
      nominated->nominated_node_name = *wanted;
      info = std::move(nominated);
    }
    ++placement_count_;
    using Detail = scheduler::Overlay::Detail;
    const bool is_one_sided = ties == kFirstOfEqualNodes || ties == kLastOfEqualNodes;
    const auto answer =
        overlay_.Evaluate(info, is_one_sided ? Detail::kAll : Detail::kChoice, ties * (pods.size() + 1) + pod + 1);
    const NodeIndex row = is_one_sided ? OneSidedChoice(answer.outcome, ties, overlay_.nodes()) : answer.outcome.node;
    const bool is_told = wanted != nullptr && answer.outcome.is_nominated_node;
    if (only_as_told && wanted != nullptr && !is_told) return false;
    const bool fits = answer.outcome.result == runtime::Result::kFeasible;
    if (demand_.groups()[pods[pod].group].fits_some)
      result.is_certain = result.is_certain && fits && is_told && is_alone && answer.evaluator.NodeEpoch().has_value();
    if (!fits || !overlay_.Place(info, row).IsSuccess()) return false;
    result.rows[pod] = row;
    if (const auto at = node_of.find(row); !is_told && at != node_of.end()) is_disturbed[at->second] = true;
    return true;
  };
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (!place(i, true)) waiting.push_back(i);
  }
  const auto is_placed = [&](std::size_t pod) { return result.rows[pod] != framework::kNoNode; };
  for (int retry = 0; retry < kRetriesMax && !purchase.targets.empty() && !waiting.empty(); ++retry) {
    const std::size_t before = waiting.size();
    std::erase_if(waiting, [&](std::size_t pod) { return purchase.targets[pod] != kAnywhere && place(pod, true); });
    if (waiting.size() == before) break;
  }
  for (const std::size_t pod : waiting) {
    const bool has_waited = !purchase.targets.empty() && purchase.targets[pod] != kAnywhere;
    if (has_waited || (pod < homes_.size() && !homes_[pod].empty())) static_cast<void>(place(pod, false));
    if (!is_placed(pod)) result.pending.push_back(pod);
  }
  placement_count_ += proven_count / kProvenPerPlacement;
}

// Whether each of the new nodes takes all pods that are told to go there, as far as they are alone.
std::vector<std::uint8_t> PurchaseTrial::FindProven(const Purchase& purchase) {
  std::vector<std::uint8_t> is_proven(purchase.nodes.size(), 0);
  if (purchase.targets.empty()) return is_proven;
  std::vector<Company> companies(purchase.nodes.size());
  for (std::size_t i = 0; i < purchase.targets.size(); ++i) {
    if (purchase.targets[i] != kAnywhere) ++companies[purchase.targets[i]][demand_.pods()[i].group];
  }
  for (std::size_t i = 0; i < companies.size(); ++i) is_proven[i] = IsProven(purchase.nodes[i], companies[i]) ? 1 : 0;
  return is_proven;
}

// Filters whose answers rest on the node and its pods alone say the same of each node of an offer with the same pods,
// and what takes the last pod has taken those before it. So the core is asked once, about the last pod of each group.
bool PurchaseTrial::IsProven(std::size_t offer, const Company& company) {
  const auto is_alone = [&](const auto& part) { return demand_.company().IsAlone(part.first); };
  if (std::ranges::none_of(company, is_alone)) return false;
  if (proven_.size() >= kProvenMax) proven_.clear();
  const auto [known, is_new] = proven_.try_emplace({offer, company}, false);
  if (!is_new) return known->second;
  const scheduler::Overlay::Mark mark = overlay_.mark();
  const std::string& name = offers_[offer].model->metadata.name;
  const NodeIndex row = AddNode(offer, name);
  const auto add = [&](std::size_t pod) {
    auto placed = std::make_shared<framework::PodInfo>(*demand_.pods()[pod].info);
    placed->node_name = name;
    overlay_.AddPod(std::move(placed));
  };
  for (const auto& [group, count] : company) {
    for (std::int32_t i = 0; i < count; ++i) add(demand_.groups()[group].pods[static_cast<std::size_t>(i)]);
  }
  bool is_proven = true;
  for (const auto& [group, count] : company) {
    if (!demand_.company().IsAlone(group)) continue;
    const std::size_t last = demand_.groups()[group].pods[static_cast<std::size_t>(count) - 1];
    const framework::PodInfo& pod = *demand_.pods()[last].info;
    const runtime::ProfilePlugins* const profile = overlay_.ProfileOf(pod);
    is_proven = profile != nullptr && profile->own.empty() && overlay_.RemovePod(pod.uid);
    if (!is_proven) break;
    auto nominated = std::make_shared<framework::PodInfo>(pod);
    nominated->nominated_node_name = name;
    ++placement_count_;
    const auto answer = overlay_.Evaluate(nominated, scheduler::Overlay::Detail::kChoice);
    is_proven = answer.outcome.result == runtime::Result::kFeasible && answer.outcome.node == row &&
                answer.outcome.is_nominated_node && answer.evaluator.NodeEpoch().has_value();
    if (!is_proven) break;
    add(last);
  }
  overlay_.UndoTo(mark);
  known->second = is_proven;
  return is_proven;
}

void PurchaseTrial::FindCrowded(TrialResult& result) const {
  const std::vector<AskedPod>& pods = demand_.pods();
  std::map<std::pair<std::size_t, NodeIndex>, std::int32_t> counts;
  std::vector<bool> is_new(overlay_.nodes().row_count(), false);
  for (const NodeIndex row : result.node_rows) is_new[row] = true;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::int32_t most = demand_.groups()[pods[i].group].per_node_max;
    if (result.rows[i] == framework::kNoNode || most >= static_cast<std::int32_t>(pods.size())) continue;
    if (is_new[result.rows[i]] && ++counts[{pods[i].group, result.rows[i]}] > most) result.crowded.push_back(i);
  }
}

whatif::PlacementRefusal PurchaseTrial::Explain(std::size_t pod) {
  whatif::Placer placer(overlay_);
  if (placer.Place(demand_.pods()[pod].info) != framework::kNoNode) {
    return {
        "it fits now, where it did not when it was its turn: rules about other pods depend on the order", {}, {}, {}};
  }
  return placer.Explain(demand_.pods()[pod].info, false);
}

}  // namespace berth::buy
