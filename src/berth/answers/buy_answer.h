// SPDX-License-Identifier: Apache-2.0
// The answer of `berth buy` as lines for people and as JSON for programs, and the plan as manifests for those who make
// the nodes. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/buy/purchase_plan.h"
#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"

namespace berth::answers {

// `is_wide` adds where each pod would be, and where pods of nodes that go would go.
std::vector<std::string> BuyLines(const buy::PurchasePlan& plan, const buy::NodeCatalogue& catalogue, bool is_wide,
                                  const cli::Table::Style& style);

// docs/buy.md describes the fields.
codec::json::object BuyJson(const buy::PurchasePlan& plan, const buy::NodeCatalogue& catalogue);

// A NodeClaim of Karpenter for each new node. Fails for a shape of which the catalogue does not say its nodeClassRef.
Expected<codec::json::array> NodeClaims(const buy::PurchasePlan& plan, const buy::NodeCatalogue& catalogue);

// A MachineDeployment of Cluster API for each that gets more replicas: its name, and how many it has then.
codec::json::array MachineDeployments(const buy::PurchasePlan& plan, const buy::NodeCatalogue& catalogue);

}  // namespace berth::answers
