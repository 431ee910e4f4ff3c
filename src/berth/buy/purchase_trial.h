// SPDX-License-Identifier: Apache-2.0
// PurchaseTrial: whether pods fit when some nodes are bought, and where each goes: the core places them one by one on
// the overlay, nodes and all. What it did is on the overlay until the next trial. Pods that no rule about other pods
// concerns are proved on one node of those that get the same pods. One thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/buy/node_offers.h"
#include "berth/buy/purchase_demand.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/node_table.h"
#include "berth/whatif/placement.h"

namespace berth::buy {

// A pod that goes where the scheduler likes it best.
inline constexpr std::uint32_t kAnywhere = std::numeric_limits<std::uint32_t>::max();

// How ties between nodes are broken in a trial: by chance, in another way for each number, or for all pods in one
// direction by the nodes' names, so that pods that come first pile up or take the nodes that others need. The latter
// scores every node for every pod.
inline constexpr std::uint64_t kFirstOfEqualNodes = std::numeric_limits<std::uint64_t>::max() - 1;
inline constexpr std::uint64_t kLastOfEqualNodes = std::numeric_limits<std::uint64_t>::max();

// New nodes, by the number of their offer, and for Placement::kNominated who goes where.
struct Purchase {
  std::vector<std::size_t> nodes;
  std::vector<std::uint32_t> targets;  // by asked pod: an index of `nodes`, or kAnywhere; empty: all go anywhere

  bool operator==(const Purchase&) const = default;
};

struct TrialResult {
  std::vector<framework::NodeIndex> rows;  // by asked pod; kNoNode: it fits nowhere
  std::vector<std::size_t> pending;        // asked pods that fit nowhere
  // Asked pods of which a new node has more than PurchaseOptions::disruption_share allows.
  std::vector<std::size_t> crowded;
  std::vector<framework::NodeIndex> node_rows;  // by new node
  std::vector<std::string> node_names;
  // All pods with a node are where they were told to go, and no rule about other pods concerns any of them: what the
  // scheduler does with the same nominations cannot be different.
  bool is_certain = false;

  std::size_t NotPlaced() const { return pending.size() + crowded.size(); }
};

class PurchaseTrial {
 public:
  // All arguments must outlive it. `homes`: see SetHomes().
  PurchaseTrial(scheduler::Overlay& overlay, const NodeCatalogue& catalogue, const std::vector<Offer>& offers,
                const std::vector<framework::AnyObject>& of_cluster, const PurchaseDemand& demand);

  // Where pods without a target are tried first, by asked pod: the name of a node of the cluster; empty: anywhere.
  void SetHomes(std::vector<std::string> homes) {
    homes_ = std::move(homes);
    last_.reset();
  }
  // The last run again costs nothing.
  const TrialResult& Run(const Purchase& purchase, std::uint64_t ties = 0);
  // Why a pod of the last run that is pending has no node, with the nodes as they were at the end.
  whatif::PlacementRefusal Explain(std::size_t pod);

  scheduler::Overlay& overlay() { return overlay_; }
  // Nodes that are there without the purchase.
  std::size_t cluster_node_count() const { return cluster_node_count_; }
  std::size_t pod_count() const { return demand_.pods().size(); }
  std::uint64_t placement_count() const { return placement_count_; }
  // What the last run took of it; before the first, as much as one may take.
  std::uint64_t run_cost() const { return run_cost_; }
  // Adds a node to what the last run left.
  framework::NodeIndex AddNode(std::size_t offer, const std::string& name);
  // The name of the next new node of the shape, `number` being how many there are.
  std::string NameOf(std::size_t offer, std::size_t number) const;

 private:
  // The pods of one new node, by group.
  using Company = std::map<std::size_t, std::int32_t>;

  void Buy(const Purchase& purchase, TrialResult& result);
  void PlaceAll(const Purchase& purchase, const std::vector<std::uint8_t>& is_proven, std::uint64_t ties,
                TrialResult& result);
  std::vector<std::uint8_t> FindProven(const Purchase& purchase);
  bool IsProven(std::size_t offer, const Company& company);
  void FindCrowded(TrialResult& result) const;

  scheduler::Overlay& overlay_;
  const NodeCatalogue& catalogue_;
  const std::vector<Offer>& offers_;
  const std::vector<framework::AnyObject>& of_cluster_;
  const PurchaseDemand& demand_;
  const scheduler::Overlay::Mark begin_;
  const std::size_t cluster_node_count_;
  std::vector<std::string> homes_;
  std::uint64_t placement_count_ = 0;
  std::uint64_t run_cost_ = 0;
  std::map<std::pair<std::size_t, Company>, bool> proven_;  // by offer
  struct Last {
    Purchase purchase;
    std::uint64_t ties = 0;
    scheduler::Overlay::Mark end = 0;
    TrialResult result;
  };
  std::optional<Last> last_;  // what is on the overlay
};

}  // namespace berth::buy
