// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_distance/topology_distance.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/topology_distance/topology_distance_testing.h"
#include "berth/plugins/topology_distance/topology_tree.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

std::string Read(const std::string& json) {
  const auto args = ReadTopologyDistanceArgs(config::RawArgs{json});
  constexpr std::string_view kOfPlugin = "plugin \"TopologyDistance\": ";
  if (!args.ok()) {
    EXPECT_TRUE(args.error().message.starts_with(kOfPlugin)) << args.error().message;
    return args.error().message.substr(std::min(kOfPlugin.size(), args.error().message.size()));
  }
  std::string text;
  for (const TopologyDistanceArgs::Level& level : args->levels)
    text += level.key + "=" + std::to_string(level.distance) + " ";
  return text + "beyond=" + std::to_string(args->max_distance) + (args->peer_label.empty() ? "" : " by ") +
         args->peer_label + (args->by_controller ? " by controller" : "");
}

TEST(TopologyDistanceArgs, DistancesDoubleWhereNoneIsGiven) {
  EXPECT_EQ(Read(R"({"levels":[{"key":"a"},{"key":"b"},{"key":"c"}]})"), "a=1 b=2 c=4 beyond=8");
  EXPECT_EQ(Read(R"({"levels":[{"key":"a","distance":3},{"key":"b"},{"key":"c","distance":10}],"maxDistance":11})"),
            "a=3 b=6 c=10 beyond=11");
  EXPECT_EQ(Read(R"({"levels":[{"key":"a","distance":0},{"key":"b"}],"peerLabel":"job","byController":true})"),
            "a=0 b=1 beyond=2 by job by controller");
  EXPECT_EQ(
      Read(R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"TopologyDistanceArgs","levels":[{"key":"a"}]})"),
      "a=1 beyond=2");
}

TEST(TopologyDistanceArgs, EachMistakeIsOneLine) {
  struct Case {
    std::string json;
    std::string want;
  };
  constexpr const char* kNone = "args.levels: Required value: at least one, the narrowest first";
  constexpr const char* kNotAKey = ": must be a name as of a label, such as \"example.com/rack\"";
  const std::vector<Case> cases = {
      {"{}", kNone},
      {R"({"levels":[]})", kNone},
      {R"({"levels":"rack"})", "args.levels: must be a list, not a string"},
      {R"({"levels":["rack"]})", "args.levels[0]: must be an object, not a string"},
      {R"({"levels":[{}]})", "args.levels[0].key: Required value: the nodes' label, such as example.com/rack"},
      {R"({"levels":[{"key":7}]})", "args.levels[0].key: must be a string, not a number"},
      {R"({"levels":[{"key":"a b"}]})", std::string("args.levels[0].key: Invalid value: \"a b\"") + kNotAKey},
      {R"({"levels":[{"key":"a"},{"key":"a"}]})", "args.levels[1].key: Duplicate value: \"a\""},
      {R"({"levels":[{"key":"a","distance":-1}]})",
       "args.levels[0].distance: Invalid value: -1: must be between 0 and 10000"},
      {R"({"levels":[{"key":"a","distance":10001}]})",
       "args.levels[0].distance: Invalid value: 10001: must be between 0 and 10000"},
      {R"({"levels":[{"key":"a"},{"key":"b","distance":"far"}]})",
       "args.levels[1].distance: must be a whole number of 64 bits, not a string"},
      {R"({"levels":[{"key":"a","distance":10},{"key":"b","distance":3}]})",
       "args.levels[1].distance: Invalid value: 3: must be above 10, the distance of the level before it: the "
       "narrowest "
       "level comes first"},
      {R"({"levels":[{"key":"a","distance":10}],"maxDistance":10})",
       "args.maxDistance: Invalid value: 10: must be above 10, that of the widest level"},
      {R"({"levels":[{"key":"a","distnace":1}]})",
       "args.levels[0].distnace: unknown field; known here: distance, key; the nearest is distance"},
      {R"({"levels":[{"key":"a"}],"label":"job"})",
       "args.label: unknown field; known here: apiVersion, byController, kind, levels, maxDistance, peerLabel"},
      {R"({"levels":[{"key":"a"}],"peerLabel":"a b"})",
       std::string("args.peerLabel: Invalid value: \"a b\"") + kNotAKey},
      {R"({"levels":[{"key":"a"}],"byController":1})", "args.byController: must be a boolean, not a number"},
      {R"({"levels":[{"key":"a"},{"key":"b"},{"key":"c"},{"key":"d"},{"key":"e"},{"key":"f"},{"key":"g"},{"key":"h"},)"
       R"({"key":"i"}]})",
       "args.levels: Invalid value: 9: at most 8 are allowed"},
      {"7", "args: must be an object, not a number"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.json), c.want) << c.json;
  const auto without = ReadTopologyDistanceArgs({});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().message, std::string("plugin \"TopologyDistance\": ") + kNone);
}

