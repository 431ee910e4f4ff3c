// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/group_explanation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/base/edit_distance.h"
#include "berth/framework/pod_groups.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {
namespace {

using PodGroupPtr = std::shared_ptr<const api::PodGroup>;

Expected<PodGroupPtr> FindGroup(const ClusterState& state, const std::string& namespace_name, const std::string& name) {
  std::vector<std::string_view> names;
  std::string elsewhere;
  for (const framework::AnyObject& object : state.objects) {
    const auto* group = std::get_if<PodGroupPtr>(&object);
    if (group == nullptr) continue;
    const api::ObjectMeta& meta = (*group)->metadata;
    if (meta.name == name && meta.namespace_name == namespace_name) return *group;
    if (meta.name == name) elsewhere = meta.namespace_name;
    if (meta.namespace_name == namespace_name) names.emplace_back(meta.name);
  }
  std::string text = "there is no PodGroup \"" + name + "\" in namespace \"" + namespace_name + "\"";
  const auto waiting = std::ranges::count_if(state.pods, [&](const auto& pod) {
    return pod->metadata.namespace_name == namespace_name && pod->spec.pod_group_name == name;
  });
  if (waiting > 0) {
    text += ", though " + std::to_string(waiting) + (waiting == 1 ? " pod names it" : " pods name it");
  } else if (!elsewhere.empty()) {
    text += "; there is one in namespace \"" + elsewhere + "\"";
  } else if (const std::string_view nearest = NearestName(name, names); !nearest.empty()) {
    text += "; did you mean \"" + std::string(nearest) + "\"?";
  } else if (IsLeftOut(state, "podgroups")) {
    text += ": PodGroups could not be read";
  }
  return Error{ErrorCode::kNotFound, std::move(text)};
}

class Explaining {
 public:
  Explaining(const ClusterState& state, const OfflineOptions& options, PodGroupPtr group)
      : state_(state), options_(options), group_(std::move(group)) {
    said_.group = group_->metadata.namespace_name + '/' + group_->metadata.name;
    said_.object = *group_;
    alone_.nodes = state.nodes;
    // The scheduler's last word is no part of the question.
    auto anew = std::make_shared<api::PodGroup>(*group_);
    anew->conditions.clear();
    for (const framework::AnyObject& object : state.objects)
      alone_.objects.push_back(IsTheGroup(object) ? framework::AnyObject(PodGroupPtr(anew)) : object);
    for (const auto& pod : state.pods) {
      const bool is_member = pod->spec.pod_group_name == group_->metadata.name &&
                             pod->metadata.namespace_name == group_->metadata.namespace_name;
      if (is_member) members_.push_back(pod);
      if (is_member || !pod->spec.node_name.empty()) alone_.pods.push_back(pod);
    }
    std::ranges::sort(members_, {}, [](const auto& pod) { return std::string_view(pod->metadata.name); });
  }

  Expected<GroupExplanation> Go() {
    BERTH_ASSIGN_OR_RETURN(auto cluster, Loaded());
    if (AddTree(*cluster->pod_groups())) {
      BERTH_ASSIGN_OR_RETURN(cluster, Loaded());
    }
    cluster->Run(Duration{0});
    if (!cluster->evictions().empty()) cluster->Run();  // until it has the room that it makes
    Judge(*cluster);
    const bool is_gang = group_->min_count && !is_in_tree_;
    if (said_.state == GroupState::kRefused && is_gang) BERTH_RETURN_IF_ERROR(CountFitting());
    for (const auto& pod : members_) Add(*cluster, *pod);
    return std::move(said_);
  }

 private:
  bool IsTheGroup(const framework::AnyObject& object) const {
    const auto* group = std::get_if<PodGroupPtr>(&object);
    return group != nullptr && *group == group_;
  }

  // A group within others is decided with all groups of the tree. False: it is in none.
  bool AddTree(const framework::PodGroups& groups) {
    const framework::PodGroupKey own{group_->metadata.namespace_name, group_->metadata.name, false};
    const auto root = groups.RootOf(own);
    is_in_tree_ = root && root->is_composite;
    if (!is_in_tree_) return false;
    std::set<framework::PodGroupKey> others;
    for (framework::PodGroupKey& leaf : framework::LeavesOf(groups, *root)) {
      if (leaf != own) others.insert(std::move(leaf));
    }
    for (const auto& pod : state_.pods) {
      if (!pod->spec.node_name.empty() || pod->spec.pod_group_name.empty()) continue;
      if (others.contains({pod->metadata.namespace_name, pod->spec.pod_group_name, false})) alone_.pods.push_back(pod);
    }
    return true;
  }

