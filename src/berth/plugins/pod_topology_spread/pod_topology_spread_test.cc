// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/pod_topology_spread.h"

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/go_math.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using api::NodeInclusionPolicy;
using api::TaintEffect;
using api::UnsatisfiableConstraintAction;
using framework::NodeIndex;
using framework::QueueingHint;
using testing::Labels;
using testing::MakeNode;
using testing::MakePod;
using testing::SpreadConstraint;

constexpr auto kAnyway = UnsatisfiableConstraintAction::kScheduleAnyway;
constexpr const char* kMissing =
    "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints (missing required label)";
constexpr const char* kSkewed = "Unschedulable: node(s) didn't match pod topology spread constraints";
const api::LabelSelector kWeb = Labels({{"app", "web"}});

testing::NodeBuilder Node(std::string name, std::string_view zone) {
  return MakeNode(std::move(name)).Label("zone", zone);
}
testing::PodBuilder Web(std::string name) { return MakePod(std::move(name)).Label("app", "web"); }
testing::PodBuilder Spread(api::TopologySpreadConstraint constraint) { return Web("p").Spread(std::move(constraint)); }

class PodTopologySpreadTest : public ::testing::Test {
 protected:
  // "ok" or a reason for each node, after PreFilter.
  std::vector<std::string> Filter(const framework::PodInfo& pod) {
    cluster_.Forget();
    const auto cycle = cluster_.cycle();
    const auto status = plugin_.PreFilter(cycle, pod).status;
    if (!status.IsSuccess()) return {"PreFilter " + TestCluster::Describe(status)};
    std::vector<std::string> answers;
    for (const NodeIndex row : cycle.nodes.rows()) {
      answers.push_back(TestCluster::Describe(plugin_.Filter(cycle, pod, cycle.nodes.Info(row))));
    }
    return answers;
  }

  // Normalised, of all nodes.
  std::vector<std::int64_t> Score(const TestedPlugin& plugin, const framework::PodInfo& pod) {
    cluster_.Forget();
    const auto cycle = cluster_.cycle();
    EXPECT_TRUE(plugin.PreScore(cycle, pod, cycle.nodes.rows()).IsSuccess());
    std::vector<framework::NodeScore> scores;
    for (const NodeIndex row : cycle.nodes.rows()) {
      framework::Status status;
      scores.push_back({row, plugin.Score(cycle, pod, row, cycle.nodes.Info(row), status)});
    }
    EXPECT_TRUE(plugin.NormalizeScore(cycle, pod, scores).IsSuccess());
    std::vector<std::int64_t> values;
    for (const auto& score : scores) values.push_back(score.score);
    return values;
  }

  void AddWeb(std::string_view node, int count) {
    for (; count > 0; --count) cluster_.Add(Web("web-" + std::to_string(next_++)).Node(std::string(node)));
  }

  testing::FakeHandle handle_;
  TestedPlugin plugin_ = CreatePodTopologySpread({}, handle_);
  TestCluster cluster_;
  int next_ = 0;
};

using Strings = std::vector<std::string>;
using Scores = std::vector<std::int64_t>;