TEST(TopologyTree, DomainsOfOneNameInTwoWiderOnesAreTwo) {
  TopologyTree tree({kRack, kBlock});
  const auto leaf = [&tree](const testing::NodeBuilder& node) { return tree.LeafOf(*node.Build()); };
  const auto in = [](const char* block, const char* rack) {
    return MakeNode("n").Label(kBlock, block).Label(kRack, rack);
  };
  EXPECT_EQ(leaf(in("b1", "r1")), leaf(in("b1", "r1")));
  EXPECT_NE(leaf(in("b1", "r1")), leaf(in("b2", "r1")));
  EXPECT_NE(leaf(in("b1", "r1")), leaf(in("b1", "r2")));
  EXPECT_EQ(tree.domains().size(), 5U);
  const TopologyTree::DomainId without_rack = leaf(MakeNode("n").Label(kBlock, "b1"));
  EXPECT_FALSE(tree.domains()[without_rack].is_labelled);
  EXPECT_EQ(tree.domains()[without_rack].parent, tree.domains()[leaf(in("b1", "r1"))].parent);
  EXPECT_EQ(without_rack, leaf(in("b1", "")));
}

class TopologyDistanceTest : public ::testing::Test {
 protected:
  TopologyDistanceTest() { handle_.groups = &groups_; }

  static TopologyDistanceArgs Args() { return {{{kRack, 1}, {kBlock, 3}, {kZone, 10}}, 20, {}, false}; }
  std::unique_ptr<TestedPlugin> Make(const TopologyDistanceArgs& args = Args()) {
    return std::make_unique<TestedPlugin>(CreateTopologyDistance(args, handle_));
  }
  // "z/b/r/n": node n in rack r of block b of zone z; an empty one: without that label.
  void Node(const std::string& path, const std::string& cpu = "4") {
    std::vector<std::string> parts(1);
    for (const char c : path) {
      if (c == '/') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    testing::NodeBuilder node(parts[3]);
    for (const auto& [part, key] : {std::pair(0, kZone), std::pair(1, kBlock), std::pair(2, kRack)}) {
      if (!parts[static_cast<std::size_t>(part)].empty()) node.Label(key, parts[static_cast<std::size_t>(part)]);
    }
    cluster_.Add(node.Allocatable("cpu", cpu));
  }
  void Run(testing::PodBuilder pod, const std::string& node) {
    cluster_.Add(pod.Uid("uid" + std::to_string(next_++)).Node(node));
  }
  static testing::PodBuilder Member(const std::string& group) {
    return MakePod("p").InGroup(group).Request("cpu", "1");
  }

  // Raw scores by the nodes' names, when all but `infeasible` are feasible.
  std::map<std::string, std::int64_t> Raw(const TestedPlugin& plugin, const testing::PodBuilder& pod,
                                          const std::vector<std::string>& infeasible = {}) {
    const auto info = pod.Info();
    cluster_.Forget();
    std::vector<NodeIndex> feasible;
    for (const NodeIndex row : cluster_.table().rows()) {
      const std::string& name = cluster_.table().Info(row).name();
      if (std::find(infeasible.begin(), infeasible.end(), name) == infeasible.end()) feasible.push_back(row);
    }
    const auto status = plugin.PreScore(cluster_.cycle(), *info, feasible);
    EXPECT_EQ(status.IsSkip(), plugin.PreScoreSkips(cluster_.cycle(), *info));
    std::map<std::string, std::int64_t> raw;
    if (status.IsSkip()) return raw;
    std::vector<std::int64_t> column(cluster_.table().row_count());
    framework::Status said;
    plugin.ScoreRows(cluster_.cycle(), *info, feasible, column, said);
    EXPECT_TRUE(said.IsSuccess());
    for (const NodeIndex row : feasible) {
      const std::string& name = cluster_.table().Info(row).name();
      raw[name] = cluster_.Score(plugin, *info, name);
      EXPECT_EQ(column[row], raw[name]) << name;
    }
    return raw;
  }
  // The nodes, the best first; equal ones joined by "=".
  std::string Order(const TestedPlugin& plugin, const testing::PodBuilder& pod,
                    const std::vector<std::string>& infeasible = {}) {
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (const auto& [name, raw] : Raw(plugin, pod, infeasible)) order.emplace_back(raw, name);
    std::sort(order.begin(), order.end());
    std::string text;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) text += order[i].first == order[i - 1].first ? '=' : ' ';
      text += order[i].second;
    }
    return text.empty() ? "skip" : text;
  }
  // The sums of distances alone: each narrowest domain has one feasible node.
  std::string Distances(const TestedPlugin& plugin, const testing::PodBuilder& pod) {
    std::string text;
    for (const auto& [name, raw] : Raw(plugin, pod))
      text += (text.empty() ? "" : " ") + name + ":" + std::to_string(raw / 2);
    return text.empty() ? "skip" : text;
  }

  TestCluster cluster_;
  WaitingGroups groups_;
  testing::FakeHandle handle_;
  int next_ = 0;
};

