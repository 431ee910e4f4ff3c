// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_declared_features/node_declared_features.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::MakePod;

const std::string kRestart = "RestartAllContainersOnContainerExits";
const std::string kUsers = "UserNamespacesHostNetworkSupport";
constexpr const char* kRefused = "UnschedulableAndUnresolvable: node(s) didn't match Pod's required features";

using Names = std::vector<std::string>;

api::Pod Plain() { return MakePod("p").Build(); }
api::Pod Restarting() {
  api::Pod pod = Plain();
  pod.spec.containers.front().restarts_all_containers = true;
  return pod;
}
api::Pod InitRestarting() {
  api::Pod pod = MakePod("p").InitContainer("i").Build();
  pod.spec.init_containers.front().restarts_all_containers = true;
  return pod;
}
api::Pod OwnUsers(bool host_network) {
  api::Pod pod = Plain();
  pod.spec.host_users = false;
  pod.spec.host_network = host_network;
  return pod;
}
api::Pod Both() {
  api::Pod pod = OwnUsers(true);
  pod.spec.containers.front().restarts_all_containers = true;
  return pod;
}
std::shared_ptr<const api::Node> Node(Names declared) {
  auto node = std::make_shared<api::Node>(*testing::MakeNode("n").Build());
  node->declared_features = std::move(declared);
  return node;
}

TEST(NodeDeclaredFeatures, Filters) {
  const struct {
    const char* name;
    api::Pod pod;
    Names declared;
    std::string want;
  } kCases[] = {
      {"needs nothing", Plain(), {}, "skip"},
      {"own users without the host's network", OwnUsers(false), {}, "skip"},
      {"restarts all, undeclared", Restarting(), {"Other", kUsers}, kRefused},
      {"restarts all, declared", Restarting(), {"Other", kRestart}, "ok"},
      {"an init container restarts all", InitRestarting(), {}, kRefused},
      {"an init container, declared", InitRestarting(), {kRestart}, "ok"},
      {"own users on the host's network", OwnUsers(true), {kRestart}, kRefused},
      {"own users, declared", OwnUsers(true), {kUsers}, "ok"},
      {"one of both", Both(), {kRestart}, kRefused},
      {"both", Both(), {kRestart, kUsers}, "ok"},
      {"not sorted: what follows a larger name is not found", Restarting(), {kUsers, kRestart}, kRefused},
  };
  testing::FakeHandle handle;
  const TestedPlugin plugin = CreateNodeDeclaredFeatures(handle);
  for (const auto& c : kCases) {
    TestCluster cluster;
    cluster.table().SetNode(Node(c.declared));
    const auto pod = testing::MakePodInfo(c.pod);
    const auto cycle = cluster.cycle();
    if (plugin.PreFilter(cycle, *pod).status.IsSkip()) {
      EXPECT_EQ(c.want, "skip") << c.name;
      continue;
    }
    EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), c.want) << c.name;
    framework::StatusTable statuses;
    framework::VerdictId verdict[] = {framework::kVerdictOk};
    plugin.FilterRows(cycle, *pod, cycle.nodes.rows(), verdict, statuses);
    EXPECT_EQ(TestCluster::Describe(statuses.Get(verdict[0])), c.want) << c.name << ", by column";
    verdict[0] = statuses.Intern(framework::Status::Unschedulable("refused before"));
    plugin.FilterRows(cycle, *pod, cycle.nodes.rows(), verdict, statuses);
    EXPECT_EQ(statuses.Get(verdict[0]).Message(), "refused before") << c.name;
  }
}