TEST_F(PodTopologySpreadTest, Filters) {
  // Zone a: 2 pods of app web; b: 1; c: none.
  cluster_.Add(Node("a1", "a").Label("disk", "ssd"));
  cluster_.Add(Node("a2", "a"));
  cluster_.Add(Node("b1", "b").Label("disk", "ssd"));
  cluster_.Add(Node("c1", "c").Taint("t", "", TaintEffect::kNoSchedule));
  AddWeb("a1", 1);
  AddWeb("a2", 1);
  AddWeb("b1", 1);
  cluster_.Add(MakePod("db").Label("app", "db").Node("b1"));
  cluster_.Add(Web("elsewhere").Namespace("other").Node("b1"));
  cluster_.Add(Web("ending").Node("b1").Deleted(Time{}));
  cluster_.Add(Web("nowhere").Node("unknown"));

  const auto zone = [](std::int32_t max_skew) { return SpreadConstraint(max_skew, "zone", kWeb); };
  const auto with = [&](auto change, std::int32_t max_skew = 1) {
    auto constraint = zone(max_skew);
    change(constraint);
    return Spread(std::move(constraint));
  };
  const struct {
    const char* name;
    testing::PodBuilder pod;
    Strings want;  // a1, a2, b1, c1
  } kCases[] = {
      {"no constraints", Web("p"), {"PreFilter Skip"}},
      {"soft ones do not filter", Spread(SpreadConstraint(1, "zone", kWeb, kAnyway)), {"PreFilter Skip"}},
      {"maxSkew 1", Spread(zone(1)), {kSkewed, kSkewed, kSkewed, "ok"}},
      {"maxSkew 2", Spread(zone(2)), {kSkewed, kSkewed, "ok", "ok"}},
      {"maxSkew 3", Spread(zone(3)), {"ok", "ok", "ok", "ok"}},
      {"the pod itself does not match", MakePod("p").Spread(zone(1)), {kSkewed, kSkewed, "ok", "ok"}},
      {"nothing on the pod's own selector",
       Spread(SpreadConstraint(1, "zone", std::nullopt)),
       {"ok", "ok", "ok", "ok"}},
      {"an empty selector counts no pod but this one",
       Spread(SpreadConstraint(1, "zone", api::LabelSelector())),
       {"ok", "ok", "ok", "ok"}},
      {"... which is one too many for maxSkew 0",
       Spread(SpreadConstraint(0, "zone", api::LabelSelector())),
       {kSkewed, kSkewed, kSkewed, kSkewed}},
      {"every node is a domain",
       Spread(SpreadConstraint(1, "kubernetes.io/hostname", kWeb)),
       {kSkewed, kSkewed, kSkewed, "ok"}},
      {"a node without the key has no domain",
       Spread(SpreadConstraint(1, "disk", kWeb)),
       {"ok", kMissing, "ok", kMissing}},
      {"nodes without all keys count for none",
       Spread(zone(1)).Spread(SpreadConstraint(5, "disk", kWeb)),
       {"ok", kMissing, "ok", kMissing}},
      {"the first constraint that fails is told",
       Spread(zone(0)).Spread(SpreadConstraint(5, "disk", kWeb)),
       {kSkewed, kSkewed, kSkewed, kMissing}},
      {"... whichever it is",
       Spread(SpreadConstraint(5, "disk", kWeb)).Spread(zone(0)),
       {kSkewed, kMissing, kSkewed, kMissing}},
      {"minDomains reached", with([](auto& c) { c.min_domains = 3; }, 2), {kSkewed, kSkewed, "ok", "ok"}},
      {"too few domains: as if one were empty",
       with([](auto& c) { c.min_domains = 4; }, 2),
       {kSkewed, kSkewed, "ok", "ok"}},
      {"nodes the pod cannot use are no domains",
       Spread(zone(1)).NodeSelector("disk", "ssd"),
       {"ok", "ok", "ok", "ok"}},
      {"... and may be too few",
       with([](auto& c) { c.min_domains = 3; }).NodeSelector("disk", "ssd"),
       {kSkewed, kSkewed, kSkewed, "ok"}},
      {"nodeAffinityPolicy Ignore",
       with([](auto& c) { c.node_affinity_policy = NodeInclusionPolicy::kIgnore; }).NodeSelector("disk", "ssd"),
       {kSkewed, kSkewed, kSkewed, "ok"}},
      {"nodeTaintsPolicy Honor",
       with([](auto& c) { c.node_taints_policy = NodeInclusionPolicy::kHonor; }),
       {kSkewed, kSkewed, "ok", "ok"}},
      {"... of a pod that tolerates",
       with([](auto& c) { c.node_taints_policy = NodeInclusionPolicy::kHonor; }).Toleration("t", "Exists"),
       {kSkewed, kSkewed, kSkewed, "ok"}},
      {"matchLabelKeys",
       with([](auto& c) { c.match_label_keys = {"rev", "unset"}; }).Label("rev", "2"),
       {"ok", "ok", "ok", "ok"}},
      {"matchLabelKeys that the pod lacks",
       with([](auto& c) { c.match_label_keys = {"unset"}; }),
       {kSkewed, kSkewed, kSkewed, "ok"}},
      {"no domain at all, minDomains 0",
       with([](auto& c) { c.min_domains = 0; }).NodeSelector("disk", "none"),
       {"ok", "ok", "ok", "ok"}},
      {"an operator that is none",
       Spread(SpreadConstraint(1, "zone", api::LabelSelector{{testing::Gt("k", "1")}})),
       {"PreFilter Error: get constraints from pod: obtaining pod's hard topology spread constraints: \"Gt\" is not a "
        "valid label selector operator"}},
      {"no values",
       Spread(SpreadConstraint(1, "zone", api::LabelSelector{{testing::In("k", {})}})),
       {"PreFilter Error: get constraints from pod: obtaining pod's hard topology spread constraints: values: Invalid "
        "value: null: for 'in', 'notin' operators, values set can't be empty"}},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Filter(*c.pod.Info()), c.want) << c.name;
  }
}

