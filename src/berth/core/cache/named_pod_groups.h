// SPDX-License-Identifier: Apache-2.0
// NamedPodGroups: pod groups that plugins name (framework/pod_group_namer.h): their members, and for each group a
// PodGroup object like one from the API server. Within turns only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "berth/api/pod_group.h"
#include "berth/base/hash_map.h"
#include "berth/framework/pod_group_namer.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/pod_info.h"

namespace berth::cache {

class NamedPodGroups {
 public:
  // A group's PodGroup was added or changed, or was deleted with its last pod (null).
  struct Change {
    framework::PodGroupKey group;
    std::shared_ptr<const api::PodGroup> object;
  };

  // Records the pod as a member. It stays in the first group that it was recorded in; the other properties are those of
  // the latest call.
  std::optional<Change> Note(const framework::PodInfo& pod, const framework::NamedPodGroup& named);
  // Removes the pod. No effect on a pod in no group.
  std::optional<Change> Forget(std::string_view uid);
  // The value of the pod's pod_group_name; null: it is in no named group.
  const std::string* Find(std::string_view uid) const;

  std::size_t size() const { return groups_.size(); }

 private:
  // What a pod's annotations say about its group.
  struct Said {
    std::int32_t min_count = 1;
    std::int32_t priority = 0;
    api::PreemptionPolicy preemption_policy = api::PreemptionPolicy::kPreemptLowerPriority;
    auto operator<=>(const Said&) const = default;
  };
  struct Group {
    std::map<Said, std::size_t> said;  // number of pods with each value
    std::shared_ptr<const api::PodGroup> object;
  };
  struct Member {
    framework::PodGroupKey group;
    Said said;
  };

  std::optional<Change> Update(const framework::PodGroupKey& key, Group& group);

  absl::flat_hash_map<framework::PodGroupKey, Group> groups_;
  StringHashMap<Member> members_;  // by uid
};

}  // namespace berth::cache