TEST(NodeDeclaredFeatures, KnowsOneFeatureIn135) {
  testing::FakeHandle handle;
  handle.SetRelease(framework::Release(35));
  const TestedPlugin plugin = CreateNodeDeclaredFeatures(handle);
  TestCluster cluster;
  cluster.table().SetNode(Node({}));
  const auto restarting = testing::MakePodInfo(Restarting());
  const auto cycle = cluster.cycle();
  ASSERT_TRUE(plugin.PreFilter(cycle, *restarting).status.IsSuccess());
  const std::string want =
      "UnschedulableAndUnresolvable: node declared features check failed - unsatisfied requirements: " +
      std::string(kRestart);
  EXPECT_EQ(cluster.Filter(plugin, *restarting, "n"), want);
  framework::StatusTable statuses;
  framework::VerdictId verdict[] = {framework::kVerdictOk};
  plugin.FilterRows(cycle, *restarting, cycle.nodes.rows(), verdict, statuses);
  EXPECT_EQ(TestCluster::Describe(statuses.Get(verdict[0])), want);
  EXPECT_TRUE(plugin.PreFilter(cycle, *testing::MakePodInfo(OwnUsers(true))).status.IsSkip());
}

TEST(NodeDeclaredFeatures, SaysWhenItWasNotPrepared) {
  TestCluster cluster;
  cluster.table().SetNode(Node({}));
  testing::FakeHandle handle;
  const TestedPlugin plugin = CreateNodeDeclaredFeatures(handle);
  const auto pod = testing::MakePodInfo(Restarting());
  constexpr const char* kWant = "Error: error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found";
  EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), kWant);
  framework::StatusTable statuses;
  framework::VerdictId verdict[] = {framework::kVerdictOk};
  const auto cycle = cluster.cycle();
  plugin.FilterRows(cycle, *pod, cycle.nodes.rows(), verdict, statuses);
  EXPECT_EQ(TestCluster::Describe(statuses.Get(verdict[0])), kWant);
}

TEST(NodeDeclaredFeatures, EventsThatMayHelp) {
  using namespace framework::action;
  using framework::EventResource;
  testing::FakeHandle handle;
  const TestedPlugin plugin = CreateNodeDeclaredFeatures(handle);
  const auto waiting = testing::MakePodInfo(Restarting());
  const auto hint = [&](framework::ClusterEvent event, const framework::EventObjects& objects) {
    return HintFor(plugin, event, *waiting, objects);
  };

  const auto none = Node({});
  const auto declaring = Node({kRestart});
  const struct {
    const char* name;
    framework::ActionType action;
    const api::Node* before;
    const api::Node* after;
    QueueingHint want;
  } kNodeCases[] = {
      {"any node comes", kAdd, nullptr, none.get(), QueueingHint::kQueue},
      {"its features change", kUpdateNodeDeclaredFeature, none.get(), declaring.get(), QueueingHint::kQueue},
      {"they stay", kUpdateNodeDeclaredFeature, declaring.get(), declaring.get(), QueueingHint::kSkip},
      {"something else changes", kUpdateNodeLabel, none.get(), declaring.get(), QueueingHint::kSkip},
  };
  for (const auto& c : kNodeCases) {
    framework::EventObjects objects;
    objects.old_node = c.before;
    objects.new_node = c.after;
    EXPECT_EQ(hint({EventResource::kNode, c.action}, objects), c.want) << c.name;
  }

  const auto plain = testing::MakePodInfo(Plain());
  const auto other = testing::MakePodInfo(MakePod("other").Build());
  const struct {
    const char* name;
    const framework::PodInfo* before;
    const framework::PodInfo* after;
    QueueingHint want;
  } kPodCases[] = {
      {"it needs less", waiting.get(), plain.get(), QueueingHint::kQueue},
      {"it needs the same", waiting.get(), waiting.get(), QueueingHint::kSkip},
      {"another pod", waiting.get(), other.get(), QueueingHint::kSkip},
  };
  for (const auto& c : kPodCases) {
    framework::EventObjects objects;
    objects.old_pod = c.before;
    objects.new_pod = c.after;
    EXPECT_EQ(hint({EventResource::kUnschedulablePod, kUpdate}, objects), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::plugins