// From 1.38 on an empty selector counts all pods of the namespace.
TEST_F(PodTopologySpreadTest, EmptySelectorsCountFrom138On) {
  cluster_.Add(Node("a1", "a"));
  cluster_.Add(Node("b1", "b"));
  AddWeb("a1", 2);
  cluster_.Add(MakePod("elsewhere").Namespace("other").Node("b1"));
  const auto hard = Spread(SpreadConstraint(1, "zone", api::LabelSelector())).Info();
  const auto soft = Spread(SpreadConstraint(1, "zone", api::LabelSelector(), kAnyway)).Info();
  EXPECT_EQ(Filter(*hard), (Strings{"ok", "ok"}));
  EXPECT_EQ(Score(plugin_, *soft), (Scores{100, 100}));
  handle_.SetRelease(framework::ReleaseOf(38));
  plugin_ = CreatePodTopologySpread({}, handle_);
  EXPECT_EQ(Filter(*hard), (Strings{kSkewed, "ok"}));
  EXPECT_EQ(Score(plugin_, *soft), (Scores{0, 100}));
}

TEST_F(PodTopologySpreadTest, FollowsAddedAndRemovedPods) {
  cluster_.Add(Node("a1", "a"));
  cluster_.Add(Node("b1", "b"));
  AddWeb("a1", 2);
  AddWeb("b1", 1);
  const auto pod = Spread(SpreadConstraint(1, "zone", kWeb)).Info();
  EXPECT_EQ(Filter(*pod), (Strings{kSkewed, "ok"}));

  framework::CycleState clone = cluster_.state().Clone();
  const framework::Cycle dry{cluster_.table(), clone, 1, Time{}};
  framework::NodeInfo node = cluster_.Node("a1");
  const auto victim = node.pods()[0];
  const auto other = Web("x").Namespace("other").Node("a1").Info();
  EXPECT_TRUE(plugin_.RemovePod(dry, *pod, *other, node).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(dry, *pod, node)), kSkewed) << "another namespace";
  EXPECT_TRUE(plugin_.RemovePod(dry, *pod, *victim, node).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(dry, *pod, node)), "ok");
  EXPECT_TRUE(plugin_.AddPod(dry, *pod, *victim, node).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(dry, *pod, node)), kSkewed);
  // A pod that is being deleted was not counted, and is subtracted all the same.
  const auto ending = Web("ending").Node("a1").Deleted(Time{}).Info();
  EXPECT_TRUE(plugin_.RemovePod(dry, *pod, *ending, node).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(dry, *pod, node)), "ok");
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(cluster_.cycle(), *pod, node)), kSkewed) << "the clone alone changed";
}

