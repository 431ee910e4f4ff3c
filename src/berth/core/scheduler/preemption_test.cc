// SPDX-License-Identifier: Apache-2.0
// Preemption from end to end in the core: the attempt that finds victims, their eviction, and the preemptor's next
// attempts.
#include <deque>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

// A full node, and a pod that needs all of it.
class PreemptionTest : public ::testing::Test {
 protected:
  void Start() {
    harness_ = std::make_unique<Harness>(std::move(profiles_));
    h().Set(MakeNode("a"));
    h().Set(victim_);
    h().Run();
    h().Take();
  }
  // Runs the attempt that nominates the preemptor; the victim's patch is still unanswered.
  void Preempt() {
    h().Set(preemptor_);
    h().Run();
    EXPECT_EQ(h().Take(),
              (Lines{"status p Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. nominates a",
                     "Warning FailedScheduling p: 0/1 nodes are available: 1 Insufficient cpu.", "patch v"}));
  }
  Harness& h() { return *harness_; }

  Lines calls_;
  Profiles profiles_ = DefaultProfiles();
  std::unique_ptr<Harness> harness_;
  testing::PodBuilder victim_ = MakePod("v").Request("cpu", "3").Node("a");
  testing::PodBuilder preemptor_ = MakePod("p").Request("cpu", "4").Priority(10);
};

const char* const kPreempted = "Normal Preempted v: Preempted by pod uid-default-p on node a";

TEST_F(PreemptionTest, EvictsAndBinds) {
  Start();
  Preempt();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{kPreempted});
  h().Set(testing::PodBuilder(victim_).Deleted(h().now));
  h().Set(testing::PodBuilder(preemptor_).Nominated("a"));
  h().Run(1s);
  EXPECT_TRUE(h().Take().empty()) << "the victim is still on its way out";
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"bind p to a"});
}

TEST_F(PreemptionTest, IsHeldBackWhileVictimsAreEvicted) {
  victim_.Request("cpu", "1");
  Start();
  h().Set(MakePod("v2").Request("cpu", "3").Node("a"));
  h().Set(preemptor_);
  h().Run();
  EXPECT_EQ(h().Take().back(), "patch v");
  h().Answer();
  // The first victim is gone, but the other one has not been evicted yet.
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  h().Answer(Error{ErrorCode::kNotFound, "gone"});
  EXPECT_EQ(h().Take(), Lines{"patch v2"});
  h().Answer();
  h().Answer();
  h().Remove(MakePod("v2").Node("a"));
  h().Run(10s);
  EXPECT_EQ(h().Take().back(), "bind p to a");
}

TEST_F(PreemptionTest, TheVictimsEndOvertakesTheAnswer) {
  Start();
  Preempt();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{"delete v"});
  const std::uint64_t deletion = h().operation;
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_EQ(h().Take(), Lines{"bind p to a"});
  h().operation = deletion;
  h().LoseAnswer();
  h().Run(1s);
  EXPECT_EQ(h().Take(), Lines{"delete v"}) << "it is asked again, as nobody knows";
  h().Answer(Error{ErrorCode::kNotFound, "gone"});
  EXPECT_EQ(h().Take(), Lines{kPreempted});
}

TEST_F(PreemptionTest, TriesAgainWhenEvictingFails) {
  Start();
  Preempt();
  h().Answer(Error{ErrorCode::kForbidden, "no"});
  h().Run();
  EXPECT_EQ(h().Take().back(), "patch v");
}

TEST_F(PreemptionTest, SurvivesThePreemptorsEnd) {
  Start();
  Preempt();
  h().Answer();
  h().Remove(preemptor_);
  h().Take();
  h().Answer();
  EXPECT_EQ(h().Take(), Lines{kPreempted});
  h().Remove(victim_);
  h().Run(10s);
  EXPECT_TRUE(h().Take().empty());
  EXPECT_TRUE(h().IsIdle());
}