TEST_F(TopologyDistanceTest, AddsUpTheDistancesToThePeers) {
  for (const char* path : {"z/b/r/n", "z/b/r2/n2", "z/b3/r3/n3", "z4/b4/r4/n4"}) Node(path);
  const auto plugin = Make();
  Run(Member("g"), "n");
  EXPECT_EQ(Distances(*plugin, Member("g")), "n:0 n2:3 n3:10 n4:20");
  Run(Member("g"), "n3");
  EXPECT_EQ(Distances(*plugin, Member("g")), "n:10 n2:13 n3:10 n4:40");
  Run(Member("g"), "n");
  EXPECT_EQ(Distances(*plugin, Member("g")), "n:10 n2:16 n3:20 n4:60");
  Run(Member("other"), "n4");
  Run(Member("g").Namespace("other"), "n4");
  EXPECT_EQ(Distances(*plugin, Member("g")), "n:10 n2:16 n3:20 n4:60");
  EXPECT_EQ(Distances(*plugin, Member("other")), "n:20 n2:20 n3:20 n4:0");
}

TEST_F(TopologyDistanceTest, ThePeersNodeIsNearerThanItsRack) {
  for (const char* path : {"z/b/r/n", "z/b/r/n2", "z/b/r2/m"}) Node(path);
  Run(Member("g"), "n");
  EXPECT_EQ(Order(*Make(), Member("g")), "n n2 m");
  TopologyDistanceArgs flat = Args();
  flat.levels[0].distance = 0;
  EXPECT_EQ(Order(*Make(flat), Member("g")), "n=n2 m") << "unless the arguments say that it is not";
}

TEST_F(TopologyDistanceTest, NodesWithoutALabelHaveNothingInCommonThere) {
  for (const char* path : {"z/b//n", "z/b//n2", "z/b/r/n3", "//r/n4", "//r/n5", "///n6", "///n7"}) Node(path);
  const auto plugin = Make();
  const auto distance = [&](const char* node) {
    const auto raw = Raw(*plugin, Member("g"));
    // Two feasible nodes in the largest narrowest domain.
    return raw.at(node) / 3;
  };
  Run(Member("g"), "n");
  EXPECT_EQ(distance("n"), 0);
  EXPECT_EQ(distance("n2"), 3);
  EXPECT_EQ(distance("n3"), 3);
  EXPECT_EQ(distance("n4"), 20);
  Run(Member("g"), "n4");
  EXPECT_EQ(distance("n5"), 20 + 1);
  EXPECT_EQ(distance("n4"), 20 + 0);
  EXPECT_EQ(distance("n6"), 20 + 20);
  Run(Member("g"), "n6");
  EXPECT_EQ(distance("n6"), 20 + 20 + 0);
  EXPECT_EQ(distance("n7"), 20 + 20 + 20);
}

TEST_F(TopologyDistanceTest, OfEqualDomainsTheOneWithMoreFeasibleNodesComesFirst) {
  for (const char* path : {"z/b/r/n", "z/b/r2/m1", "z/b/r2/m2", "z/b/r3/o1", "z/b/r3/o2", "z/b/r3/o3", "z/c/r4/p"})
    Node(path);
  Run(Member("g"), "n");
  EXPECT_EQ(Order(*Make(), Member("g")), "n o1=o2=o3 m1=m2 p");
  EXPECT_EQ(Order(*Make(), Member("g"), {"n", "o1", "o2"}), "m1=m2 o3 p");
}

