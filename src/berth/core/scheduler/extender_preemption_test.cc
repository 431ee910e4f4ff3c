// SPDX-License-Identifier: Apache-2.0
// Preemptions about which HTTP extenders are asked. The test answers for the extenders.
#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/scheduler/extender_cycle_testing.h"
#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

config::Extender Preempting(std::string url) {
  config::Extender extender;
  extender.url_prefix = std::move(url);
  extender.preempt_verb = "preempt";
  return extender;
}

// Nodes a, b and c are each filled by a pod of 3 CPUs and one of 1 CPU, which is less important on a. The pod p needs 3
// CPUs.
class World : public Harness {
 public:
  explicit World(const std::vector<config::Extender>& extenders, Profiles profiles = DefaultProfiles())
      : Harness(std::move(profiles), OptionsOf(extenders)) {
    for (const char* node : {"a", "b", "c"}) {
      Set(MakeNode(node));
      Set(Large(node));
      Set(MakePod(std::string("small-") + node).Node(node).Request("cpu", "1").Priority(2));
    }
    Run();
    Take();
  }

  static testing::PodBuilder Large(const std::string& node) {
    return MakePod("large-" + node).Node(node).Request("cpu", "3").Priority(node == "a" ? 1 : 2);
  }
  static testing::PodBuilder Preemptor() { return MakePod("p").Request("cpu", "3").Priority(10); }
  static std::string Uid(const std::string& name) { return "uid-default-" + name; }

  void Preempt() {
    Set(Preemptor());
    Run();
  }
  void Finish(Expected<ExtenderAnswer> answer) {
    ASSERT_FALSE(asked.empty()) << "nobody was asked";
    const std::uint64_t oldest = asked.front();
    asked.erase(asked.begin());
    core.Handle(ExtenderDone{oldest, std::move(answer)}, now);
    Run();
  }
  void Left(std::vector<VictimsOnNode> victims) { Finish(ExtenderAnswer{.victims = std::move(victims)}); }
  void Break(std::string message) { Finish(Error{ErrorCode::kUnavailable, std::move(message)}); }

 private:
  static SchedulerOptions OptionsOf(const std::vector<config::Extender>& extenders) {
    SchedulerOptions options = PatientOptions();
    options.extenders = config::InCallOrder(extenders);
    return options;
  }
};

// Sorts the candidates in a request, whose order is arbitrary.
std::string Sorted(const std::string& question) {
  const std::size_t colon = question.find(": ");
  std::vector<std::string> parts;
  for (std::size_t at = colon + 2; at < question.size();) {
    const std::size_t end = std::min(question.find("] ", at), question.size() - 1);
    parts.push_back(question.substr(at, end + 1 - at));
    at = end + 2;
  }
  std::sort(parts.begin(), parts.end());
  std::string text = question.substr(0, colon + 1);
  for (const std::string& part : parts) text += " " + part;
  return text;
}

bool Patches(const Lines& lines, const std::string& pod) {
  return std::find(lines.begin(), lines.end(), "patch " + pod) != lines.end();
}

constexpr const char* kRefused = "0/3 nodes are available: 3 Insufficient cpu.";
const std::string kNoCandidate = " no new claims to deallocate, preemption: no candidate node for preemption";
const std::string kAsked = "ask 0 preempt p: a[uid-default-large-a] b[uid-default-large-b] c[uid-default-large-c]";

TEST(ExtenderPreemptionTest, AnExtenderChoosesAmongTheCandidates) {
  World world({Preempting("x")});
  world.Preempt();
  Lines lines = world.Take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(Sorted(lines[0]), kAsked);
  EXPECT_TRUE(world.core.IsWaitingForExtenders()) << "nobody is evicted before it has answered";
  world.Left({{"c", {World::Uid("large-c")}}, {"b", {World::Uid("large-b"), World::Uid("small-b")}}});
  lines = world.Take();
  EXPECT_EQ(lines[0], "status p Unschedulable: " + std::string(kRefused) + " nominates c") << "one victim is cheaper";
  EXPECT_TRUE(Patches(lines, "large-c"));
  EXPECT_FALSE(world.core.IsWaitingForExtenders());
  EXPECT_EQ(world.core.counts().cycles, 1U);
}

TEST(ExtenderPreemptionTest, AnExtenderNamesTheVictims) {
  World world({Preempting("x")});
  world.Preempt();
  world.Take();
  world.Left({{"b", {World::Uid("small-b"), World::Uid("small-b"), World::Uid("large-b")}, 1}});
  const Lines lines = world.Take();
  EXPECT_EQ(lines[0], "status p Unschedulable: " + std::string(kRefused) + " nominates b");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "patch small-b"), 1) << "named twice, evicted once";
  EXPECT_FALSE(Patches(lines, "large-b")) << "the last one goes when the others have gone";
}

TEST(ExtenderPreemptionTest, EachExtenderSeesWhatTheOneBeforeItLeft) {
  config::Extender gpus = Preempting("gpus");
  gpus.managed_resources = {{"example.com/gpu", false}};
  World world({Preempting("x"), gpus, Ignorable(Preempting("z"))});
  world.Preempt();
  world.Take();
  world.Left({{"c", {World::Uid("large-c")}, 2}});
  EXPECT_EQ(world.Take(), (Lines{"ask 2 preempt p: c[uid-default-large-c]!2"})) << "not the one for other pods";
  world.Left({});
  EXPECT_EQ(world.Take()[0], "status p Unschedulable: " + (kRefused + kNoCandidate));
}

