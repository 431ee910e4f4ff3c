// SPDX-License-Identifier: Apache-2.0
// PodSeating: which pod of a kind goes to which of the nodes that a packing has filled with that kind. All are alike to
// the packing; here hard rules that spread pods over zones and nodes are kept wherever there is a choice, in the order
// in which pods are scheduled. One thread's. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/buy/node_offers.h"
#include "berth/buy/packing_problem.h"
#include "berth/buy/purchase_demand.h"

namespace berth::buy {

class PodSeating {
 public:
  // All arguments must outlive it. `placed`: pods by group and zone that have a node already; empty: none.
  PodSeating(const PurchaseDemand& demand, const std::vector<Offer>& offers, const std::vector<ZoneCounts>& placed);

  // Writes the node of each pod of `wanted` that has one to `targets`, by asked pod; `first` is the number of the
  // packing's first node.
  void Seat(const Demand& wanted, const Packing& packing, std::uint32_t first, std::vector<std::uint32_t>& targets);

 private:
  // Nodes that look alike here are tried until that many have been looked at.
  static constexpr std::size_t kLooksMax = 48;

  struct Seats {
    std::uint32_t node = 0;  // of the packing
    std::int32_t count = 0;
  };
  // Those of one kind that are free, by zone.
  using SeatsByZone = std::map<std::string, std::vector<Seats>>;

  std::int64_t CostOfZone(std::size_t group, const std::string& zone) const;
  std::int64_t CostOfNode(std::size_t group, std::size_t node) const;
  void Take(std::size_t group, const std::string& zone, std::size_t node);

  const PurchaseDemand& demand_;
  const std::vector<Offer>& offers_;
  std::vector<std::string> zones_;                         // of all offers
  std::vector<ZoneCounts> of_zones_;                       // by rule: pods that it counts
  std::vector<std::vector<std::int32_t>> of_nodes_;        // by rule and node: the same
  std::vector<std::vector<std::size_t>> bound_, counted_;  // by group: rules that bind its pods, that count them
};

}  // namespace berth::buy
