// SPDX-License-Identifier: Apache-2.0
// PodGroupAnnotations: a plugin of berth's own. Pods that say berth.dev/pod-group and berth.dev/min-count are a gang,
// on clusters that have no PodGroups. Needs GangScheduling in the same profile.
#pragma once

#include <optional>
#include <string_view>

#include "berth/framework/pod_group_namer.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class PodGroupAnnotations final : public framework::PodGroupNamer {
 public:
  static constexpr std::string_view kName = "berth.dev/pod-group";
  static constexpr std::string_view kMinCount = "berth.dev/min-count";

  std::string_view Name() const override { return names::kPodGroupAnnotations; }
  Expected<std::optional<framework::NamedPodGroup>> NameGroup(const api::Pod& pod) const override;
};

}  // namespace berth::plugins
