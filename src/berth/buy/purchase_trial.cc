// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "berth/core/runtime/outcome.h"

namespace berth::buy {

using framework::NodeIndex;

PurchaseTrial::PurchaseTrial(scheduler::Overlay& overlay, const NodeCatalogue& catalogue,
                             const std::vector<Offer>& offers, const std::vector<framework::AnyObject>& of_cluster,
                             const PurchaseDemand& demand)
    : overlay_(overlay),
      catalogue_(catalogue),
      offers_(offers),
      of_cluster_(of_cluster),
      demand_(demand),
      begin_(overlay.mark()) {}

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

TrialResult PurchaseTrial::Run(const Purchase& purchase, std::uint64_t ties) {
  overlay_.UndoTo(begin_);
  TrialResult result;
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
  // Runs with the same `ties` have the same seeds, and so the same answer.
  const std::vector<AskedPod>& pods = demand_.pods();
  std::uint64_t seed = ties * (pods.size() + 1);
  result.rows.assign(pods.size(), framework::kNoNode);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    framework::PodInfoPtr info = pods[i].info;
    const std::uint32_t target = purchase.targets.empty() ? kAnywhere : purchase.targets[i];
    const std::string* wanted = nullptr;
    if (target != kAnywhere) wanted = &result.node_names[target];
    if (target == kAnywhere && i < homes_.size() && !homes_[i].empty()) wanted = &homes_[i];
    if (wanted != nullptr) {
      auto nominated = std::make_shared<framework::PodInfo>(*info);
      nominated->nominated_node_name = *wanted;
      info = std::move(nominated);
    }
    ++placement_count_;
    const auto answer = overlay_.Evaluate(info, scheduler::Overlay::Detail::kChoice, ++seed);
    const NodeIndex row = answer.outcome.node;
    if (answer.outcome.result == runtime::Result::kFeasible && overlay_.Place(info, row).IsSuccess()) {
      result.rows[i] = row;
    } else {
      result.pending.push_back(i);
    }
  }
  FindCrowded(result);
  return result;
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