TEST_F(TopologyDistanceTest, FollowsNodesAndPods) {
  for (const char* path : {"z/b/r/n", "z/b/r2/n2", "z/c/r3/n3"}) Node(path);
  const auto plugin = Make();
  Run(Member("g"), "n");
  EXPECT_EQ(Order(*plugin, Member("g")), "n n2 n3");
  Node("z/c/r/n");  // it moves, and its pod with it
  EXPECT_EQ(Order(*plugin, Member("g")), "n n3 n2");
  cluster_.table().RemovePod(cluster_.table().Find("n"), "uid0");
  EXPECT_EQ(Order(*plugin, Member("g")), "skip") << "none of it is left, and none waits";
  Run(Member("g").Deleted(Time{}), "n");
  EXPECT_EQ(Order(*plugin, Member("g")), "skip") << "it is on its way out";
  Run(Member("g"), "n2");
  EXPECT_EQ(Order(*plugin, Member("g")).substr(0, 2), "n2");
}

TEST_F(TopologyDistanceTest, WhoThePeersAre) {
  for (const char* path : {"z/b/r/n", "z/b/r2/n2"}) Node(path);
  TopologyDistanceArgs args = Args();
  const auto plugin = Make(args);
  args.peer_label = "job";
  const auto by_label = Make(args);
  args.by_controller = true;
  const auto by_all = Make(args);
  const auto job = MakePod("p").Label("job", "a").Controller("batch/v1", "Job", "a-1");
  const auto plain = MakePod("p").Controller("batch/v1", "Job", "a-1");
  Run(job, "n2");
  EXPECT_EQ(Order(*plugin, job), "skip");
  EXPECT_EQ(Order(*by_label, job), "n2 n");
  EXPECT_EQ(Order(*by_label, plain), "skip");
  EXPECT_EQ(Order(*by_label, MakePod("p").Label("job", "")), "skip");
  EXPECT_EQ(Order(*by_label, MakePod("p").Label("job", "b")), "n=n2") << "it is the first";
  EXPECT_EQ(Order(*by_label, MakePod("p").Label("job", "a").Namespace("other")), "n=n2");
  EXPECT_EQ(Order(*by_all, plain), "n=n2") << "the label goes before the controller";
  EXPECT_EQ(Order(*by_all, MakePod("p")), "skip");
  Run(plain, "n");
  EXPECT_EQ(Order(*by_all, plain), "n n2");
  EXPECT_EQ(Order(*by_all, job), "n2 n");
  groups_.waiting["g"] = 2;
  EXPECT_EQ(Order(*by_all, testing::PodBuilder(job).InGroup("g")), "n=n2") << "the pod group goes before all";
}

// A pod of the same class in another pod group has other peers.
TEST_F(TopologyDistanceTest, PodGroupsAreNotInTheClass) {
  for (const char* path : {"z/b/r/n", "z/b/r2/n2"}) Node(path);
  const auto plugin = Make();
  const auto a = Member("a").Info();
  auto b = std::make_shared<framework::PodInfo>(*a);
  b->pod_group_name = "b";
  auto placed = std::make_shared<framework::PodInfo>(*a);
  placed->uid = "placed";
  placed->node_name = "n";
  cluster_.table().AddPod(placed);
  EXPECT_EQ(Order(*plugin, Member("a")), "n n2");
  auto moved = std::make_shared<framework::PodInfo>(*placed);
  moved->pod_group_name = "b";
  cluster_.table().RemovePod(cluster_.table().Find("n"), "placed");
  cluster_.table().AddPod(moved);
  EXPECT_EQ(plugin->PreScoreSkips(cluster_.cycle(), *a), true);
  EXPECT_EQ(plugin->PreScoreSkips(cluster_.cycle(), *b), false);
}

TEST_F(TopologyDistanceTest, TheFirstPodLooksForRoomForAll) {
  // Racks with room for 8, 12, 16 and 4 pods; blocks b: 20, c: 20.
  for (const char* path : {"z/b/r1/n1", "z/b/r1/n2", "z/b/r2/n3", "z/b/r2/n4", "z/b/r2/n5", "z/c/r3/n6", "z/c/r3/n7",
                           "z/c/r3/n8", "z/c/r3/n9", "z/c/r4/m1"})
    Node(path);
  const auto plugin = Make();
  const auto best = [&](std::size_t waiting, const std::vector<std::string>& infeasible = {}) {
    groups_.waiting["g"] = waiting;
    const std::string order = Order(*plugin, Member("g"), infeasible);
    return order.substr(0, order.find(' '));
  };
  EXPECT_EQ(best(1), "skip") << "it has no peers";
  EXPECT_EQ(best(4), "m1") << "each node has room for all, and its rack has the least beside";
  EXPECT_EQ(best(5), "n1=n2") << "of the racks with room, the one with the least";
  EXPECT_EQ(best(9), "n3=n4=n5");
  EXPECT_EQ(best(13), "n6=n7=n8=n9");
  EXPECT_EQ(best(17), "n6=n7=n8=n9") << "a block, and in it the rack with most nodes";
  EXPECT_EQ(best(17, {"n6", "n7"}), "n3=n4=n5") << "what is not feasible has no room";
  EXPECT_EQ(best(21), "n6=n7=n8=n9") << "the zone";
  EXPECT_EQ(best(100), "n6=n7=n8=n9") << "nothing has";
  Run(MakePod("x").Request("cpu", "1"), "n1");
  EXPECT_EQ(best(8), "n3=n4=n5");
  EXPECT_EQ(best(3), "n1") << "what is left there is enough";
}