  Expected<std::unique_ptr<OfflineCluster>> Loaded() const {
    BERTH_ASSIGN_OR_RETURN(auto cluster, OfflineCluster::Make(options_));
    cluster->Load(alone_);
    return cluster;
  }

  const api::Pod* FirstWaiting(const OfflineCluster& cluster) const {
    const auto waits = [&](const auto& pod) { return cluster.NodeOf(*pod).empty(); };
    const auto found = std::ranges::find_if(members_, waits);
    return found == members_.end() ? nullptr : found->get();
  }

  void Judge(const OfflineCluster& cluster) {
    const bool has_waiting = std::ranges::any_of(members_, [](const auto& pod) { return pod->spec.node_name.empty(); });
    const api::PodGroup* const group =
        cluster.pod_groups()->FindPodGroup({group_->metadata.namespace_name, group_->metadata.name, false});
    const api::GroupCondition* const condition =
        group == nullptr ? nullptr : group->FindCondition(api::kPodGroupInitiallyScheduled);
    if (condition != nullptr) said_.message = condition->message;
    for (const OfflineCluster::Eviction& eviction : cluster.evictions())
      said_.victims.push_back(whatif::KeyOf(*eviction.pod));
    std::ranges::sort(said_.victims);
    const bool is_placed = condition != nullptr && condition->status == "True";
    const api::Pod* const waiting = FirstWaiting(cluster);
    const auto gate = waiting == nullptr ? std::nullopt : cluster.GateOf(*waiting);
    if (members_.empty() || gate) {
      said_.state = GroupState::kGated;
      said_.message = gate.value_or("no pod names it");
    } else if (!has_waiting) {
      said_.state = GroupState::kPlaced;
    } else if (!is_placed) {
      said_.state = GroupState::kRefused;
    } else {
      said_.state = said_.victims.empty() ? GroupState::kFits : GroupState::kPreempts;
    }
  }

  // As if it were no gang.
  Expected<void> CountFitting() {
    auto basic = std::make_shared<api::PodGroup>(*group_);
    basic->conditions.clear();
    basic->min_count.reset();
    BERTH_ASSIGN_OR_RETURN(const auto cluster, Loaded());
    cluster->SetObject(PodGroupPtr(std::move(basic)));
    cluster->Run(Duration{0});
    said_.fitting = static_cast<std::size_t>(std::ranges::count_if(
        members_, [&](const auto& pod) { return pod->spec.node_name.empty() && !cluster->NodeOf(*pod).empty(); }));
    return {};
  }

  void Add(const OfflineCluster& cluster, const api::Pod& pod) {
    GroupMemberAnswer& member = said_.members.emplace_back();
    member.name = pod.metadata.name;
    member.is_running = !pod.spec.node_name.empty();
    member.node = member.is_running ? pod.spec.node_name : cluster.NodeOf(pod);
    if (member.node.empty()) member.why = cluster.WhyNot(pod);
  }

  const ClusterState& state_;
  const OfflineOptions& options_;
  const PodGroupPtr group_;
  bool is_in_tree_ = false;  // of groups, with which it is decided
  ClusterState alone_;       // with no pod that waits but the group's, and those of its tree
  std::vector<std::shared_ptr<const api::Pod>> members_;
  GroupExplanation said_;
};

}  // namespace

std::string_view ToString(GroupState state) {
  switch (state) {
    case GroupState::kPlaced: return "Placed";
    case GroupState::kFits: return "Fits";
    case GroupState::kPreempts: return "Preempts";
    case GroupState::kRefused: return "Refused";
    case GroupState::kGated: break;
  }
  return "Gated";
}

std::size_t GroupExplanation::RunningCount() const {
  return static_cast<std::size_t>(std::ranges::count_if(members, &GroupMemberAnswer::is_running));
}

Expected<GroupExplanation> ExplainPodGroup(const ClusterState& state, const OfflineOptions& options,
                                           const std::string& namespace_name, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(auto group, FindGroup(state, namespace_name, name));
  return Explaining(state, options, std::move(group)).Go();
}

}  // namespace berth::whatif
