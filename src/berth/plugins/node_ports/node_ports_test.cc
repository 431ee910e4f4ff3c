// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_ports/node_ports.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kRefused = "Unschedulable: node(s) didn't have free ports for the requested pod ports";

TEST(NodePorts, Table) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    testing::PodBuilder running;
    const char* want;
  } cases[] = {
      {"different ports", MakePod("p").HostPort(80), MakePod("q").HostPort(81), "ok"},
      {"same port", MakePod("p").HostPort(80), MakePod("q").HostPort(80), kRefused},
      {"another protocol", MakePod("p").HostPort(80, "UDP"), MakePod("q").HostPort(80), "ok"},
      {"no protocol is TCP", MakePod("p").HostPort(80, "TCP"), MakePod("q").HostPort(80), kRefused},
      {"two addresses", MakePod("p").HostPort(80, "", "10.0.0.1"), MakePod("q").HostPort(80, "", "10.0.0.2"), "ok"},
      {"same address", MakePod("p").HostPort(80, "", "10.0.0.1"), MakePod("q").HostPort(80, "", "10.0.0.1"), kRefused},
      {"all addresses wanted", MakePod("p").HostPort(80), MakePod("q").HostPort(80, "", "10.0.0.2"), kRefused},
      {"all addresses taken", MakePod("p").HostPort(80, "", "10.0.0.1"), MakePod("q").HostPort(80, "", "0.0.0.0"),
       kRefused},
      {"one of two ports taken", MakePod("p").HostPort(79).HostPort(80), MakePod("q").HostPort(80), kRefused},
  };
  for (auto test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({MakeNode("n")});
    cluster.Add(test.running.Node("n"));
    EXPECT_TRUE(TestedPlugin(CreateNodePorts()).PreFilter(cluster.cycle(), *test.pod.Info()).status.IsSuccess());
    EXPECT_EQ(cluster.Filter(CreateNodePorts(), *test.pod.Info(), "n"), test.want);
  }
}

TEST(NodePorts, SkipsPodsWithoutHostPorts) {
  TestCluster cluster({MakeNode("n")});
  EXPECT_TRUE(
      TestedPlugin(CreateNodePorts()).PreFilter(cluster.cycle(), *MakePod("p").HostPort(0).Info()).status.IsSkip());
}

TEST(NodePorts, OnlyPodsThatHeldThePortHelp) {
  const auto pod = MakePod("p").HostPort(80).Info();
  const auto hint = [&](testing::PodBuilder gone) {
    const auto info = gone.Info();
    return HintFor(CreateNodePorts(), {framework::EventResource::kAssignedPod, framework::action::kDelete}, *pod,
                   {.old_pod = info.get()});
  };
  EXPECT_EQ(hint(MakePod("q").HostPort(80).Node("n")), QueueingHint::kQueue);
  EXPECT_EQ(hint(MakePod("q").HostPort(80).Nominated("n")), QueueingHint::kQueue);
  EXPECT_EQ(hint(MakePod("q").HostPort(80)), QueueingHint::kSkip);
  EXPECT_EQ(hint(MakePod("q").HostPort(81).Node("n")), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