TEST_F(TopologyDistanceTest, RoomIsByAllRequests) {
  Node("z/b/r1/n1", "64");
  Node("z/b/r1/n2", "64");
  for (int i = 0; i < 4; ++i) {
    cluster_.Add(MakeNode("g" + std::to_string(i))
                     .Label(kZone, "z")
                     .Label(kBlock, "b")
                     .Label(kRack, "r2")
                     .Allocatable("cpu", "64")
                     .Allocatable("example.com/gpu", "2"));
  }
  groups_.waiting["g"] = 8;
  const auto plugin = Make();
  const std::vector<std::string> none;
  EXPECT_EQ(Order(*plugin, Member("g").Request("example.com/gpu", "1"), {"n1", "n2"}), "g0=g1=g2=g3");
  EXPECT_EQ(Order(*plugin, Member("g").Request("cpu", "16"), none).substr(0, 5), "n1=n2") << "4 each, exactly";
  EXPECT_EQ(Order(*plugin, Member("g").HostPort(80), none).substr(0, 2), "g0") << "one a node: the larger rack";
}

TEST_F(TopologyDistanceTest, MarksHoldAllThatScoresRestOn) {
  for (const char* path : {"z/b/r/n", "z/b/r/n2", "z/b/r2/m"}) Node(path);
  const auto plugin = Make();
  const auto pod = Member("g").Info();
  groups_.waiting["g"] = 2;
  std::vector<NodeIndex> special;
  EXPECT_FALSE(plugin->MarksOf(cluster_.cycle(), *pod)) << "it looks at each node's room";
  EXPECT_FALSE(plugin->SharedMarksOf(cluster_.cycle(), *pod, 64, special));
  Run(Member("g"), "n");
  Run(Member("g"), "m");
  const auto shared = plugin->SharedMarksOf(cluster_.cycle(), *pod, 2, special);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->width, 1U);
  EXPECT_EQ(special, (std::vector<NodeIndex>{cluster_.table().Find("n"), cluster_.table().Find("m")}));
  special.clear();
  EXPECT_FALSE(plugin->SharedMarksOf(cluster_.cycle(), *pod, 1, special)) << "more than one row is special";

  using Scope = framework::GroupingPlugin::MarkScope;
  const std::vector<NodeIndex> rows = {cluster_.table().Find("n"), cluster_.table().Find("n2"),
                                       cluster_.table().Find("m")};
  std::vector<std::uint32_t> marks(3);
  plugin->MarkRows(cluster_.cycle(), *pod, Scope::kShared, rows, marks, 1);
  EXPECT_EQ(marks[0], marks[1]);
  EXPECT_NE(marks[0], marks[2]);
  const auto own = plugin->MarksOf(cluster_.cycle(), *pod);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->width, 2U);
  EXPECT_NE(own->version, shared->version);
  marks.resize(6);
  plugin->MarkRows(cluster_.cycle(), *pod, Scope::kOwn, rows, marks, 2);
  EXPECT_EQ((std::vector<std::uint32_t>{marks[1], marks[3], marks[5]}), (std::vector<std::uint32_t>{1, 0, 1}));
  Run(Member("other"), "n");
  EXPECT_NE(plugin->MarksOf(cluster_.cycle(), *Member("other").Info())->version, own->version);
  EXPECT_EQ(plugin->MarksOf(cluster_.cycle(), *pod)->version, own->version);
}

TEST_F(TopologyDistanceTest, WithoutPreScoreItsScoreIsAnError) {
  Node("z/b/r/n");
  framework::Status status;
  Make()->Score(cluster_.cycle(), *Member("g").Info(), 0, cluster_.Node("n"), status);
  EXPECT_EQ(status.Message(), "reading \"PreScoreTopologyDistance\" from cycleState: not found");
}

}  // namespace
}  // namespace berth::plugins