TEST_F(PodTopologySpreadTest, SaysWhenItWasNotPrepared) {
  cluster_.Add(Node("a1", "a"));
  const auto pod = Spread(SpreadConstraint(1, "zone", kWeb)).Info();
  const auto cycle = cluster_.cycle();
  const auto& node = cluster_.Node("a1");
  constexpr const char* kNoPreFilter = "Error: reading \"PreFilterPodTopologySpread\" from cycleState: not found";
  constexpr const char* kNoPreScore = "Error: error reading \"PreScorePodTopologySpread\" from cycleState: not found";
  EXPECT_EQ(TestCluster::Describe(plugin_.Filter(cycle, *pod, node)), kNoPreFilter);
  EXPECT_EQ(TestCluster::Describe(plugin_.AddPod(cycle, *pod, *pod, node)), kNoPreFilter);
  framework::StatusTable statuses;
  framework::VerdictId verdict[] = {framework::kVerdictOk};
  plugin_.FilterRows(cycle, *pod, cycle.nodes.rows(), verdict, statuses);
  EXPECT_EQ(TestCluster::Describe(statuses.Get(verdict[0])), kNoPreFilter);
  framework::Status status;
  std::int64_t scores[1] = {};
  plugin_.ScoreRows(cycle, *pod, cycle.nodes.rows(), scores, status);
  EXPECT_EQ(TestCluster::Describe(status), kNoPreScore);
  EXPECT_EQ(TestCluster::Describe(plugin_.NormalizeScore(cycle, *pod, {})), kNoPreScore);
}

TEST_F(PodTopologySpreadTest, Scores) {
  cluster_.Add(Node("a1", "a"));
  cluster_.Add(Node("a2", "a"));
  cluster_.Add(Node("b1", "b"));
  cluster_.Add(MakeNode("x"));  // in no zone
  AddWeb("a1", 3);
  AddWeb("a2", 1);
  AddWeb("b1", 1);
  AddWeb("x", 7);
  const auto soft = [](std::int32_t max_skew, const char* key) {
    return SpreadConstraint(max_skew, key, kWeb, kAnyway);
  };
  const struct {
    const char* name;
    testing::PodBuilder pod;
    Scores want;  // a1, a2, b1, x
  } kCases[] = {
      // Two zones with 4 and 1 pods, weight ln 4: raw scores 6, 6, 1.
      {"zones", Spread(soft(1, "zone")), {16, 16, 100, 0}},
      // maxSkew waters the difference down: 9, 9, 5.
      {"zones, maxSkew 5", Spread(soft(5, "zone")), {50, 50, 100, 0}},
      // Four nodes with 3, 1, 1 and 7 pods, weight ln 6: raw scores 5, 2, 2, 13.
      {"nodes", Spread(soft(1, "kubernetes.io/hostname")), {76, 100, 100, 15}},
      // Both: node x counts no longer, so the weight of nodes is ln 5: 10, 7, 3.
      {"zones and nodes", Spread(soft(1, "zone")).Spread(soft(1, "kubernetes.io/hostname")), {30, 60, 100, 0}},
      {"nothing to count", Spread(SpreadConstraint(1, "zone", Labels({{"app", "none"}}), kAnyway)), {100, 100, 100, 0}},
  };
  for (const auto& c : kCases) EXPECT_EQ(Score(plugin_, *c.pod.Info()), c.want) << c.name;
}

