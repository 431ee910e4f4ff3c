// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "berth/buy/node_offers.h"
#include "berth/buy/node_packer.h"
#include "berth/buy/node_replacing.h"
#include "berth/buy/purchase_demand.h"
#include "berth/buy/purchase_proof.h"
#include "berth/buy/purchase_search.h"
#include "berth/buy/purchase_trial.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/plugins/names.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"

namespace berth::buy {
namespace {

using framework::kNoNode;
using framework::NodeIndex;
using PodPtr = std::shared_ptr<const api::Pod>;

constexpr std::size_t kShapeNamesMax = 5;
// Pods that are scheduled with all their nominations, where rules about other pods make that differ from what the
// search has tried: each such cycle counts the pods nominated for many nodes.
constexpr std::size_t kNominatedProofMax = 5'000;
// Of the steps of a packing, those for the bound.
constexpr std::uint64_t kBoundPart = 2;

// A pod is bought for as if nothing held it back. Pods that share a model still do.
class GateOpener {
 public:
  whatif::NewPod Open(const whatif::NewPod& pod) {
    if (pod.model->spec.scheduling_gates.empty()) return pod;
    if (std::exchange(gated_, pod.model) != pod.model) {
      auto free = std::make_shared<api::Pod>(*pod.model);
      free->spec.scheduling_gates.clear();
      free_ = std::move(free);
    }
    return {free_, pod.name};
  }

 private:
  PodPtr gated_, free_;  // the last one, and the same without gates
};

// Plugins before and after the choice of a node that say nothing of pods without gates, groups and claims.
bool IsSilent(std::string_view plugin) {
  static constexpr std::array<std::string_view, 4> kSilent = {
      plugins::names::kSchedulingGates, plugins::names::kDefaultPreemption, plugins::names::kDynamicResources,
      plugins::names::kGangScheduling};
  return std::ranges::find(kSilent, plugin) != kSilent.end();
}

class Planner {
 public:
  Planner(whatif::OfflineCluster& cluster, const PurchaseInput& input, const PurchaseOptions& options,
          const AskedObjects& asked)
      : cluster_(cluster), input_(input), options_(options), asked_(asked) {}

  Expected<PurchasePlan> Go() {
    out_.notes = asked_.additions.notes;
    out_.refused = asked_.additions.refused;
    BERTH_RETURN_IF_ERROR(CollectPods());
    {
      const auto overlay = cluster_.MakeOverlay();
      Search(*overlay);
    }
    // Nominations count while other pods are evaluated, which trials leave out.
    const bool is_nominated = options_.placement == Placement::kNominated;
    const bool is_open = is_nominated && !is_certain_;
    const bool is_too_much = added_.size() + pending_.size() > kNominatedProofMax && !NeedsWholeCore();
    if (is_open && is_too_much && out_.replaced.empty()) {
      out_.notes.push_back(
          "each pod was placed by the core, but so many (more than " + std::to_string(kNominatedProofMax) +
          ") were not scheduled with all their nominations at once; where rules about other pods count "
          "those that are only nominated, some may have to wait or need a node more");
    } else if ((is_open || NeedsWholeCore()) && out_.replaced.empty()) {
      const std::size_t left = out_.LeftCount();
      std::vector<whatif::NewPod> all = added_;
      all.insert(all.end(), pending_.begin(), pending_.end());
      PurchaseProof(cluster_, input_, options_, asked_, *demand_).Run(all, purchase_, out_);
      if (is_nominated && out_.LeftCount() > left) {
        out_.notes.push_back(
            "rules about other pods count those that are only nominated: more pods stay pending than have "
            "no room; --placement scheduler does without");
      }
    }
    Sum();
    return std::move(out_);
  }

