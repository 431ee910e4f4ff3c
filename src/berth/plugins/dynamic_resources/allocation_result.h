// SPDX-License-Identifier: Apache-2.0
// What DeviceAllocator found, as a claim's status has it. Functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/release.h"
#include "berth/plugins/dynamic_resources/resolved_claim.h"
#include "berth/plugins/helper/device_slices.h"

namespace berth::plugins {

// A device that was taken for a request or an alternative of it.
struct PickedDevice {
  const ResolvedRequest* resolved = nullptr;
  std::uint32_t device = 0;  // of the node's pools
  bool is_share = false;
  std::vector<std::pair<std::string, api::Quantity>> consumed;
};

// What was found for one claim. All must outlive it.
struct FoundClaim {
  const NodePools& pools;
  const ResolvedClaim& claim;
  const std::vector<PickedDevice>& picked;
  std::vector<const ResolvedRequest*> chosen;  // by request: it, or the alternative that was taken
};

// 8 for the first of a prioritised list, 7 for the second ...
std::int64_t PriorityScoreOf(const ResolvedClaim& claim, const std::vector<PickedDevice>& picked);

// What makes a node selector for the result impossible; nothing when it can be made.
std::string NodeSelectorError(const NodePools& pools, const ResolvedClaim& claim,
                              const std::vector<PickedDevice>& picked, const framework::DeviceRules& rules);

// `seed` makes the ids of shares, which are unique as long as seeds and claims' uids are.
api::AllocationResult MakeAllocationResult(const FoundClaim& found, std::string_view node_name, std::uint64_t seed,
                                           const framework::DeviceRules& rules = framework::DeviceRules());

}  // namespace berth::plugins
