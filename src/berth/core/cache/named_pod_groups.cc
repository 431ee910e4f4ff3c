// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/named_pod_groups.h"

#include <algorithm>
#include <utility>

namespace berth::cache {

using framework::PodGroupKey;

std::optional<NamedPodGroups::Change> NamedPodGroups::Note(const framework::PodInfo& pod,
                                                           const framework::NamedPodGroup& named) {
  const Said said{named.min_count, pod.priority(), pod.spec().preemption_policy};
  const auto [member, is_new] =
      members_.try_emplace(pod.uid, Member{{pod.namespace_name(), framework::ObjectNameOf(named), false}, said});
  Group& group = groups_[member->second.group];
  if (!is_new) {
    if (member->second.said == said) return std::nullopt;
    const auto before = group.said.find(member->second.said);
    if (--before->second == 0) group.said.erase(before);
    member->second.said = said;
  }
  ++group.said[said];
  return Update(member->second.group, group);
}

std::optional<NamedPodGroups::Change> NamedPodGroups::Forget(std::string_view uid) {
  const auto member = members_.find(uid);
  if (member == members_.end()) return std::nullopt;
  const PodGroupKey key = std::move(member->second.group);
  const auto found = groups_.find(key);
  Group& group = found->second;
  const auto said = group.said.find(member->second.said);
  if (--said->second == 0) group.said.erase(said);
  members_.erase(member);
  if (!group.said.empty()) return Update(key, group);
  groups_.erase(found);
  return Change{key, nullptr};
}

const std::string* NamedPodGroups::Find(std::string_view uid) const {
  if (members_.empty()) return nullptr;
  const auto member = members_.find(uid);
  return member == members_.end() ? nullptr : &member->second.group.name;
}

// The largest values apply: a gang is then never bound with fewer pods than any member asks for, and the cycle refuses
// members of other priorities.
std::optional<NamedPodGroups::Change> NamedPodGroups::Update(const PodGroupKey& key, Group& group) {
  api::PodGroup object;
  object.metadata.namespace_name = key.namespace_name;
  object.metadata.name = key.name;
  object.min_count = group.said.rbegin()->first.min_count;
  object.preemption_policy = group.said.rbegin()->first.preemption_policy;
  object.priority = group.said.rbegin()->first.priority;
  for (const auto& [said, count] : group.said) object.priority = std::max(*object.priority, said.priority);
  if (group.object && *group.object == object) return std::nullopt;
  group.object = std::make_shared<const api::PodGroup>(std::move(object));
  return Change{key, group.object};
}

}  // namespace berth::cache
