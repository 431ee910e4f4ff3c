// SPDX-License-Identifier: Apache-2.0
// ReplaceNodes: which nodes of the cluster may go, because their pods fit on the others or on new nodes that cost less.
// Each move is made on the overlay, by the core, after the asked pods have their places. Private to this folder; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/buy/purchase_demand.h"
#include "berth/buy/purchase_plan.h"
#include "berth/buy/purchase_trial.h"

namespace berth::buy {

struct Replacing {
  std::vector<ReplacedNode> nodes;
  std::vector<std::string> notes;
  bool is_cut_short = false;
};

// Goes on from the trial's last run, `result`, and keeps it true: `purchase` gets the nodes that are bought in the
// place of others.
Replacing ReplaceNodes(PurchaseTrial& trial, const PurchaseInput& input, const std::vector<Offer>& offers,
                       const PurchaseDemand& demand, const PurchaseOptions& options, Purchase& purchase,
                       TrialResult& result);

}  // namespace berth::buy
