// SPDX-License-Identifier: Apache-2.0
// PurchaseProof: makes a plan real in the copy of the cluster and lets the whole core schedule its pods, with the
// queue, groups, nominations and plugins that wait, which trials leave out. One thread's. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/buy/node_offers.h"
#include "berth/buy/purchase_demand.h"
#include "berth/buy/purchase_options.h"
#include "berth/buy/purchase_plan.h"
#include "berth/buy/purchase_trial.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::buy {

class PurchaseProof {
 public:
  // All arguments must outlive it.
  PurchaseProof(whatif::OfflineCluster& cluster, const PurchaseInput& input, const PurchaseOptions& options,
                const AskedObjects& asked, const PurchaseDemand& demand);

  // `all`: the asked pods. Says in `plan` what became of them. With Placement::kNominated, pods that stay pending
  // although they had places get more nodes, which `purchase` and `plan` have then.
  void Run(const std::vector<whatif::NewPod>& all, Purchase& purchase, PurchasePlan& plan);

 private:
  void MakeNode(std::size_t number);
  void Schedule(const std::vector<whatif::NewPod>& all, const std::vector<std::string>& nodes);
  std::vector<std::string> NodesOf(const std::vector<whatif::NewPod>& all) const;
  void LeaveOutNewZones(PackingProblem& problem) const;
  void BuyForRest();
  void GiveBack(std::size_t count);
  // `told`: the nodes that the pods were told when they were scheduled.
  void Settle(const std::vector<whatif::NewPod>& all, std::vector<std::string> told);

  whatif::OfflineCluster& cluster_;
  const PurchaseInput& input_;
  const PurchaseOptions& options_;
  const AskedObjects& asked_;
  const PurchaseDemand& demand_;
  Purchase* purchase_ = nullptr;
  PurchasePlan* plan_ = nullptr;
};

}  // namespace berth::buy
