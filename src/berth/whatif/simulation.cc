// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/simulation.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/base/edit_distance.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"
#include "berth/whatif/simulated_claims.h"

namespace berth::whatif {
namespace {

using PodPtr = std::shared_ptr<const api::Pod>;

Error NoSuchNode(const std::string& name, const ClusterState& state) {
  std::vector<std::string_view> names;
  for (const auto& node : state.nodes) names.emplace_back(node->metadata.name);
  const std::string_view nearest = NearestName(name, names);
  std::string message = "there is no node \"" + name + "\"";
  if (!nearest.empty()) message += "; the nearest name is \"" + std::string(nearest) + "\"";
  return {ErrorCode::kNotFound, std::move(message)};
}

// Why nobody creates the pod anew, or creates it where it was; empty: its controller does.
std::string WhyLost(const api::Pod& pod, bool is_node_gone) {
  if (IsMirrorPod(pod)) return "a static pod";
  if (!pod.metadata.controller) return "it has no controller";
  if (IsBoundToNode(pod.metadata.controller) && is_node_gone) return "a pod of a " + pod.metadata.controller->kind;
  return "";
}

// One simulation, on a cluster in memory that is changed on the way.
class SimulationRun {
 public:
  SimulationRun(const SimulationInput& input, OfflineCluster& cluster)
      : input_(input), cluster_(cluster), uses_(cluster.node_uses()) {}

  Simulation Go() {
    out_.notes = input_.additions.notes;
    Begin();
    uses_.Update(cluster_.nodes());
    out_.use_before = uses_.sum();
    RemoveNodes();
    Add();
    cluster_.Run();
    PlaceEvicted();
    Collect();
    return std::move(out_);
  }

 private:
  struct Asked {
    PodOrigin origin;
    PodPtr pod;
    std::string was_on;
  };

  // Lets the cluster come to rest as it is, before anything is added or taken away.
  void Begin() {
    std::vector<PodPtr> pending;
    std::size_t foreign = 0;
    std::size_t ending = 0;
    for (const PodPtr& pod : input_.index != nullptr ? input_.index->unsettled() : input_.state.pods) {
      if (pod->metadata.deletion_time) {
        // It would only be in the way until it has ended.
        Lose(*pod);
        ++ending;
      }
      if (!pod->spec.node_name.empty() || pod->metadata.deletion_time) continue;
      if (cluster_.ProfileOf(*pod) == nullptr) {
        ++foreign;
      } else {
        pending.push_back(pod);
      }
    }
    if (ending > 0)
      out_.notes.push_back("pods of the cluster that are being deleted, and are taken for gone: " +
                           std::to_string(ending));
    cluster_.Run();
    std::size_t placed = 0;
    for (const PodPtr& pod : pending) {
      placed += cluster_.NodeOf(*pod).empty() ? 0 : 1;
      asked_.push_back({PodOrigin::kPending, pod, {}});
    }
    if (placed > 0)
      out_.notes.push_back("pending pods of the cluster that would be placed without the change, too: " +
                           std::to_string(placed) + " of " + std::to_string(pending.size()));
    if (foreign > 0)
      out_.notes.push_back("pending pods of the cluster for whose scheduler the configuration has no profile: " +
                           std::to_string(foreign));
  }

  void RemoveNodes() {
    for (const std::string& name : input_.removed_nodes) {
      const framework::NodeIndex row = cluster_.nodes().Find(name);
      if (row == framework::kNoNode) continue;  // named twice
      // In the order of the state, whatever was on the node before; then those that Begin() has placed there.
      std::vector<std::string> uids = UidsBefore(name, row);
      for (const framework::PodInfoPtr& pod : cluster_.nodes().Info(row).pods()) {
        if (std::ranges::find(uids, pod->uid) == uids.end()) uids.push_back(pod->uid);
      }
      for (const std::string& uid : uids) {
        const PodPtr pod = cluster_.FindPod(uid);
        if (pod == nullptr) continue;
        cluster_.RemovePod(uid);
        const auto asked = FindAsked(uid);
        if (asked != asked_.end() && !IsBoundToNode(pod->metadata.controller)) {
          // Begin() had found this place for it: in the cluster it has no node to lose.
          claims_.Release(*pod, asked->pod.get());
          pending_again_.push_back(asked->pod);
          continue;
        }
        if (asked != asked_.end()) asked_.erase(asked);
        if (std::string why = WhyLost(*pod, true); why.empty()) {
          recreated_.push_back({PodOrigin::kDisplaced, Recreated(*pod), name});
        } else {
          claims_.Release(*pod, nullptr);
          out_.lost.push_back({WorkloadOf(*pod), pod->metadata.name, name, std::move(why)});
        }
      }
      cluster_.RemoveNode(name);
    }
  }