TEST_F(PodTopologySpreadTest, ScoresOnlyWhereThereAreSoftConstraints) {
  cluster_.Add(Node("a1", "a"));
  const auto cycle = cluster_.cycle();
  const auto is_skipped = [&](const framework::PodInfo& pod) {
    const bool skips = plugin_.PreScore(cycle, pod, cycle.nodes.rows()).IsSkip();
    EXPECT_EQ(plugin_.PreScoreSkips(cycle, pod), skips);
    return skips;
  };
  EXPECT_TRUE(is_skipped(*Web("p").Info())) << "nobody to be spread with";
  EXPECT_TRUE(is_skipped(*Spread(SpreadConstraint(1, "zone", kWeb)).Info()));
  EXPECT_FALSE(is_skipped(*Spread(SpreadConstraint(1, "zone", kWeb, kAnyway)).Info()));
  const auto wrong = Spread(SpreadConstraint(1, "zone", api::LabelSelector{{testing::In("a", {})}}, kAnyway)).Info();
  EXPECT_FALSE(is_skipped(*wrong));
  EXPECT_EQ(
      TestCluster::Describe(plugin_.PreScore(cycle, *wrong, cycle.nodes.rows())),
      "Error: calculating preScoreState: obtaining pod's soft topology spread constraints: values: Invalid value: "
      "null: for 'in', 'notin' operators, values set can't be empty");
}

class DefaultConstraints : public PodTopologySpreadTest {
 protected:
  DefaultConstraints() {
    auto service = std::make_shared<api::Service>();
    service->metadata.namespace_name = "default";
    service->metadata.name = "web";
    service->selector = api::StringMap{{"app", "web"}};
    handle_.store.Of<api::Service>().Set(service);
  }
};

TEST_F(DefaultConstraints, OfTheSystemSpreadOverNodesAndZones) {
  for (const auto& [name, zone] : {std::pair("a1", "x"), {"b1", "y"}}) {
    cluster_.Add(MakeNode(name).Label("topology.kubernetes.io/zone", zone));
  }
  cluster_.Add(MakeNode("none"));
  AddWeb("a1", 4);
  AddWeb("none", 1);
  // Nodes: ln 5 times 4, 0, 1, plus 2. Zones x, y and the one of nodes without zone: ln 5 times 4 and 0, plus 4. So
  // 6.44 + 2 + 6.44 + 4 = 19, 6, 4: the node without zone is scored by its name alone.
  EXPECT_EQ(Score(plugin_, *Web("p").Info()), (Scores{21, 89, 100}));
  // A pod with a constraint of its own, hard or soft, has no default ones.
  const auto own = Spread(SpreadConstraint(1, "zone", kWeb)).Info();
  EXPECT_TRUE(plugin_.PreScoreSkips(cluster_.cycle(), *own));
  EXPECT_TRUE(plugin_.PreScoreSkips(cluster_.cycle(), *MakePod("p").Label("app", "db").Info()));
  // The service goes, and with it what belongs together.
  handle_.store.Of<api::Service>().Remove("default/web");
  EXPECT_TRUE(plugin_.PreScoreSkips(cluster_.cycle(), *Web("p").Info()));
}

TEST_F(DefaultConstraints, ANodeOfTheEmptyZoneIsWithThoseThatHaveNone) {
  constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
  cluster_.Add(MakeNode("none"));
  cluster_.Add(MakeNode("x").Label(kZoneLabel, "x"));
  AddWeb("none", 5);
  // Nodes: ln 4 times 5 and 0, plus 2. Zones: ln 4 times 0, plus 4, for x alone: 9 and 6.
  const auto pod = Web("p").Info();
  EXPECT_EQ(Score(plugin_, *pod), (Scores{66, 100}));
  // The empty zone comes to be, and has the pods of the node without zone: 10, 6 and 6 + 7.
  cluster_.Add(MakeNode("empty").Label(kZoneLabel, ""));
  EXPECT_EQ(Score(plugin_, *pod), (Scores{69, 100, 46}));
}