// The victims are not among what refused the pod, so that no filter's hint wakes it.
TEST_F(PreemptionTest, LooksForAnotherNodeWhenItsVictimsHaveLeft) {
  harness_ = std::make_unique<Harness>(std::move(profiles_));
  const auto repelled = [](const char* name) { return MakePod(name).Label("app", "x"); };
  const auto victim = [&] {
    return MakePod("v").Node("a").Deleted(h().now).Condition({"DisruptionTarget", "True", "PreemptionByScheduler", ""});
  };
  h().Set(MakeNode("a"));
  h().Set(MakeNode("b"));
  h().Set(victim());
  h().Set(repelled("stays").Node("a").Priority(20));
  h().Set(repelled("w").Node("b"));
  h().Set(MakePod("p")
              .Priority(10)
              .AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "x"}})))
              .Nominated("a"));
  h().Run();
  EXPECT_EQ(h().Take().back(),
            "Warning FailedScheduling p: 0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
            "no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.");
  h().Remove(victim());
  h().Run();
  const Lines lines = h().Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "patch w");
  EXPECT_EQ(h().handle->NominatedPods("b").size(), 1u);
}

// NodePorts refuses the pod. Only the dry run without the owner of the port shows that the node is too small as well,
// and NodePorts registers for no event about larger nodes.
TEST_F(PreemptionTest, IsTriedAfterAnEventOfWhoRefusedItInTheDryRunAlone) {
  harness_ = std::make_unique<Harness>(std::move(profiles_));
  h().Set(MakeNode("a").Allocatable("cpu", "4"));
  h().Set(MakePod("v").Request("cpu", "1").HostPort(80).Node("a"));
  h().Set(MakePod("w").Request("cpu", "2").Priority(100).Node("a"));
  h().Set(MakePod("p").Request("cpu", "3").HostPort(80).Priority(10));
  h().Run();
  EXPECT_THAT(h().Take().back(), ::testing::HasSubstr("preemption: 0/1 nodes are available: 1 Insufficient cpu."));
  h().Set(MakeNode("a").Allocatable("cpu", "6"));
  h().Run(11s);
  EXPECT_EQ(h().Take().back(), "patch v");
}

TEST_F(PreemptionTest, ClearsNominationsOfLessImportantPods) {
  Start();
  h().Set(MakePod("low").Request("cpu", "4").Priority(5).NeverPreempts().Nominated("a"));
  h().Run();
  h().Take();
  h().Set(preemptor_);
  h().Run();
  const Lines lines = h().Take();
  EXPECT_NE(std::find(lines.begin(), lines.end(), "status low nominates "), lines.end());
  EXPECT_EQ(h().handle->NominatedPods("a").size(), 1u);
}

// A full cluster and as many preemptors as nodes, each of which has to evict three pods. The API server answers writes
// one at a time in order; watches show the effect before the answer or a number of answers later.
class ManyPreemptorsTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kNodes = 30;

  ManyPreemptorsTest() {
    for (int n = 0; n < kNodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      h.Set(MakeNode(node).Allocatable("cpu", "4"));
      for (int i = 0; i < 4; ++i) h.Set(Low(node + "-" + std::to_string(i)).Node(node));
    }
  }
  static testing::PodBuilder Low(const std::string& name) { return MakePod(name).Request("cpu", "900m"); }
  static testing::PodBuilder High(int i) {
    return MakePod("high-" + std::to_string(i)).Request("cpu", "3").Priority(10);
  }

  void TakeOutputs() {
    std::vector<Output> outputs;
    h.core.TakeOutputs(outputs);
    for (Output& output : outputs) {
      if (auto* write = std::get_if<Write>(&output)) {
        writes.push_back(std::move(*write));
      } else if (const auto* event = std::get_if<EmitEvent>(&output)) {
        ++events[event->reason];
      }
    }
  }
  // Shows a write's effect through the watches.
  void Show(const Write& write) {
    if (const auto* removal = std::get_if<framework::ObjectDelete>(&write.write)) {
      h.Remove(Low(removal->object.name));
    } else if (const auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
      const int i = std::stoi(status->pod.name.substr(5));
      if (!bound.contains(status->pod.name)) h.Set(High(i).Nominated(status->nominated_node_name));
    } else if (const auto* bind = std::get_if<framework::BindWrite>(&write.write)) {
      bound[bind->pod.name] = bind->node_name;
      h.Set(High(std::stoi(bind->pod.name.substr(5))).Node(bind->node_name));
    }
  }
  void Answer(const Write& write) {
    std::optional<Error> error;
    if (const auto* removal = std::get_if<framework::ObjectDelete>(&write.write)) {
      ++deleted[removal->object.name];
    } else if (const auto* patch = std::get_if<framework::ObjectPatch>(&write.write)) {
      ++patched[patch->object.name];
    }
    h.core.Handle(WriteDone{write.operation, std::move(error)}, h.now);
  }

  Harness h;
  std::deque<Write> writes;
  std::deque<Write> unseen;  // answered, but not shown by a watch yet
  std::map<std::string, int> events, deleted, patched;
  std::map<std::string, std::string> bound;
};

