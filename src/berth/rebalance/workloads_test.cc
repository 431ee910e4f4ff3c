// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/workloads.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/rebalance/move_allowance.h"
#include "berth/testing/builders.h"

namespace berth::rebalance {
namespace {

using testing::MakePod;

void AddSet(whatif::ClusterState& state, const std::string& name, const char* owner_version, const char* owner_kind,
            const std::string& owner_name) {
  auto set = std::make_shared<api::ReplicaSet>();
  set->metadata.name = name;
  set->metadata.namespace_name = "default";
  set->metadata.uid = "uid-of-" + name;
  if (!owner_name.empty()) set->metadata.controller = {owner_version, owner_kind, owner_name, "uid-of-" + owner_name};
  state.objects.emplace_back(std::shared_ptr<const api::ReplicaSet>(std::move(set)));
}

std::shared_ptr<const api::Pod> PodOf(const std::string& name, const std::string& set, const std::string& label,
                                      const std::string& hash) {
  api::Pod pod = MakePod(name).Label(label, hash).Node("n").Build();
  pod.metadata.controller = {"apps/v1", "ReplicaSet", set, "uid-of-" + set};
  return std::make_shared<const api::Pod>(std::move(pod));
}

TEST(WorkloadsTest, FollowsOwnersToTheTop) {
  whatif::ClusterState state;
  AddSet(state, "web-5c7", "apps/v1", "Deployment", "web");
  AddSet(state, "shop-1a", "argoproj.io/v1alpha1", "Rollout", "shop");
  AddSet(state, "web-9f", "example.com/v1", "Deployment", "web");
  const Workloads workloads(state);
  const auto of = [&](const char* set, const char* label, const char* hash) {
    return workloads.Of(*PodOf("p", set, label, hash));
  };
  EXPECT_EQ(of("web-5c7", "pod-template-hash", "5c7"), "default/Deployment web");
  EXPECT_EQ(of("shop-1a", "rollouts-pod-template-hash", "1a"), "default/Rollout.argoproj.io shop");
  EXPECT_EQ(of("web-9f", "pod-template-hash", "9f"), "default/Deployment.example.com web") << "another group's kind";
  // Sets that were not read, or have no owner.
  EXPECT_EQ(of("api-77", "pod-template-hash", "77"), "default/Deployment api");
  EXPECT_EQ(of("api-77", "rollouts-pod-template-hash", "77"), "default/ReplicaSet api");
  EXPECT_EQ(of("api-77", "team", "77"), "default/ReplicaSet api-77");
  EXPECT_EQ(workloads.Of(MakePod("p").Build()), "");
  EXPECT_EQ(workloads.Of(MakePod("p").Controller("batch/v1", "Job", "night").Build()), "default/Job night");
}

TEST(WorkloadsTest, OwnersInACircleEnd) {
  whatif::ClusterState state;
  AddSet(state, "a", "apps/v1", "ReplicaSet", "b");
  AddSet(state, "b", "apps/v1", "ReplicaSet", "a");
  EXPECT_NE(Workloads(state).Of(*PodOf("p", "a", "x", "y")), "");
}

TEST(WorkloadsTest, PodsOfTwoSetsAreARollout) {
  const auto why_not = [](bool has_owners, const char* label, bool has_canary) {
    whatif::ClusterState state;
    if (has_owners) {
      for (const char* set : {"shop-ccc", "shop-ddd"}) AddSet(state, set, "argoproj.io/v1alpha1", "Rollout", "shop");
    }
    for (const char* name : {"a", "b", "c"}) state.pods.push_back(PodOf(name, "shop-ccc", label, "ccc"));
    if (has_canary) state.pods.push_back(PodOf("d", "shop-ddd", label, "ddd"));
    const MoveAllowance allowance(state, MoveLedger(), AllowanceLimits(), {}, Time{});
    return std::string(allowance.WhyNot(*state.pods[0], "s", false, false).cause);
  };
  for (const char* label : {"pod-template-hash", "rollouts-pod-template-hash"}) {
    EXPECT_EQ(why_not(true, label, true), "rollout") << label;
    EXPECT_EQ(why_not(false, label, true), "rollout") << label;
    EXPECT_EQ(why_not(true, label, false), "") << label;
  }
  EXPECT_EQ(why_not(true, "app", true), "rollout") << "by their owners alone";
}

TEST(WorkloadsTest, StatefulSetsOfOneOwnerAreRolledOutEachByItself) {
  const auto why_not = [](const char* hash_of_the_last) {
    whatif::ClusterState state;
    for (const char* name : {"hot", "cold"}) {
      auto set = std::make_shared<api::StatefulSet>();
      set->metadata.name = name;
      set->metadata.uid = std::string("uid-of-") + name;
      set->metadata.controller = {"elastic.example.com/v1", "Elasticsearch", "logs", "uid-of-logs"};
      state.objects.emplace_back(std::shared_ptr<const api::StatefulSet>(std::move(set)));
    }
    const auto add = [&](const char* name, const char* set, const char* hash) {
      api::Pod pod = MakePod(name).Label("controller-revision-hash", hash).Node("n").Build();
      pod.metadata.controller = {"apps/v1", "StatefulSet", set, std::string("uid-of-") + set};
      state.pods.push_back(std::make_shared<const api::Pod>(std::move(pod)));
    };
    add("hot-0", "hot", "h1");
    add("cold-0", "cold", "c1");
    add("cold-1", "cold", hash_of_the_last);
    const MoveAllowance allowance(state, MoveLedger(), AllowanceLimits(), {}, Time{});
    return std::string(allowance.WhyNot(*state.pods[0], "s", false, false).cause);
  };
  EXPECT_EQ(why_not("c1"), "");
  EXPECT_EQ(why_not("c2"), "rollout");
}

}  // namespace
}  // namespace berth::rebalance