TEST_F(DefaultConstraints, OfAListMayBeHard) {
  config::PodTopologySpreadArgs args;
  args.is_list_defaulting = true;
  args.default_constraints = {{1, "zone", "DoNotSchedule", 3, "Ignore", "Honor", {"app"}},
                              {2, "zone", "ScheduleAnyway", {}, "", "", {}}};
  const TestedPlugin plugin = CreatePodTopologySpread(args, handle_);
  cluster_.Add(Node("a1", "a"));
  cluster_.Add(Node("b1", "b"));
  AddWeb("a1", 1);
  const auto pod = Web("p").Info();
  const auto cycle = cluster_.cycle();
  ASSERT_TRUE(plugin.PreFilter(cycle, *pod).status.IsSuccess());
  EXPECT_EQ(cluster_.Filter(plugin, *pod, "a1"), kSkewed);
  EXPECT_EQ(cluster_.Filter(plugin, *pod, "b1"), "ok");
  EXPECT_FALSE(plugin.PreScoreSkips(cycle, *pod));
  EXPECT_EQ(plugin.ObjectsRead().size(), 4u);

  args.default_constraints.clear();
  const TestedPlugin none = CreatePodTopologySpread(args, handle_);
  EXPECT_TRUE(none.PreFilter(cycle, *pod).status.IsSkip());
  EXPECT_TRUE(none.PreScoreSkips(cycle, *pod));
  EXPECT_TRUE(none.ObjectsRead().empty()) << "nothing has to be watched";
}

TEST_F(PodTopologySpreadTest, PodsThatMayHelp) {
  using namespace framework::action;
  using framework::EventResource;
  auto honors_taints = SpreadConstraint(1, "zone", kWeb);
  honors_taints.node_taints_policy = NodeInclusionPolicy::kHonor;
  const auto pod = Spread(SpreadConstraint(1, "zone", kWeb)).Uid("own").Info();
  const auto honoring = Spread(honors_taints).Uid("own").Info();
  const auto other = [](std::string_view app = "web") { return MakePod("other").Label("app", app).Node("n"); };
  const auto own = [] { return Web("p").Uid("own"); };
  using Pod = std::optional<testing::PodBuilder>;
  const struct {
    const char* name;
    framework::PodInfoPtr pod;
    framework::ActionType action;
    Pod before, after;
    QueueingHint want;
  } kCases[] = {
      {"a matching pod comes", pod, kAdd, {}, other(), QueueingHint::kQueue},
      {"another pod comes", pod, kAdd, {}, other("db"), QueueingHint::kSkip},
      {"a pending pod comes", pod, kAdd, {}, other().Node(""), QueueingHint::kSkip},
      {"a nominated pod comes", pod, kAdd, {}, other().Node("").Nominated("n"), QueueingHint::kQueue},
      {"a pod of another namespace comes", pod, kAdd, {}, other().Namespace("x"), QueueingHint::kSkip},
      {"a matching pod goes", pod, kDelete, other(), {}, QueueingHint::kQueue},
      {"another pod goes", pod, kDelete, other("db"), {}, QueueingHint::kSkip},
      {"labels begin to match", pod, kUpdatePodLabel, other("db"), other(), QueueingHint::kQueue},
      {"labels match no longer", pod, kUpdatePodLabel, other(), other("db"), QueueingHint::kQueue},
      {"labels match as before", pod, kUpdatePodLabel, other(), other().Label("x", "y"), QueueingHint::kSkip},
      {"own labels", pod, kUpdatePodLabel, own().Label("app", "db"), own(), QueueingHint::kQueue},
      {"own labels, without constraints of its own", own().Info(), kUpdatePodLabel, own(), own().Label("x", "y"),
       QueueingHint::kQueue},
      {"another's labels, without constraints of its own", own().Info(), kUpdatePodLabel, other(), other("db"),
       QueueingHint::kSkip},
      {"own tolerations", pod, kUpdatePodToleration, own(), own().Toleration("t", "Exists"), QueueingHint::kSkip},
      {"own tolerations, taints honored", honoring, kUpdatePodToleration, own(), own().Toleration("t", "Exists"),
       QueueingHint::kQueue},
      {"another's tolerations", honoring, kUpdatePodToleration, other(), other().Toleration("t", "Exists"),
       QueueingHint::kSkip},
      {"a selector that is wrong",
       Spread(SpreadConstraint(1, "z", api::LabelSelector{{testing::In("a", {})}})).Info(),
       kAdd,
       {},
       other(),
       QueueingHint::kQueue},
  };
  for (const auto& c : kCases) {
    const auto before = c.before ? c.before->Info() : nullptr;
    const auto after = c.after ? c.after->Info() : nullptr;
    framework::EventObjects objects;
    objects.old_pod = before.get();
    objects.new_pod = after.get();
    EXPECT_EQ(HintFor(plugin_, {EventResource::kAssignedPod, c.action}, *c.pod, objects), c.want) << c.name;
  }
}