  // The pods that the state has on the node; with an index, those of them that are there still.
  std::vector<std::string> UidsBefore(const std::string& name, framework::NodeIndex row) const {
    std::vector<std::string> uids;
    if (input_.index == nullptr) {
      for (const PodPtr& pod : input_.state.pods) {
        if (pod->spec.node_name == name) uids.push_back(pod->metadata.uid);
      }
      return uids;
    }
    std::vector<PodPtr> pods;
    for (const framework::PodInfoPtr& on_node : cluster_.nodes().Info(row).pods()) {
      PodPtr pod = FindListed(input_.state.pods, on_node->namespace_name(), on_node->name);
      if (pod != nullptr && pod->metadata.uid == on_node->uid && pod->spec.node_name == name)
        pods.push_back(std::move(pod));
    }
    std::ranges::sort(pods, IsListedBefore);
    for (const PodPtr& pod : pods) uids.push_back(pod->metadata.uid);
    return uids;
  }

  // The pod as its controller creates it again. It keeps its name, so that a reader knows it.
  PodPtr Recreated(const api::Pod& pod) {
    auto anew = std::make_shared<api::Pod>(pod);
    anew->metadata.uid += "-again";
    anew->metadata.creation_time = cluster_.now();
    anew->spec.node_name.clear();
    anew->status = {};
    anew->status.phase = api::PodPhase::kPending;
    anew->status.resource_claim_statuses = pod.status.resource_claim_statuses;
    claims_.Release(pod, anew.get());
    return anew;
  }

  // A pod is gone, and does not come back.
  void Lose(const api::Pod& pod) {
    cluster_.RemovePod(pod.metadata.uid);
    claims_.Release(pod, nullptr);
  }

  void Add() {
    for (const auto& node : input_.additions.nodes) cluster_.SetNode(node);
    cluster_.Add(input_.additions.objects);
    for (const PodPtr& pod : input_.additions.daemon_pods) Ask({PodOrigin::kNew, pod, {}});
    if (!input_.additions.daemon_pods.empty()) cluster_.Run();
    std::vector<PodPtr> placed;
    for (const Asked& asked : asked_) {
      if (!cluster_.NodeOf(*asked.pod).empty()) placed.push_back(asked.pod);
    }
    claims_.UnbindVolumes(pending_again_, placed);
    for (const PodPtr& pod : pending_again_) cluster_.SetPod(*pod);
    for (Asked& pod : recreated_) Ask(std::move(pod));
    for (const NewPod& pod : input_.additions.pods) Ask({PodOrigin::kNew, pod.Make(), {}});
  }

  std::vector<Asked>::iterator FindAsked(const std::string& uid) {
    return std::ranges::find(asked_, uid,
                             [](const Asked& asked) -> const std::string& { return asked.pod->metadata.uid; });
  }

  void Ask(Asked pod) {
    cluster_.SetPod(*pod.pod);
    names_[pod.pod->metadata.uid] = KeyOf(*pod.pod);
    asked_.push_back(std::move(pod));
  }

  void PlaceEvicted() {
    std::size_t seen = 0;
    for (int round = 0; round < kEvictionRoundsMax && seen < cluster_.evictions().size(); ++round) {
      // A copy: what is done about them adds more.
      const std::vector<OfflineCluster::Eviction> all = cluster_.evictions();
      for (; seen < all.size(); ++seen) {
        const api::Pod& pod = *all[seen].pod;
        if (std::string why = WhyLost(pod, false); why.empty()) {
          const auto before = FindAsked(pod.metadata.uid);
          const PodOrigin origin = before == asked_.end() ? PodOrigin::kEvicted : before->origin;
          if (before != asked_.end()) asked_.erase(before);
          Ask({origin, Recreated(pod), pod.spec.node_name});
        } else {
          claims_.Release(pod, nullptr);
          out_.lost.push_back({WorkloadOf(pod), pod.metadata.name, pod.spec.node_name, std::move(why)});
        }
      }
      cluster_.Run();
    }
  }

