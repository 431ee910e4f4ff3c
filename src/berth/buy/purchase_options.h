// SPDX-License-Identifier: Apache-2.0
// PurchaseOptions: what somebody who buys nodes wants beside room for the pods. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::buy {

// Who sees to it that pods go where the plan has them.
enum class Placement : std::uint8_t {
  // Nobody: the plan holds when pods come in their order and the scheduler takes the node that it likes best.
  kScheduler,
  // The pods' status.nominatedNodeName, which schedulers try first. Nodes can be filled more closely.
  kNominated,
};

inline constexpr std::uint64_t kPlacementsMax = 3'000'000;

struct PurchaseOptions {
  std::optional<std::size_t> nodes_max;  // new ones
  std::vector<std::string> zones;        // of new nodes; empty: all of the catalogue
  // At most this share of the CPU of new nodes is of spot nodes; 1: all of it may be.
  double spot_share = 1;
  // At most this share of a workload's pods is on one new node, but one pod always may be; 1: all may be.
  double disruption_share = 1;
  Placement placement = Placement::kScheduler;
  // May take away nodes whose pods fit elsewhere, or on cheaper new nodes.
  bool replaces = false;
  // Bounds of the search: pods that are placed on trial, and steps of packing (PackOptions::steps_max) of one packing.
  std::uint64_t placements_max = kPlacementsMax;
  std::uint64_t packing_steps_max = 10'000'000;
  // Asked now and then; true: end with the best plan so far.
  std::function<bool()> is_interrupted{};
};

}  // namespace berth::buy
