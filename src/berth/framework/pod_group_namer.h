// SPDX-License-Identifier: Apache-2.0
// PodGroupNamer: for plugins that assign pods to groups without PodGroups of the API. Such pods are scheduled as a
// gang, as if a PodGroup existed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/framework/plugin.h"

namespace berth::framework {

struct NamedPodGroup {
  std::string name;            // within the pod's namespace; the PodGroup's name is ObjectNameOf()
  std::int32_t min_count = 1;  // 1 or more; the gang's minimum is the largest value among its members
};

// Prefix of the names of PodGroups that stand for named groups. It is not valid in names of API objects.
inline constexpr std::string_view kNamedPodGroup = "berth.dev/pod-group=";
inline std::string ObjectNameOf(const NamedPodGroup& group) { return std::string(kNamedPodGroup) + group.name; }
inline bool IsNamedPodGroup(std::string_view object_name) { return object_name.starts_with(kNamedPodGroup); }

class PodGroupNamer : public virtual Plugin {
 public:
  // Called for pods of the plugin's profile that are in no group: for each pod until the answer is a group, in which it
  // then stays; after that only the count may change. nullopt: the pod is in no group. An error says what is wrong with
  // the pod, which is not scheduled and gets a condition.
  virtual Expected<std::optional<NamedPodGroup>> NameGroup(const api::Pod& pod) const = 0;
};

}  // namespace berth::framework