  void Collect() {
    if (!cluster_.evictions().empty()) {
      for (const PodPtr& pod : input_.state.pods) names_.emplace(pod->metadata.uid, KeyOf(*pod));
    }
    std::map<std::string, std::pair<std::string, std::string>> groups;  // by uid: a group's name and kind
    for (const auto& [key, group] : cluster_.objects().Of<api::PodGroup>())
      groups.emplace(group->metadata.uid, std::pair(key, "PodGroup"));
    for (const auto& [key, group] : cluster_.objects().Of<api::CompositePodGroup>())
      groups.emplace(group->metadata.uid, std::pair(key, "CompositePodGroup"));
    for (const OfflineCluster::Eviction& eviction : cluster_.evictions()) {
      const auto by = names_.find(eviction.preemptor_uid);
      const auto by_group = groups.find(eviction.preemptor_uid);
      const bool is_for_group = by == names_.end() && by_group != groups.end();
      const std::string preemptor = is_for_group ? by_group->second.first : by == names_.end() ? "" : by->second;
      out_.evictions.push_back({WorkloadOf(*eviction.pod), eviction.pod->metadata.name, eviction.pod->spec.node_name,
                                preemptor, is_for_group ? by_group->second.second : ""});
    }
    NodeUseTable::Changes changes;
    uses_.Update(cluster_.nodes(), &changes);
    out_.use_after = uses_.sum();
    out_.nodes_before = std::move(changes.before);
    out_.nodes_after = std::move(changes.after);
    std::stable_sort(asked_.begin(), asked_.end(), [](const Asked& a, const Asked& b) { return a.origin < b.origin; });
    for (const Asked& asked : asked_) Collect(asked);
    if (cluster_.pod_groups() != nullptr) CollectGroups();
  }

  void CollectGroups() {
    // Each group with one of its pods: one that stays pending, if any does.
    std::map<framework::PodGroupKey, const api::Pod*> groups;
    for (const Asked& asked : asked_) {
      const api::Pod& pod = *asked.pod;
      if (pod.spec.pod_group_name.empty()) continue;
      const api::Pod*& shown = groups[{pod.metadata.namespace_name, pod.spec.pod_group_name, false}];
      if (shown == nullptr || cluster_.NodeOf(pod).empty()) shown = &pod;
    }
    std::set<framework::PodGroupKey> composites;  // those that the groups are in
    for (const auto& [key, pod] : groups) {
      const api::PodGroup* const group = cluster_.pod_groups()->FindPodGroup(key);
      if (group == nullptr) continue;  // its pods wait for it, and say so
      const framework::PodGroups::Counts counts = cluster_.pod_groups()->CountsOf(key);
      SimulatedGroup& out = out_.groups.emplace_back();
      out.namespace_name = key.namespace_name;
      out.name = key.name;
      out.min_count = group->min_count;
      out.scheduled = counts.scheduled;
      out.pending = counts.unscheduled;
      if (const auto gate = cluster_.GateOf(*pod)) {
        out.reason = "Gated";
        out.message = *gate;
      } else if (const auto* condition = group->FindCondition(api::kPodGroupInitiallyScheduled)) {
        out.reason = condition->reason;
        out.message = condition->message;
      }
      const auto root = cluster_.pod_groups()->RootOf(key);
      if (!root || !root->is_composite) continue;
      out.parent = group->parent_name;
      for (framework::PodGroupKey at{key.namespace_name, group->parent_name, true}; composites.insert(at).second;) {
        const std::string& parent = cluster_.pod_groups()->FindComposite(at)->parent_name;
        if (parent.empty()) break;
        at.name = parent;
      }
    }
    for (const framework::PodGroupKey& key : composites) {
      const api::CompositePodGroup& group = *cluster_.pod_groups()->FindComposite(key);
      const std::vector<framework::PodGroupKey> children = cluster_.pod_groups()->ChildrenOf(key);
      const auto placed = static_cast<std::size_t>(
          std::ranges::count_if(children, [this](const auto& child) { return IsPlaced(child); }));
      out_.composites.push_back(
          {key.namespace_name, key.name, group.parent_name, group.min_group_count, placed, children.size() - placed});
    }
  }