TEST(ExtenderPreemptionTest, AnswersThatWillNotDo) {
  const struct {
    const char* name;
    std::function<void(World&)> answer;
    std::string want;
  } cases[] = {
      {"it fails", [](World& world) { world.Break("down"); }, "down"},
      {"a node without victims", [](World& world) { world.Left({{"a", {}}}); },
       "expected at least one victim pod on node \"a\""},
      {"a node that is not known", [](World& world) { world.Left({{"zzz", {"u"}}}); },
       "nodeinfo not found for node name \"zzz\""},
      {"a pod of another node", [](World& world) { world.Left({{"a", {World::Uid("large-b")}}}); },
       "extender: x claims to preempt pod (UID: uid-default-large-b) on node: a, but the pod is not found on that "
       "node"},
  };
  for (const auto& c : cases) {
    World world({Preempting("x")});
    world.Preempt();
    world.Take();
    c.answer(world);
    EXPECT_EQ(world.Take()[0], "status p Unschedulable: " + std::string(kRefused) + " preemption: " + c.want) << c.name;
    World ignoring({Ignorable(Preempting("x"))});
    ignoring.Preempt();
    ignoring.Take();
    c.answer(ignoring);
    const std::string status = ignoring.Take()[0];
    if (std::string(c.name) == "a node without victims") {
      EXPECT_TRUE(status.ends_with("preemption: no candidate node for preemption")) << c.name << ": " << status;
    } else {
      EXPECT_TRUE(status.ends_with("nominates a")) << c.name << ": " << status;
    }
  }
}

TEST(ExtenderPreemptionTest, TheClusterChangesMeanwhile) {
  const struct {
    const char* name;
    std::function<void(World&)> change;
    std::string want;
    bool is_tried_again = false;
  } cases[] = {
      {"the node goes", [](World& world) { world.RemoveNode("a"); },
       "status p Unschedulable: 0/2 nodes are available: 2 Insufficient cpu." + kNoCandidate},
      {"the victim goes", [](World& world) { world.Remove(World::Large("a")); }, "bind p to a"},
      // A deleted pod cannot be distinguished from one that never existed.
      {"a victim of the extender's own goes", [](World& world) { world.Remove(MakePod("small-a").Node("a")); },
       "status p Unschedulable: " + std::string(kRefused) +
           " preemption: extender: x claims to preempt pod (UID: uid-default-small-a) on node: a, but the pod is not "
           "found on that node",
       true},
      {"room comes", [](World& world) { world.Set(MakeNode("d")); }, "bind p to d"},
      {"the pod goes", [](World& world) { world.Remove(World::Preemptor()); }, ""},
  };
  for (const auto& c : cases) {
    World world({Preempting("x")});
    world.Preempt();
    world.Take();
    c.change(world);
    world.Left({{"a", {World::Uid("large-a"), World::Uid("small-a")}}});
    const Lines lines = world.Take();
    EXPECT_EQ(lines.empty() ? "" : lines[0], c.want) << c.name;
    EXPECT_EQ(world.core.IsWaitingForExtenders(), c.is_tried_again) << c.name;
  }
}

// kube-scheduler looks for all victims on the candidate's node, and rejects these.
TEST(ExtenderPreemptionTest, PodsOfAGroupMayRunOnOtherNodes) {
  World world({Preempting("x")}, GroupProfiles());
  api::PodGroup group = Gang("g", 1);
  group.is_disrupted_whole = true;
  world.core.Handle(ObjectSet{std::make_shared<const api::PodGroup>(group)}, world.now);
  world.Set(MakeNode("d"));
  world.Set(MakeNode("e"));
  world.Set(MakePod("g-0").Node("d").Request("cpu", "3").InGroup("g"));
  world.Set(MakePod("g-1").Node("e").Request("cpu", "4").InGroup("g"));
  world.Preempt();
  world.Take();
  world.Left({{"d", {World::Uid("g-0"), World::Uid("g-1")}}});
  const Lines lines = world.Take();
  EXPECT_NE(lines[0].find("preempting 2 victims nominates d"), std::string::npos) << lines[0];
}

TEST(ExtenderPreemptionTest, FollowsAnExtenderThatFilters) {
  config::Extender both = Preempting("x");
  both.filter_verb = "filter";
  World world({both});
  world.Set(MakeNode("d"));
  world.Preempt();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: d"}));
  world.Finish(ExtenderAnswer{.failed_and_unresolvable_nodes = {{"d", "not yours"}}});
  const Lines lines = world.Take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(Sorted(lines[0]), kAsked);
  // The extender has not been asked about node e.
  world.Set(MakeNode("e"));
  world.Left({{"b", {World::Uid("large-b")}}});
  EXPECT_TRUE(world.Take()[0].ends_with("nominates b"));
}

TEST(ExtenderPreemptionTest, ANodeComesFreeThatNoExtenderHasFiltered) {
  config::Extender both = Preempting("x");
  both.filter_verb = "filter";
  World world({both});
  world.Preempt();
  EXPECT_EQ(Sorted(world.Take()[0]), kAsked) << "no node passes, so there is nothing to filter";
  world.Set(MakeNode("d"));
  world.Left({{"b", {World::Uid("large-b")}}});
  EXPECT_EQ(world.Take()[0], "status p SchedulerError: a node came free while extenders were asked about preemption");
  world.Run(2s);
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: d"}));
}

TEST(ExtenderPreemptionTest, NobodyIsAskedWherePreemptionDoesNotHelp) {
  World world({Preempting("x")});
  world.Set(MakePod("p").Request("cpu", "100"));
  world.Run();
  EXPECT_TRUE(world.Take()[0].starts_with("status p Unschedulable: ")) << "no question";
  world.Set(MakePod("q").Request("cpu", "1").Priority(1));
  world.Run();
  EXPECT_TRUE(world.Take()[0].starts_with("status q Unschedulable: ")) << "nobody is less important";
}

}  // namespace
}  // namespace berth::scheduler