TEST_P(ManyPreemptorsTest, AreTriedWhenTheirOwnVictimsHaveLeft) {
  const int lag = GetParam();  // by how many answers watches lag behind; -1: they are ahead of the answers
  for (int i = 0; i < kNodes; ++i) h.Set(High(i));
  const auto cycles = [this] { return h.core.counts().cycles; };
  for (int step = 0; step < 20'000 && std::ssize(bound) < kNodes; ++step) {
    h.Run(1ms);
    TakeOutputs();
    if (!writes.empty()) {
      const Write write = std::move(writes.front());
      writes.pop_front();
      if (lag < 0) {
        Show(write);
        h.Run();
        Answer(write);
      } else {
        Answer(write);
        unseen.push_back(write);
      }
    }
    if (std::ssize(unseen) > lag || writes.empty()) {
      if (!unseen.empty()) {
        Show(unseen.front());
        unseen.pop_front();
      }
    }
  }
  TakeOutputs();
  EXPECT_EQ(std::ssize(bound), kNodes);
  EXPECT_EQ(cycles(), 2U * kNodes) << "one attempt that nominates, and one that places";
  EXPECT_EQ(std::ssize(deleted), 3 * kNodes);
  for (const auto& [name, times] : deleted) EXPECT_EQ(times, 1) << name;
  for (const auto& [name, times] : patched) EXPECT_EQ(times, 1) << name;
  EXPECT_EQ(events["Preempted"], 3 * kNodes);
  std::map<std::string, int> on_node;
  for (const auto& [pod, node] : bound) EXPECT_EQ(++on_node[node], 1) << node;
}

INSTANTIATE_TEST_SUITE_P(Watches, ManyPreemptorsTest, ::testing::Values(-1, 0, 1, 7, 40));

TEST_F(PreemptionTest, TakesBackAPodThatWaits) {
  Enable(*profiles_.front(), std::make_shared<Actor>("X", calls_)).permit = [](const framework::PodInfo& pod) {
    return framework::PermitResult{pod.name == "v" ? framework::Status::Wait() : framework::Status(), 10min};
  };
  victim_ = MakePod("v").Request("cpu", "3");
  Start();
  EXPECT_EQ(h().core.binding_count(), 1u);
  h().Set(preemptor_);
  h().Run(10s);
  const Lines lines = h().Take();
  const auto has = [&](const char* line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); };
  EXPECT_TRUE(has("Normal Preempted v: Preempted by pod uid-default-p on node a (in kube-scheduler memory)."));
  EXPECT_TRUE(has("Warning FailedScheduling v: waiting on permit for pod: preempted"));
  EXPECT_TRUE(has("bind p to a"));
  EXPECT_FALSE(has("patch v"));
}

}  // namespace
}  // namespace berth::scheduler