  // Whether enough of the group's pods have a node. The group has a root, so that what is below it has no circles.
  bool IsPlaced(const framework::PodGroupKey& key) const {
    const framework::PodGroups& groups = *cluster_.pod_groups();
    if (!key.is_composite) {
      const api::PodGroup* const group = groups.FindPodGroup(key);
      const auto wanted = group == nullptr ? 1 : group->min_count.value_or(1);
      return groups.CountsOf(key).scheduled >= static_cast<std::size_t>(wanted);
    }
    const std::vector<framework::PodGroupKey> children = groups.ChildrenOf(key);
    const auto placed = std::ranges::count_if(children, [this](const auto& child) { return IsPlaced(child); });
    const api::CompositePodGroup* const group = groups.FindComposite(key);
    return placed >= (group == nullptr ? 1 : group->min_group_count.value_or(1));
  }

  void Collect(const Asked& asked) {
    SimulatedPod pod{asked.origin,
                     WorkloadOf(*asked.pod),
                     asked.pod->metadata.name,
                     cluster_.NodeOf(*asked.pod),
                     {},
                     {},
                     asked.was_on,
                     {}};
    if (cluster_.pod_groups() != nullptr) pod.group = asked.pod->spec.pod_group_name;
    if (pod.node.empty()) {
      pod.why = cluster_.WhyNot(*asked.pod);
    } else {
      const framework::NodeIndex row = cluster_.nodes().Find(pod.node);
      const std::string* const zone =
          row == framework::kNoNode ? nullptr : cluster_.nodes().Info(row).node().metadata.labels.Find(kZoneLabel);
      if (zone != nullptr) pod.zone = *zone;
      ++out_.zones[pod.zone];
    }
    out_.pods.push_back(std::move(pod));
  }

  const SimulationInput& input_;
  OfflineCluster& cluster_;
  NodeUseTable& uses_;
  SimulatedClaims claims_{cluster_};
  std::vector<Asked> asked_;
  std::vector<Asked> recreated_;              // pods of removed nodes, as they are created again
  std::vector<PodPtr> pending_again_;         // pods that Begin() had placed on nodes that were removed
  std::map<std::string, std::string> names_;  // names of pods, by uid
  Simulation out_;
};

}  // namespace

std::string_view ToString(PodOrigin origin) {
  switch (origin) {
    case PodOrigin::kNew: return "new";
    case PodOrigin::kDisplaced: return "displaced";
    case PodOrigin::kEvicted: return "evicted";
    case PodOrigin::kPending: break;
  }
  return "pending";
}

std::size_t Simulation::PendingCount() const {
  return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [](const SimulatedPod& pod) {
    return pod.node.empty() && pod.origin != PodOrigin::kPending;
  }));
}

std::size_t Simulation::WaitingCount() const {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const SimulatedPod& pod) { return pod.node.empty(); }));
}

Simulation SimulateOn(const SimulationInput& input, OfflineCluster& cluster) {
  return SimulationRun(input, cluster).Go();
}

Expected<void> CheckNodes(const ClusterState& state, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_known = std::any_of(state.nodes.begin(), state.nodes.end(),
                                      [&](const auto& node) { return node->metadata.name == name; });
    if (!is_known) return NoSuchNode(name, state);
  }
  return {};
}

Expected<Simulation> Simulate(const SimulationInput& input, OfflineOptions options) {
  BERTH_RETURN_IF_ERROR(CheckNodes(input.state, input.removed_nodes));
  BERTH_ASSIGN_OR_RETURN(const auto cluster, OfflineCluster::Make(std::move(options)));
  cluster->Load(input.state);
  return SimulateOn(input, *cluster);
}

}  // namespace berth::whatif
