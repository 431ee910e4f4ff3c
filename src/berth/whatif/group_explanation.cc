// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/group_explanation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/base/edit_distance.h"
#include "berth/framework/pod_group_namer.h"
#include "berth/framework/pod_groups.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {
namespace {

using PodGroupPtr = std::shared_ptr<const api::PodGroup>;
using PodPtr = std::shared_ptr<const api::Pod>;

struct Group {
  framework::PodGroupKey key;
  PodGroupPtr object;  // of a named group: what stands for it
  std::string name;    // as people write it
  std::vector<PodPtr> members;
};

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

// A group that a plugin names; nullopt: no pod is in it.
Expected<std::optional<Group>> FindNamedGroup(const ClusterState& state, const OfflineOptions& options,
                                              const std::string& namespace_name, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(const auto cluster, OfflineCluster::Make(options));
  cluster->Load(state);
  const framework::PodGroups* const groups = cluster->pod_groups();
  Group group{{namespace_name, framework::ObjectNameOf({name}), false}, nullptr, name, {}};
  const api::PodGroup* const object = groups->FindPodGroup(group.key);
  if (object == nullptr) return std::optional<Group>();
  group.object = std::make_shared<const api::PodGroup>(*object);
  std::set<std::string_view> uids;
  for (const framework::PodInfoPtr& pod : groups->ScheduledPods(group.key)) uids.insert(pod->uid);
  for (const framework::PodInfoPtr& pod : groups->UnscheduledPods(group.key)) uids.insert(pod->uid);
  for (const PodPtr& pod : state.pods) {
    if (uids.contains(pod->metadata.uid)) group.members.push_back(pod);
  }
  return std::optional(std::move(group));
}

Group WithMembers(PodGroupPtr object, const ClusterState& state) {
  const api::ObjectMeta& meta = object->metadata;
  Group group{{meta.namespace_name, meta.name, false}, object, meta.name, {}};
  for (const PodPtr& pod : state.pods) {
    if (pod->spec.pod_group_name == meta.name && pod->metadata.namespace_name == meta.namespace_name)
      group.members.push_back(pod);
  }
  return group;
}

class GroupExplainer {
 public:
  GroupExplainer(const ClusterState& state, const OfflineOptions& options, Group group)
      : state_(state),
        options_(options),
        group_(std::move(group.object)),
        key_(std::move(group.key)),
        members_(std::move(group.members)) {
    said_.group = key_.namespace_name + '/' + group.name;
    said_.object = *group_;
    alone_.nodes = state.nodes;
    // The scheduler's last word is no part of the question.
    auto anew = std::make_shared<api::PodGroup>(*group_);
    anew->conditions.clear();
    for (const framework::AnyObject& object : state.objects)
      alone_.objects.push_back(IsTheGroup(object) ? framework::AnyObject(PodGroupPtr(anew)) : object);
    const std::set<PodPtr> members(members_.begin(), members_.end());
    for (const auto& pod : state.pods) {
      if (members.contains(pod) || !pod->spec.node_name.empty()) alone_.pods.push_back(pod);
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
    const auto root = groups.RootOf(key_);
    is_in_tree_ = root && root->is_composite;
    if (!is_in_tree_) return false;
    std::set<framework::PodGroupKey> others;
    for (framework::PodGroupKey& leaf : framework::LeavesOf(groups, *root)) {
      if (leaf != key_) others.insert(std::move(leaf));
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

  bool HasMinCount(const OfflineCluster& cluster) const {
    const auto placed = std::ranges::count_if(members_, [&](const auto& pod) { return !cluster.NodeOf(*pod).empty(); });
    return placed >= group_->min_count.value_or(1);
  }

  void Judge(const OfflineCluster& cluster) {
    const bool has_waiting = std::ranges::any_of(members_, [](const auto& pod) { return pod->spec.node_name.empty(); });
    const api::PodGroup* const group = cluster.pod_groups()->FindPodGroup(key_);
    const api::GroupCondition* const condition =
        group == nullptr ? nullptr : group->FindCondition(api::kPodGroupInitiallyScheduled);
    if (condition != nullptr) said_.message = condition->message;
    for (const OfflineCluster::Eviction& eviction : cluster.evictions())
      said_.victims.push_back(whatif::KeyOf(*eviction.pod));
    std::ranges::sort(said_.victims);
    const api::Pod* const waiting = FirstWaiting(cluster);
    bool is_placed = condition != nullptr && condition->status == "True";
    if (framework::IsNamedPodGroup(key_.name)) {
      // Nobody writes it a condition, but its pods have theirs.
      is_placed = HasMinCount(cluster);
      if (!is_placed && waiting != nullptr) said_.message = cluster.WhyNot(*waiting);
    }
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

  // Counts the pods that would get a node if the group were no gang.
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
  const framework::PodGroupKey key_;
  bool is_in_tree_ = false;  // it is in a tree of groups, with which it is decided
  ClusterState alone_;       // the cluster; of waiting pods it has only the group's and those of its tree
  std::vector<PodPtr> members_;
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
  auto object = FindGroup(state, namespace_name, name);
  if (object.ok()) return GroupExplainer(state, options, WithMembers(*std::move(object), state)).Go();
  BERTH_ASSIGN_OR_RETURN(std::optional<Group> named, FindNamedGroup(state, options, namespace_name, name));
  if (!named) return object.error();
  return GroupExplainer(state, options, *std::move(named)).Go();
}

}  // namespace berth::whatif
