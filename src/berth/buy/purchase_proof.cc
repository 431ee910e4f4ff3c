// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_proof.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/buy/node_packer.h"
#include "berth/framework/node_table.h"
#include "berth/whatif/cluster_state.h"

namespace berth::buy {
namespace {

using framework::kNoNode;
using framework::NodeIndex;
using PodPtr = std::shared_ptr<const api::Pod>;

// How often pods that the whole core leaves pending get more nodes.
constexpr int kRestRoundsMax = 4;
// How often all pods are scheduled anew: where they have been put, and with further nodes.
constexpr int kProofRoundsMax = 8;
// Of the steps of a packing, those for what is left.
constexpr std::uint64_t kRestPart = 2;

}  // namespace

PurchaseProof::PurchaseProof(whatif::OfflineCluster& cluster, const PurchaseInput& input,
                             const PurchaseOptions& options, const AskedObjects& asked, const PurchaseDemand& demand)
    : cluster_(cluster), input_(input), options_(options), asked_(asked), demand_(demand) {}

// Makes a new node real in the cluster.
void PurchaseProof::MakeNode(std::size_t number) {
  const Offer& offer = asked_.offers[purchase_->nodes[number]];
  const std::string& name = plan_->nodes[number].name;
  for (framework::AnyObject& object :
       ObjectsLike(input_.state.objects, input_.catalogue.shapes[offer.shape].like, name))
    cluster_.SetObject(std::move(object));
  cluster_.SetNode(NodeNamed(offer, name));
  for (const PodPtr& daemon : offer.daemons) cluster_.SetPod(DaemonOn(*daemon, name));
}

// Pods that are spread over zones count each zone that there is, and those that have a node did not count a new one.
void PurchaseProof::LeaveOutNewZones(PackingProblem& problem) const {
  if (std::ranges::none_of(demand_.company().spreads(), &SpreadRule::is_by_zone)) return;
  std::set<std::string> zones;
  for (const NodeIndex row : cluster_.nodes().rows()) {
    if (const std::string* zone = cluster_.nodes().Info(row).node().metadata.labels.Find(kZoneLabel))
      zones.insert(*zone);
  }
  for (std::size_t i = 0; i < problem.offers.size(); ++i) {
    if (!zones.contains(asked_.offers[i].zone)) problem.offers[i].count_max = 0;
  }
}

// More nodes for pods that the whole core has left pending where the search had places for them.
void PurchaseProof::BuyForRest() {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t bought = plan_->nodes.size();
  for (int round = 0; round <= kRestRoundsMax && options_.placement == Placement::kNominated; ++round) {
    std::vector<std::size_t> rest;
    std::vector<ZoneCounts> placed(demand_.groups().size());
    for (std::size_t i = 0; i < demand_.pods().size(); ++i) {
      const AskedPod& asked = demand_.pods()[i];
      const NodeIndex row = cluster_.nodes().Find(cluster_.NodeOf(asked.info->uid));
      if (row != kNoNode) {
        const std::string* zone = cluster_.nodes().Info(row).node().metadata.labels.Find(kZoneLabel);
        ++placed[asked.group][zone == nullptr ? std::string() : *zone];
      } else if (demand_.groups()[asked.group].fits_some) {
        rest.push_back(i);
      }
    }
    // No pod is on the nodes that were bought last.
    if (rest.size() >= least) return GiveBack(bought);
    if (rest.empty() || round == kRestRoundsMax || cluster_.WasInterrupted()) return;
    least = rest.size();
    bought = plan_->nodes.size();
    Demand wanted = demand_.For(rest, placed, purchase_->nodes);
    LeaveOutNewZones(wanted.problem);
    PackOptions pack;
    pack.steps_max = options_.packing_steps_max / kRestPart;
    pack.is_interrupted = options_.is_interrupted;
    const PackResult packed = PackNodes(wanted.problem, pack);
    if (packed.packing.nodes.empty()) return;
    for (const PackedNode& node : packed.packing.nodes) {
      const Offer& offer = asked_.offers[node.offer];
      const CatalogueShape& shape = input_.catalogue.shapes[offer.shape];
      std::size_t number = 0;
      std::string name;
      do {
        name = shape.name + "-new-" + std::to_string(++number);
      } while (cluster_.nodes().Find(name) != kNoNode);
      purchase_->nodes.push_back(node.offer);
      plan_->nodes.push_back({name, offer.shape, offer.zone, shape.price_micro, {}, offer.daemons.size(), 0, 0, 0, 0});
      MakeNode(plan_->nodes.size() - 1);
    }
    cluster_.Run();
  }
}

// Keeps the first `count` nodes of the plan; no pod but those of DaemonSets is on the others.
void PurchaseProof::GiveBack(std::size_t count) {
  for (std::size_t i = count; i < plan_->nodes.size(); ++i) {
    const std::string& name = plan_->nodes[i].name;
    for (const PodPtr& daemon : asked_.offers[purchase_->nodes[i]].daemons)
      cluster_.RemovePod(DaemonOn(*daemon, name).metadata.uid);
    cluster_.RemoveNode(name);
  }
  plan_->nodes.resize(count);
  purchase_->nodes.resize(count);
}

// `nodes`: where each pod is told to go with Placement::kNominated.
void PurchaseProof::Schedule(const std::vector<whatif::NewPod>& all, const std::vector<std::string>& nodes) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    api::Pod fresh = *all[i].Make();
    if (options_.placement == Placement::kNominated) fresh.status.nominated_node_name = nodes[i];
    cluster_.SetPod(std::move(fresh));
  }
  cluster_.Run();
}

