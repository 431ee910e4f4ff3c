// SPDX-License-Identifier: Apache-2.0
// NamedPodGroups: pod groups that plugins name (framework/pod_group_namer.h): who is in which, and the PodGroup that
// stands for each of them, as if the API server had it. Within turns only.
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
  // The PodGroup of a group has come, is another one, or has gone with its last pod (null).
  struct Change {
    framework::PodGroupKey group;
    std::shared_ptr<const api::PodGroup> object;
  };

  // The pod is in that group: in the first one that was said of it. What it says else counts as it is now.
  std::optional<Change> Note(const framework::PodInfo& pod, const framework::NamedPodGroup& named);
  // Without effect for a pod in no group.
  std::optional<Change> Forget(std::string_view uid);
  // What the pod's pod_group_name is; null: it is in none.
  const std::string* Find(std::string_view uid) const;

  std::size_t size() const { return groups_.size(); }

 private:
  // What a pod says of its group.
  struct Said {
    std::int32_t min_count = 1;
    std::int32_t priority = 0;
    api::PreemptionPolicy preemption_policy = api::PreemptionPolicy::kPreemptLowerPriority;
    auto operator<=>(const Said&) const = default;
  };
  struct Group {
    std::map<Said, std::size_t> said;  // how many pods say it
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