TEST_F(PodTopologySpreadTest, NodesThatMayHelp) {
  using namespace framework::action;
  const auto pod = Spread(SpreadConstraint(1, "zone", kWeb)).Spread(SpreadConstraint(1, "rack", kWeb)).Info();
  const auto full = [](std::string_view zone = "a") { return Node("n", zone).Label("rack", "r"); };
  const auto partial = [] { return Node("n", "a"); };
  using Node = std::optional<testing::NodeBuilder>;
  const struct {
    const char* name;
    framework::ActionType action;
    Node before, after;
    QueueingHint want;
  } kCases[] = {
      {"a node with all keys comes", kAdd, {}, full(), QueueingHint::kQueue},
      {"a node that lacks one comes", kAdd, {}, partial(), QueueingHint::kSkip},
      {"a node with all keys goes", kDelete, full(), {}, QueueingHint::kQueue},
      {"a node that lacks one goes", kDelete, partial(), {}, QueueingHint::kSkip},
      {"it gets the last key", kUpdateNodeLabel, partial(), full(), QueueingHint::kQueue},
      {"it loses a key", kUpdateNodeLabel, full(), partial(), QueueingHint::kQueue},
      {"it changes its zone", kUpdateNodeLabel, full("a"), full("b"), QueueingHint::kQueue},
      {"another label", kUpdateNodeLabel, full(), full().Label("x", "y"), QueueingHint::kSkip},
      {"it lacks a key and changes its zone", kUpdateNodeLabel, partial(), partial().Label("zone", "b"),
       QueueingHint::kSkip},
      {"any change of taints", kUpdateNodeTaint, full(), full().Taint("t", "", TaintEffect::kPreferNoSchedule),
       QueueingHint::kQueue},
      {"taints of a node that lacks a key", kUpdateNodeTaint, partial(),
       partial().Taint("t", "", TaintEffect::kNoSchedule), QueueingHint::kSkip},
      {"resources", kUpdateNodeAllocatable, partial(), full(), QueueingHint::kSkip},
  };
  for (const auto& c : kCases) {
    const auto before = c.before ? c.before->Build() : nullptr;
    const auto after = c.after ? c.after->Build() : nullptr;
    framework::EventObjects objects;
    objects.old_node = before.get();
    objects.new_node = after.get();
    EXPECT_EQ(HintFor(plugin_, {framework::EventResource::kNode, c.action}, *pod, objects), c.want) << c.name;
  }
}

TEST(GoLog, HasGosLastBit) {
  // From Go 1.26; the C library's differ in the last bit.
  const struct {
    double x;
    std::uint64_t want;
  } kCases[] = {{3, 0x3ff193ea7aad030a},  {14, 0x40051cca16d7bba8},  {48, 0x400ef8383c50bb74},
                {74, 0x4011375cd6fcab1c}, {176, 0x4014ae935b3cb89e}, {299, 0x4016cd411481a020}};
  for (const auto& c : kCases) EXPECT_EQ(std::bit_cast<std::uint64_t>(GoLog(c.x)), c.want) << c.x;
}

}  // namespace
}  // namespace berth::plugins