 private:
  Expected<void> CollectPods() {
    std::size_t gated = 0;
    GateOpener gates;
    const auto add = [&](const whatif::NewPod& pod, std::vector<whatif::NewPod>& pods) -> Expected<void> {
      const api::PodSpec& spec = pod.model->spec;
      if (cluster_.ProfileOf(*pod.model) == nullptr)
        return InvalidError(pod.Key() + ": " + whatif::NoProfileCalled(spec.scheduler_name));
      gated += spec.scheduling_gates.empty() ? 0 : 1;
      pods.push_back(gates.Open(pod));
      return {};
    };
    for (const whatif::NewPod& pod : asked_.additions.pods) BERTH_RETURN_IF_ERROR(add(pod, added_));
    std::size_t foreign = 0;
    for (const PodPtr& pod : input_.state.pods) {
      if (!pod->spec.node_name.empty() || pod->metadata.deletion_time) continue;
      if (!input_.takes_pending) {
        ++out_.ignored_pending;
      } else if (cluster_.ProfileOf(*pod) == nullptr) {
        ++foreign;
      } else {
        BERTH_RETURN_IF_ERROR(add({pod, pod->metadata.name}, pending_));
      }
    }
    if (added_.size() + pending_.size() > kAskedPodsMax) {
      return Error{ErrorCode::kTooLarge,
                   std::to_string(added_.size() + pending_.size()) +
                       " pods are more than one question may have: " + std::to_string(kAskedPodsMax)};
    }
    if (gated > 0)
      out_.notes.push_back("pods with scheduling gates, which are taken for gone: " + std::to_string(gated));
    if (foreign > 0) {
      out_.notes.push_back("pending pods of the cluster for whose scheduler the configuration has no profile: " +
                           std::to_string(foreign));
    }
    return {};
  }

  void Search(scheduler::Overlay& overlay) {
    const std::vector<framework::AnyObject>& objects = input_.state.objects;
    demand_.emplace(overlay, input_.catalogue, asked_.offers, objects, added_, pending_, options_);
    const PurchaseDemand& demand = *demand_;
    NoteUselessShapes(demand);
    const std::int64_t bound = BoundOfPrice(demand.Relaxed(overlay.nodes()), options_.packing_steps_max / kBoundPart);
    PurchaseTrial trial(overlay, input_.catalogue, asked_.offers, objects, demand);
    PurchaseSearch search(trial, demand, input_.catalogue, asked_.offers, options_, bound);
    Candidate best = search.Find();
    out_.is_interrupted = search.is_interrupted();
    out_.is_cut_short = search.is_cut_short();
    if (search.second()) out_.second = Named(*search.second());
    if (search.nominated()) out_.nominated = Named(*search.nominated());
    if (search.needs_luck()) {
      out_.notes.push_back(
          "the scheduler takes one of equally good nodes by chance: where it takes others, more pods may stay pending");
    }
    TrialResult result = trial.Run(best.purchase);
    if (result.NotPlaced() == 0 || Placeable(demand, result)) out_.bound_micro = bound;
    is_certain_ = result.is_certain;
    DescribeLeft(demand, trial, result);
    purchase_ = best.purchase;
    if (options_.replaces) {
      Replacing replacing = ReplaceNodes(trial, input_, asked_.offers, demand, options_, purchase_, result);
      out_.replaced = std::move(replacing.nodes);
      out_.notes.insert(out_.notes.end(), replacing.notes.begin(), replacing.notes.end());
      out_.is_cut_short = out_.is_cut_short || replacing.is_cut_short;
      // The bound does not know of nodes that may go.
      if (!out_.replaced.empty()) out_.bound_micro.reset();
    }
    Describe(demand, overlay, result);
  }

  // Whether all but those that fit no shape have a node.
  static bool Placeable(const PurchaseDemand& demand, const TrialResult& result) {
    const auto fits_none = [&](std::size_t pod) { return !demand.groups()[demand.pods()[pod].group].fits_some; };
    return result.crowded.empty() && std::ranges::all_of(result.pending, fits_none);
  }

