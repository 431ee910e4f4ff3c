// SPDX-License-Identifier: Apache-2.0
// RoundRobin in a whole scheduler: whose turn it is while nodes come and go, bindings fail and the scheduler restarts.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/ready_profile_testing.h"

namespace berth::plugins {
namespace {

using scheduler::Harness;
using testing::MakeNode;
using testing::MakePod;

class RoundRobinInTheCore : public ::testing::Test {
 protected:
  RoundRobinInTheCore() { Restart(); }

  // A new scheduler, which sees what there is.
  void Restart() {
    const Time now = harness ? harness->now : Time{std::chrono::seconds(1'000'000'020)};
    harness = std::make_unique<Harness>(ReadyProfile("round-robin"));
    harness->now = now;
    for (const std::string& name : nodes) harness->Set(MakeNode(name));
    for (const testing::PodBuilder& pod : pods) harness->Set(pod);
    (void)harness->Take();
  }
  void AddNode(const std::string& name) {
    nodes.insert(name);
    harness->Set(MakeNode(name));
  }
  void RemoveNode(const std::string& name) {
    nodes.erase(name);
    harness->RemoveNode(name);
  }
  testing::PodBuilder NewPod() {
    harness->now += std::chrono::seconds(1);
    return MakePod("p" + std::to_string(++pod_count)).SchedulerName("round-robin").Created(harness->now);
  }
  std::string Place(testing::PodBuilder pod) {
    harness->Set(pod);
    harness->Run();
    std::string node = Bound(*harness, pod);
    if (!node.empty()) pods.push_back(pod.Node(node));
    return node;
  }

  std::unique_ptr<Harness> harness;
  std::set<std::string> nodes;
  std::vector<testing::PodBuilder> pods;
  int pod_count = 0;
};

TEST_F(RoundRobinInTheCore, AnotherProfilesPodsUpsetNoTurn) {
  for (const char* name : {"a", "b", "c"}) AddNode(name);
  EXPECT_EQ(Place(NewPod()), "a");
  harness->Set(MakePod("other").SchedulerName("somebody-else").Node("c").Created(harness->now));
  EXPECT_EQ(Place(NewPod()), "b");
}

TEST_F(RoundRobinInTheCore, AfterAFailedBindingThePodGoesToTheNextNode) {
  for (const char* name : {"a", "b", "c"}) AddNode(name);
  const auto pod = NewPod();
  harness->Set(pod);
  harness->Run();
  EXPECT_EQ(harness->Take(), scheduler::Lines{"bind p1 to a"});
  harness->Answer(Error{ErrorCode::kInvalid, "no"});
  harness->Run(std::chrono::seconds(30));
  EXPECT_EQ(Bound(*harness, pod), "b");
}

TEST_F(RoundRobinInTheCore, FullNodesLoseTheirTurnsAndGetThemBack) {
  for (const char* name : {"a", "b", "c"}) AddNode(name);
  const auto large = [this] { return NewPod().Request("cpu", "3"); };
  EXPECT_EQ(Place(large()), "a");
  EXPECT_EQ(Place(large()), "b");
  EXPECT_EQ(Place(NewPod()), "c");
  EXPECT_EQ(Place(NewPod()), "a");
  EXPECT_EQ(Place(large()), "c") << "the only one with room: no turn";
  EXPECT_EQ(Place(NewPod()), "b");
}

// The twin: sorted names, and the last one used.
TEST_F(RoundRobinInTheCore, TurnsUnderChurnAndRestarts) {
  Random random(11);
  std::string last;
  int restarts = 0;
  for (int step = 0; step < 400; ++step) {
    for (std::uint64_t changes = random.Below(3); changes > 0; --changes) {
      const std::string name = "n" + std::to_string(random.Below(40));
      if (random.Below(2) == 0) {
        AddNode(name);
      } else if (std::none_of(pods.begin(), pods.end(),
                              [&](const testing::PodBuilder& pod) { return pod.Build().spec.node_name == name; })) {
        RemoveNode(name);
      }
    }
    if (nodes.size() < 2) continue;
    if (random.Below(25) == 0) {
      Restart();
      ++restarts;
    }
    const auto next = nodes.upper_bound(last);
    const std::string want = next == nodes.end() ? *nodes.begin() : *next;
    ASSERT_EQ(Place(NewPod()), want) << "after " << last << " at step " << step;
    last = want;
    // Of older pods some end.
    if (pods.size() > 30) {
      harness->Remove(pods.front());
      pods.erase(pods.begin());
    }
  }
  EXPECT_GT(restarts, 5);
}

}  // namespace
}  // namespace berth::plugins
