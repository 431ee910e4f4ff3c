// SPDX-License-Identifier: Apache-2.0
// PodGroupNamer: for plugins that say which pods belong together, where pods name no PodGroup of the API. The pods are
// then scheduled as a gang is, as if there were a PodGroup.
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
  std::string name;            // within the pod's namespace; not that of a PodGroup
  std::int32_t min_count = 1;  // 1 or more; the largest that a member says is the gang's
};

// In front of the names of PodGroups that stand for named groups. No object of the API can be called so.
inline constexpr std::string_view kNamedPodGroup = "berth.dev/pod-group=";
inline std::string ObjectNameOf(const NamedPodGroup& group) { return std::string(kNamedPodGroup) + group.name; }
inline bool IsNamedPodGroup(std::string_view object_name) { return object_name.starts_with(kNamedPodGroup); }

class PodGroupNamer : public virtual Plugin {
 public:
  // Asked about pods of the plugin's profile without a group: of each until the answer is a group, which it then keeps;
  // after that only the count may change. nullopt: the pod is in no group. An error says what is wrong with the pod; it
  // is not scheduled, and told so.
  virtual Expected<std::optional<NamedPodGroup>> NameGroup(const api::Pod& pod) const = 0;
};

}  // namespace berth::framework
