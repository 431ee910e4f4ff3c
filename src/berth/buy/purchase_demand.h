// SPDX-License-Identifier: Apache-2.0
// PurchaseDemand: the pods that are to fit, by classes, and which offers take a class at all. The core says the latter:
// it looks at one node of each offer beside the cluster. Rules about other new pods are left out there, and for the
// packing zones that spread or exclude pods become a number of pods for each zone. One thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/buy/node_offers.h"
#include "berth/buy/packing_problem.h"
#include "berth/buy/pod_company.h"
#include "berth/buy/purchase_options.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/pod_info.h"
#include "berth/whatif/additions.h"

namespace berth::buy {

// What a rule about pods of the same group says of zones.
enum class ZoneRule : std::uint8_t { kNone, kSpread, kExclude, kTogether };

inline constexpr std::size_t kNoRule = std::numeric_limits<std::size_t>::max();

using ZoneCounts = std::map<std::string, std::int64_t, std::less<>>;

struct AskedPod {
  std::shared_ptr<const api::Pod> model;  // all of it but name and uid (whatif::NewPod)
  framework::PodInfoPtr info;
  std::size_t group = 0;
  bool is_pending = false;  // of the cluster, not of a manifest
};

// Pods that the scheduler cannot tell from each other, of one workload.
struct AskedGroup {
  whatif::Workload workload;
  framework::PodInfoPtr model;
  std::vector<std::size_t> pods;   // in the order in which they are scheduled
  std::vector<std::int32_t> fits;  // by offer: pods of it on one node, by amounts and what the core says of one
  // By rules about pods of the group itself, and PurchaseOptions::disruption_share.
  std::int32_t per_node_max = 0;
  ZoneRule zone_rule = ZoneRule::kNone;
  ZoneCounts zone_counts;       // pods of the cluster that the rule counts
  std::size_t zone_spread = 0;  // with ZoneRule::kSpread: the rule, of PodCompany::spreads(); kNoRule: not there
  bool fits_some = false;       // offer
  std::string why_none;         // of a group that no offer takes: "3 shapes: Insufficient cpu"
};

// A packing problem, and the groups whose pods are in its kinds.
struct Demand {
  PackingProblem problem;
  std::vector<std::vector<std::size_t>> pods;  // by kind: indices of asked pods
};

class PurchaseDemand {
 public:
  // Kinds of pods in one packing; amounts are rounded until there are no more of them.
  static constexpr std::size_t kKindsMax = 300;

  // The pods are the added ones and the pending ones, by priority and then in this order. A profile must schedule each.
  // What is on the overlay afterwards is what was there before. All arguments but the lists of pods must outlive it.
  PurchaseDemand(scheduler::Overlay& overlay, const NodeCatalogue& catalogue, const std::vector<Offer>& offers,
                 const std::vector<framework::AnyObject>& of_cluster, const std::vector<whatif::NewPod>& added,
                 const std::vector<whatif::NewPod>& pending, const PurchaseOptions& options);

  const std::vector<AskedPod>& pods() const { return pods_; }
  const std::vector<AskedGroup>& groups() const { return groups_; }
  const PodCompany& company() const { return company_; }
  // The pods of the cluster that a rule of PodCompany::spreads() about zones counts.
  const ZoneCounts& CountedInCluster(std::size_t rule) const { return of_cluster_[rule]; }

  // The problem of buying nodes for these pods. Groups that fit no offer are left out. `placed`: pods of a group by
  // zone that have a node already. `bought`: offers of nodes that are bought already, which count for the limits.
  Demand For(const std::vector<std::size_t>& pods, const std::vector<ZoneCounts>& placed,
             const std::vector<std::size_t>& bought) const;
  // A relaxation of the problem of all pods that fit some offer: what the cluster has free is there for nothing. No
  // plan costs less than its bound.
  PackingProblem Relaxed(const framework::NodeTable& nodes) const;
  // Whether nodes of these offers keep the limits of the options and of the catalogue.
  bool KeepsLimits(const std::vector<std::size_t>& offers) const;

 private:
  void Collect(const std::vector<whatif::NewPod>& pods, bool are_pending, scheduler::Overlay& overlay);
  void FindRules(AskedGroup& group, const framework::NodeTable& nodes) const;
  void AskCore(scheduler::Overlay& overlay, const std::vector<framework::NodeIndex>& rows);
  void MeasureRooms(const framework::NodeTable& nodes, const std::vector<framework::NodeIndex>& rows);
  void CountByPlacing(AskedGroup& group, scheduler::Overlay& overlay, const std::vector<framework::NodeIndex>& rows);
  Amounts AmountsOf(const framework::Resource& amounts, std::int64_t pods) const;
  Amounts RoomOf(const framework::Resource& room, const framework::NodeInfo& info) const;
  std::vector<SideLimit> Limits(const std::vector<std::size_t>& bought, bool is_relaxed) const;
  // The zone of each pod that must spread over them or be in step with those that must, by pod.
  std::map<std::size_t, std::string> SpreadOverZones(const std::vector<std::size_t>& pods,
                                                     const std::vector<ZoneCounts>& placed) const;
  // How many of the pods of a group go to which zone, by its rule; those that go nowhere are in none.
  ZoneCounts ZonesOf(const AskedGroup& group, std::int64_t count, const ZoneCounts& placed) const;

  const NodeCatalogue& catalogue_;
  const std::vector<Offer>& offers_;
  const PurchaseOptions& options_;
  std::vector<AskedPod> pods_;
  std::vector<AskedGroup> groups_;
  PodCompany company_;
  std::vector<ZoneCounts> of_cluster_;  // by rule of company_.spreads()
  // The names of the amounts. That of pods is not among them, but comes next, and then one for each exclusion.
  std::vector<std::string> resources_;
  std::vector<Amounts> rooms_;               // by offer
  std::vector<Amounts> sizes_;               // by group
  std::vector<std::uint8_t> keeps_in_step_;  // by rule of company_: the zones of all pods that it counts
  std::vector<std::size_t> looks_like_;      // by group: the first one with the same sizes and the same offers
};

}  // namespace berth::buy