  void NoteUselessShapes(const PurchaseDemand& demand) {
    std::set<std::size_t> useful;
    for (const AskedGroup& group : demand.groups()) {
      for (std::size_t i = 0; i < asked_.offers.size(); ++i) {
        if (group.fits[i] > 0) useful.insert(asked_.offers[i].shape);
      }
    }
    std::vector<std::string> names;
    std::set<std::size_t> seen;
    for (const Offer& offer : asked_.offers) {
      if (!useful.contains(offer.shape) && seen.insert(offer.shape).second)
        names.push_back(input_.catalogue.shapes[offer.shape].name);
    }
    if (names.empty() || demand.pods().empty()) return;
    std::string line = "shapes of the catalogue that take none of these pods: " + std::to_string(names.size()) + " (";
    for (std::size_t i = 0; i < names.size() && i < kShapeNamesMax; ++i)
      line.append(i == 0 ? "" : ", ").append(names[i]);
    out_.notes.push_back(line + (names.size() > kShapeNamesMax ? ", ...)" : ")"));
  }

  OtherPlan Named(const Candidate& candidate) const {
    std::map<std::string, std::size_t> counts;
    for (const std::size_t offer : candidate.purchase.nodes)
      ++counts[input_.catalogue.shapes[asked_.offers[offer].shape].name];
    OtherPlan plan{"", candidate.price_micro};
    for (const auto& [name, count] : counts)
      plan.shapes.append(plan.shapes.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(name);
    return plan;
  }

  void DescribeLeft(const PurchaseDemand& demand, PurchaseTrial& trial, const TrialResult& result) {
    std::map<std::size_t, std::size_t> index_of;  // by group
    const auto add = [&](std::size_t pod, const auto& why) {
      const std::size_t number = demand.pods()[pod].group;
      const AskedGroup& group = demand.groups()[number];
      const auto [at, is_new] = index_of.try_emplace(number, out_.left.size());
      if (is_new) {
        out_.left.push_back({group.workload, demand.pods()[pod].info->Key(), 0,
                             group.fits_some ? why() : "no shape takes it: " + group.why_none, !group.fits_some});
      }
      ++out_.left[at->second].count;
    };
    for (const std::size_t pod : result.pending) add(pod, [&] { return trial.Explain(pod).message; });
    for (const std::size_t pod : result.crowded)
      add(pod, [] { return std::string("more of its workload would be on one node than --disruption allows"); });
    std::ranges::stable_sort(out_.left, std::greater<>(), &LeftPods::fits_no_shape);
  }

  void Describe(const PurchaseDemand& demand, scheduler::Overlay& overlay, const TrialResult& result) {
    std::map<NodeIndex, std::size_t> number_of;
    for (std::size_t i = 0; i < result.node_rows.size(); ++i) {
      const Offer& offer = asked_.offers[purchase_.nodes[i]];
      const framework::NodeInfo& info = overlay.nodes().Info(result.node_rows[i]);
      number_of[result.node_rows[i]] = i;
      out_.nodes.push_back({result.node_names[i],
                            offer.shape,
                            offer.zone,
                            input_.catalogue.shapes[offer.shape].price_micro,
                            {},
                            offer.daemons.size(),
                            info.requested().cpu_milli,
                            info.allocatable().cpu_milli,
                            info.requested().memory_bytes,
                            info.allocatable().memory_bytes});
    }
    std::vector<std::map<whatif::Workload, std::size_t>> on_nodes(out_.nodes.size());
    for (std::size_t i = 0; i < demand.pods().size(); ++i) {
      const AskedPod& asked = demand.pods()[i];
      PlannedPod pod{asked.info->Key(), whatif::WorkloadOf(*asked.model), asked.is_pending, "", false};
      if (result.rows[i] != kNoNode) {
        pod.node = overlay.nodes().Info(result.rows[i]).name();
        if (const auto at = number_of.find(result.rows[i]); at != number_of.end()) {
          pod.is_on_new_node = true;
          ++on_nodes[at->second][pod.workload];
        }
      }
      out_.pods.push_back(std::move(pod));
    }
    std::map<std::string, std::size_t> new_by_name;
    for (std::size_t i = 0; i < result.node_names.size(); ++i) new_by_name[result.node_names[i]] = i;
    const std::map<std::string, PodPtr> by_key = KeysOfCluster();
    for (const ReplacedNode& replaced : out_.replaced) {
      for (const auto& [key, node] : replaced.moves) {
        const auto at = new_by_name.find(node);
        if (const auto pod = by_key.find(key); at != new_by_name.end() && pod != by_key.end())
          ++on_nodes[at->second][whatif::WorkloadOf(*pod->second)];
      }
    }
    for (std::size_t i = 0; i < on_nodes.size(); ++i) out_.nodes[i].pods.assign(on_nodes[i].begin(), on_nodes[i].end());
  }

  std::map<std::string, PodPtr> KeysOfCluster() const {
    std::map<std::string, PodPtr> by_key;
    if (out_.replaced.empty()) return by_key;
    for (const PodPtr& pod : input_.state.pods) by_key[whatif::KeyOf(*pod)] = pod;
    return by_key;
  }

  // Whether something has a say in scheduling that trials do not ask: the queue, groups, plugins that wait.
  bool NeedsWholeCore() const {
    for (const auto* pods : {&added_, &pending_}) {
      for (const whatif::NewPod& pod : *pods) {
        if (!pod.model->spec.pod_group_name.empty() && cluster_.pod_groups() != nullptr) return true;
        const runtime::ProfilePlugins& profile = *cluster_.ProfileOf(*pod.model);
        if (profile.queue_sort->Name() != plugins::names::kPrioritySort) return true;
        const auto speaks = [](const auto* plugin) { return !IsSilent(plugin->Name()); };
        if (std::ranges::any_of(profile.pre_enqueue, speaks) || std::ranges::any_of(profile.permit, speaks))
          return true;
      }
    }
    return false;
  }

  void Sum() {
    for (const NewNode& node : out_.nodes) out_.price_micro += node.price_micro;
    for (const ReplacedNode& node : out_.replaced) out_.replaced_price_micro += node.price_micro;
    for (const PlannedPod& pod : out_.pods) {
      if (pod.is_on_new_node) ++out_.pods_on_new;
      if (!pod.is_on_new_node && !pod.node.empty()) ++out_.pods_on_existing;
    }
  }

  whatif::OfflineCluster& cluster_;
  const PurchaseInput& input_;
  const PurchaseOptions& options_;
  const AskedObjects& asked_;
  std::vector<whatif::NewPod> added_, pending_;
  std::optional<PurchaseDemand> demand_;
  Purchase purchase_;
  bool is_certain_ = false;  // see TrialResult
  PurchasePlan out_;
};

// Said before the pods are made, which takes long when there are so many.
Expected<void> CheckReplicas(const whatif::Manifests& manifests) {
  std::size_t sum = 0;
  for (const whatif::Manifest& manifest : manifests.documents) {
    const codec::json::value* spec = manifest.object.if_contains("spec");
    if (spec == nullptr || !spec->is_object()) continue;
    for (const char* field : {"replicas", "parallelism"}) {
      const codec::json::value* count = spec->get_object().if_contains(field);
      if (count == nullptr || !count->is_int64() || count->get_int64() <= 0) continue;
      sum += static_cast<std::size_t>(count->get_int64());
      if (sum > kAskedPodsMax) {
        return Error{ErrorCode::kTooLarge, manifest.where + ": spec." + field + ": with these there are " +
                                               std::to_string(sum) + " pods; one question may have " +
                                               std::to_string(kAskedPodsMax)};
      }
    }
  }
  return {};
}

}  // namespace

std::size_t PurchasePlan::LeftCount() const {
  return std::accumulate(left.begin(), left.end(), std::size_t{0},
                         [](std::size_t sum, const LeftPods& each) { return sum + each.count; });
}

std::size_t PurchasePlan::RefusedCount() const {
  return std::accumulate(refused.begin(), refused.end(), std::size_t{0},
                         [](std::size_t sum, const whatif::RefusedPods& each) { return sum + each.count; });
}

Expected<PurchasePlan> PlanPurchase(whatif::OfflineCluster& cluster, const PurchaseInput& input,
                                    const PurchaseOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckReplicas(input.manifests));
  BERTH_ASSIGN_OR_RETURN(const AskedObjects asked,
                         MakeOffers(input.catalogue, options.zones, input.manifests, input.state, cluster.now()));
  cluster.Add(asked.additions.objects);
  for (const auto& node : asked.additions.nodes) cluster.SetNode(node);
  return Planner(cluster, input, options, asked).Go();
}

}  // namespace berth::buy
