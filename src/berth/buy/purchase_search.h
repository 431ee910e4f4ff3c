// SPDX-License-Identifier: Apache-2.0
// PurchaseSearch: looks for the cheapest purchase that the core approves of. A packing (node_packer.h) proposes nodes,
// a trial places the pods, what is pending gets more nodes, and in the end nodes are left out or made smaller one by
// one. Deterministic, bounded by counted placements; one thread. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "berth/buy/purchase_demand.h"
#include "berth/buy/purchase_options.h"
#include "berth/buy/purchase_trial.h"

namespace berth::buy {

struct Candidate {
  Purchase purchase;
  std::int64_t price_micro = 0;
  std::size_t not_placed = 0;  // asked pods
};

class PurchaseSearch {
 public:
  // `bound_micro` is what no purchase can be cheaper than. All else must outlive it.
  PurchaseSearch(PurchaseTrial& trial, const PurchaseDemand& demand, const NodeCatalogue& catalogue,
                 const std::vector<Offer>& offers, const PurchaseOptions& options, std::int64_t bound_micro);

  // The best purchase, after the free room of the cluster. Its trial is the last one.
  Candidate Find();
  // The cheapest one of those tried that has other shapes; nullopt: there was none.
  const std::optional<Candidate>& second() const { return second_; }
  // Of Placement::kScheduler: one in which pods are told where to go, if it is cheaper.
  const std::optional<Candidate>& nominated() const { return nominated_; }
  bool is_interrupted() const { return is_interrupted_; }
  bool is_cut_short() const { return is_cut_short_; }
  // Of Placement::kScheduler: there are ways to break ties between nodes with which more pods stay pending, and no
  // further nodes that change it.
  bool needs_luck() const { return needs_luck_; }

 private:
  using OfferFilter = std::function<bool(std::size_t offer)>;

  bool IsOver();
  bool IsGoodEnough() const;
  std::int64_t PriceOf(const std::vector<std::size_t>& nodes) const;
  void UseFreeRoom();
  std::vector<ZoneCounts> ZonesOf(const TrialResult& result) const;
  // Adds nodes for these pods, of the offers that are allowed. False: there are none. A search by `steps_part` of the
  // steps that a packing may take.
  bool AddNodesFor(const std::vector<std::size_t>& pods, const std::vector<ZoneCounts>& placed,
                   const OfferFilter& is_allowed, Purchase& purchase, std::uint64_t steps_part = 1);
  void SpreadOverZones(const PackingProblem& problem, Packing& packing, const std::vector<std::size_t>& bought) const;
  Candidate Complete(Purchase purchase, const OfferFilter& is_allowed);
  Candidate TryAs(const Purchase& purchase);
  std::vector<std::size_t> Missing(const TrialResult& result) const;
  void Consider(const Candidate& candidate);
  void TrySingleShapes();
  void TryWith(const OfferFilter& is_allowed, const std::vector<ZoneCounts>& placed);
  void TryWithoutAZone();
  void TryOtherHomes();
  void TryWithoutMainShape();
  void Improve();
  bool DoTiesMatter() const;
  std::vector<std::uint64_t> WaysToBreakTies() const;
  void Confirm();
  bool DropSome(std::size_t offer);
  bool Downsize(std::size_t offer);
  std::vector<std::size_t> ShapesOf(const Candidate& candidate) const;

  PurchaseTrial& trial_;
  const PurchaseDemand& demand_;
  const NodeCatalogue& catalogue_;
  const std::vector<Offer>& offers_;
  const PurchaseOptions& options_;
  const std::int64_t bound_micro_;
  std::vector<std::size_t> wanting_;  // asked pods that need new nodes
  std::vector<ZoneCounts> at_home_;   // those that need none, by group and zone
  std::optional<Candidate> best_, second_, nominated_;
  bool is_interrupted_ = false;
  bool is_cut_short_ = false;
  bool needs_luck_ = false;
};

}  // namespace berth::buy
