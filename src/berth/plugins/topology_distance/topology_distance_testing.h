// SPDX-License-Identifier: Apache-2.0
// What the tests of TopologyDistance share. Tests only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/pod_groups.h"
#include "berth/testing/builders.h"

namespace berth::plugins {

inline constexpr const char* kRack = "example.com/rack";
inline constexpr const char* kBlock = "example.com/block";
inline constexpr const char* kZone = "topology.kubernetes.io/zone";

// Pod groups, by name, with the number of their waiting pods.
class WaitingGroups final : public framework::PodGroups {
 public:
  using Key = framework::PodGroupKey;
  std::optional<Key> RootOf(const Key& group) const override { return group; }
  std::vector<Key> ChildrenOf(const Key&) const override { return {}; }
  const api::PodGroup* FindPodGroup(const Key&) const override { return nullptr; }
  const api::CompositePodGroup* FindComposite(const Key&) const override { return nullptr; }
  std::vector<Key> GroupsOfPods() const override { return {}; }
  Counts CountsOf(const Key& group) const override {
    const auto it = waiting.find(group.name);
    return {0, it == waiting.end() ? 0 : it->second};
  }
  std::vector<framework::PodInfoPtr> ScheduledPods(const Key&) const override { return {}; }
  std::vector<framework::PodInfoPtr> UnscheduledPods(const Key&) const override { return {}; }
  void AllowWaiting(const Key&, std::string_view) override {}

  std::map<std::string, std::size_t> waiting;
};

}  // namespace berth::plugins