std::vector<std::string> PurchaseProof::NodesOf(const std::vector<whatif::NewPod>& all) const {
  std::vector<std::string> nodes;
  for (const whatif::NewPod& pod : all) nodes.push_back(cluster_.NodeOf(pod.Uid()));
  return nodes;
}

// A pod that is told another node than before, and a further node, which rules about other pods count from the
// beginning, change what all others find: they are scheduled anew, each told the node that it had, until all are where
// they were told to go and no further node helps. Of what was tried, the fewest nodes that leave the fewest pods hold.
void PurchaseProof::Settle(const std::vector<whatif::NewPod>& all, std::vector<std::string> told) {
  // Claims would stay allocated.
  const bool is_final =
      std::ranges::any_of(all, [](const whatif::NewPod& pod) { return !pod.model->spec.resource_claims.empty(); });
  const auto schedule_anew = [&](std::size_t node_count) {
    for (const whatif::NewPod& pod : all) cluster_.RemovePod(pod.Uid());
    GiveBack(node_count);
    Schedule(all, told);
  };
  struct Standing {
    std::vector<std::string> nodes;
    std::size_t node_count = 0;
    std::ptrdiff_t left = 0;
  };
  const auto look = [&] {
    Standing now{NodesOf(all), plan_->nodes.size(), 0};
    now.left = std::ranges::count(now.nodes, std::string());
    return now;
  };
  Standing now = look();
  Standing best = now;
  for (int round = 0; round < kProofRoundsMax && options_.placement == Placement::kNominated; ++round) {
    if (now.nodes == told || is_final) {
      BuyForRest();
      now = look();
      if (is_final) best = now;
      if (now.nodes == told || is_final) break;
    }
    told = now.nodes;
    schedule_anew(plan_->nodes.size());
    if (cluster_.WasInterrupted()) return;
    now = look();
    if (now.left < best.left || (now.left == best.left && now.node_count <= best.node_count)) best = now;
  }
  if (now.left == best.left && now.node_count == best.node_count) return;
  told = best.nodes;
  schedule_anew(best.node_count);
}

// Lets the whole core schedule the pods on the cluster with the new nodes, and says what became of them.
void PurchaseProof::Run(const std::vector<whatif::NewPod>& all, Purchase& purchase, PurchasePlan& plan) {
  purchase_ = &purchase;
  plan_ = &plan;
  if (!input_.takes_pending) {
    for (const PodPtr& pod : input_.state.pods) {
      if (pod->spec.node_name.empty()) cluster_.RemovePod(pod->metadata.uid);
    }
  }
  for (std::size_t i = 0; i < plan_->nodes.size(); ++i) MakeNode(i);
  std::map<std::string, std::size_t> planned;
  for (std::size_t i = 0; i < plan_->pods.size(); ++i) planned[plan_->pods[i].key] = i;
  std::vector<std::string> nodes;
  for (const whatif::NewPod& pod : all) nodes.push_back(plan_->pods[planned[pod.Key()]].node);
  Schedule(all, nodes);
  Settle(all, nodes);
  std::map<std::string, std::size_t> new_nodes;
  for (std::size_t i = 0; i < plan_->nodes.size(); ++i) new_nodes[plan_->nodes[i].name] = i;
  std::vector<std::map<whatif::Workload, std::size_t>> on_nodes(plan_->nodes.size());
  std::map<std::pair<whatif::Workload, std::string>, LeftPods> left;
  for (const whatif::NewPod& pod : all) {
    PlannedPod& planned_pod = plan_->pods[planned[pod.Key()]];
    planned_pod.node = cluster_.NodeOf(pod.Uid());
    const auto at = new_nodes.find(planned_pod.node);
    planned_pod.is_on_new_node = at != new_nodes.end();
    if (planned_pod.is_on_new_node) ++on_nodes[at->second][planned_pod.workload];
    if (!planned_pod.node.empty()) continue;
    const auto known = std::ranges::find(plan_->left, planned_pod.workload, &LeftPods::workload);
    const bool fits_none = known != plan_->left.end() && known->fits_no_shape;
    const std::string why = fits_none ? known->why : cluster_.WhyNot(*pod.Make());
    LeftPods& entry = left[{planned_pod.workload, why}];
    if (entry.count++ == 0) entry = {planned_pod.workload, planned_pod.key, 1, why, fits_none};
  }
  for (std::size_t i = 0; i < on_nodes.size(); ++i) plan_->nodes[i].pods.assign(on_nodes[i].begin(), on_nodes[i].end());
  for (NewNode& node : plan_->nodes) {
    const framework::NodeInfo& info = cluster_.nodes().Info(cluster_.nodes().Find(node.name));
    node.cpu_milli = info.requested().cpu_milli;
    node.cpu_milli_of = info.allocatable().cpu_milli;
    node.memory_bytes = info.requested().memory_bytes;
    node.memory_bytes_of = info.allocatable().memory_bytes;
  }
  plan_->left.clear();
  for (auto& [key, entry] : left) plan_->left.push_back(std::move(entry));
  std::ranges::stable_sort(plan_->left, std::greater<>(), &LeftPods::fits_no_shape);
  if (std::ranges::any_of(plan_->left, [](const LeftPods& each) { return !each.fits_no_shape; }))
    plan_->bound_micro.reset();
}

}  // namespace berth::buy
