// SPDX-License-Identifier: Apache-2.0
// Extension points up to PostFilter, each with a small plugin: its effect, the order in which the profile's plugins are
// called, and what happens after a failure. late_extension_points_test.cc has the points from PreScore on.
#include <algorithm>
#include <map>

#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/extension_points_testing.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/preemption_review.h"

namespace berth::scheduler {
namespace {

using framework::ClusterEventWithHint;
using framework::Code;
using framework::Cycle;
using framework::EventObjects;
using framework::EventResource;
using framework::Handle;
using framework::NodeInfo;
using framework::PodInfo;
using framework::PostFilterResult;
using framework::PreFilterResult;
using framework::QueuedPod;
using framework::QueueingHint;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;
namespace action = framework::action;

// --- PreEnqueue ---

// Gates pods while they have the label `hold`.
class Hold final : public framework::PreEnqueuePlugin, public framework::EnqueueExtensions {
 public:
  Hold(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }
  Status PreEnqueue(const PodInfo& pod) const override {
    calls_.push_back(name_ + " " + pod.name);
    if (breaks && pod.name == "bad") return breaks();
    const std::string* hold = pod.labels().Find("hold");
    return hold != nullptr && *hold == name_ ? Status::UnschedulableAndUnresolvable("held by " + name_) : Status();
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::kPod, action::kUpdatePodLabel}, nullptr, false}};
  }

  std::function<Status()> breaks;

 private:
  std::string name_;
  Lines& calls_;
};

class PreEnqueueTest : public ExtensionPointTest {
 protected:
  Harness& StartTwo() {
    Register<Hold>("First", &calls_);
    first_ = Register<Hold>("Second", &calls_);
    Harness& core = Start({"First", "Second"});
    Nodes({"a"});
    return core;
  }
  std::shared_ptr<Hold*> first_;
};

TEST_F(PreEnqueueTest, APodIsHeldBackUntilAnEventHelpsIt) {
  StartTwo();
  h().Set(MakePod("p").Label("hold", "Second"));
  h().Set(MakePod("q"));
  EXPECT_EQ(RunAndTake(1min), Lines{"bind q to a"}) << "and nothing is said about p: it was not tried";
  EXPECT_EQ(Standing("p").place, queue::Place::kGated);
  EXPECT_EQ(Standing("p").gating_plugin, "Second");
  EXPECT_EQ(Standing("p").gating_message, "held by Second");
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to a"});
}

TEST_F(PreEnqueueTest, PluginsAreAskedInTheProfilesOrderUntilOneHoldsThePod) {
  StartTwo();
  h().Set(MakePod("p").Label("hold", "First"));
  EXPECT_EQ(calls_, Lines{"First p"});
  calls_.clear();
  h().Set(MakePod("p"));
  EXPECT_EQ(calls_, (Lines{"First p", "Second p"}));
}

TEST_F(PreEnqueueTest, OneThatFailsHoldsThePodAndNoOther) {
  auto table = BrokenInEveryWay();
  table.push_back({"a status of another point", [] { return Status::Wait(); }, ""});
  for (const Broken& test : table) {
    SCOPED_TRACE(test.name);
    StartTwo();
    (*first_)->breaks = test.says;
    h().Set(MakePod("bad"));
    h().Set(MakePod("q"));
    EXPECT_EQ(RunAndTake(1min), Lines{"bind q to a"});
    EXPECT_EQ(Standing("bad").gating_plugin, "Second");
    EXPECT_EQ(Standing("bad").gating_message, test.message);
  }
}

// --- QueueSort ---

class ShortNamesFirst final : public framework::QueueSortPlugin {
 public:
  ShortNamesFirst(const char* name, Handle&) : name_(name) {}
  std::string_view Name() const override { return name_; }
  bool Less(const QueuedPod& a, const QueuedPod& b) const override {
    return less ? less(a, b) : a.pod.name.size() < b.pod.name.size();
  }

  std::function<bool(const QueuedPod&, const QueuedPod&)> less;

 private:
  std::string name_;
};

class QueueSortTest : public ExtensionPointTest {
 protected:
  QueueSortTest() { sort_ = Register<ShortNamesFirst>("ShortNamesFirst"); }
  // The names of the pods in the order in which they are bound.
  std::string Order() {
    Nodes({"a"});
    int priority = 0;
    for (const char* name : {"four", "two", "three", "one", "sixteen"}) h().Set(MakePod(name).Priority(priority++));
    std::string order;
    for (const std::string& line : RunAndTake()) order += line.substr(5, line.find(' ', 5) - 5) + " ";
    return order;
  }
  std::shared_ptr<ShortNamesFirst*> sort_;
};

TEST_F(QueueSortTest, DecidesWhichPodComesFirst) {
  Start({"-", "ShortNamesFirst", "DefaultBinder"});
  EXPECT_EQ(Order(), "two one four three sixteen ") << "equal ones in the order of their arrival";
}

TEST_F(QueueSortTest, ThereIsExactlyOne) {
  const std::string error = StartError({"ShortNamesFirst"});  // in addition to PrioritySort
  EXPECT_NE(error.find("only one queue sort plugin required"), std::string::npos) << error;
}

TEST_F(QueueSortTest, WhereItThrowsPriorityDecides) {
  Start({"-", "ShortNamesFirst", "DefaultBinder"});
  (*sort_)->less = [](const QueuedPod&, const QueuedPod&) -> bool { throw std::runtime_error("oops"); };
  EXPECT_EQ(Order(), "sixteen one three two four ");
}

TEST_F(QueueSortTest, AnOrderThatIsNoneLosesNoPod) {
  int calls = 0;
  const struct {
    const char* name;
    std::function<bool(const QueuedPod&, const QueuedPod&)> less;
  } cases[] = {
      {"all before all", [](const QueuedPod&, const QueuedPod&) { return true; }},
      {"none before none", [](const QueuedPod&, const QueuedPod&) { return false; }},
      {"in a circle",
       [](const QueuedPod& a, const QueuedPod& b) { return (a.pod.name.size() + 2) % 3 < b.pod.name.size() % 3; }},
      {"another each time", [&calls](const QueuedPod&, const QueuedPod&) { return ++calls % 3 == 0; }},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Start({"-", "ShortNamesFirst", "DefaultBinder"});
    (*sort_)->less = test.less;
    const std::string order = Order();
    EXPECT_EQ(std::count(order.begin(), order.end(), ' '), 5) << order;
    EXPECT_EQ(h().core.binding_count(), 5u);
  }
}

// --- PreFilter, with Filter and the cycle state ---

constexpr std::string_view kAllowed = "Team/allowed";
struct Allowed final : framework::StateData {
  std::string team;
};

// A pod with the label `team` needs a node with the same label. PreFilter reads the pod once and writes what Filter
// needs into the cycle state. The label `only` names nodes, separated by dots, and restricts the search to them.
class Team final : public framework::PreFilterPlugin,
                   public framework::FilterPlugin,
                   public framework::EnqueueExtensions {
 public:
  Team(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    calls_.push_back(name_ + ".PreFilter");
    if (pre_filter) return {pre_filter(), std::nullopt};
    PreFilterResult result;
    if (const std::string* only = pod.labels().Find(name_ + ".only")) {
      auto& names = result.node_names.emplace();
      for (std::size_t begin = 0; begin <= only->size();) {
        const std::size_t end = std::min(only->find('.', begin), only->size());
        names.insert(only->substr(begin, end - begin));
        begin = end + 1;
      }
    }
    const std::string* team = pod.labels().Find("team");
    if (team == nullptr && !result.node_names && !filter) return {Status::Skip(), std::nullopt};
    auto allowed = std::make_shared<Allowed>();
    if (team != nullptr) allowed->team = *team;
    cycle.state.Write(kAllowed, std::move(allowed));
    return result;
  }

  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    calls_.push_back(name_ + ".Filter " + node.name());
    if (filter) return filter(node);
    const std::string& team = cycle.state.Read<Allowed>(kAllowed)->team;
    const std::string* label = node.node().metadata.labels.Find("team");
    return team.empty() || (label != nullptr && *label == team) ? Status()
                                                                : Status::Unschedulable("another team's node");
  }

  // A node helps if it has got the pod's team label.
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    const auto hint_fn = [this](const PodInfo& pod, const EventObjects& event) {
      if (hint) return hint();
      const std::string* label = event.new_node->metadata.labels.Find("team");
      const std::string* team = pod.labels().Find("team");
      return label != nullptr && team != nullptr && *label == *team ? QueueingHint::kQueue : QueueingHint::kSkip;
    };
    return {
        {{EventResource::kNode, action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeTaint}, hint_fn, true}};
  }

  std::function<Status()> pre_filter;
  std::function<Status(const NodeInfo&)> filter;
  std::function<QueueingHint()> hint;

 private:
  std::string name_;
  Lines& calls_;
};

class TeamTest : public ExtensionPointTest {
 protected:
  TeamTest() {
    team_ = Register<Team>("Team", &calls_);
    other_ = Register<Team>("Other", &calls_);
  }
  Harness& StartWith(const std::vector<std::string>& names, const std::string& points = "") {
    Start(names, points);
    h().Set(MakeNode("a").Label("team", "red"));
    h().Set(MakeNode("b").Label("team", "blue"));
    return h();
  }
  std::shared_ptr<Team*> team_, other_;
};

TEST_F(TeamTest, PreFilterReadsThePodOnceAndFilterReadsTheState) {
  StartWith({"Team"});
  h().Set(MakePod("p").Label("team", "blue"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to b"});
  EXPECT_EQ(calls_, (Lines{"Team.PreFilter", "Team.Filter a", "Team.Filter b"}));
}

TEST_F(TeamTest, SkipSparesThePluginsFilter) {
  StartWith({"Team"});
  h().Set(MakePod("p"));
  RunAndTake();
  EXPECT_EQ(h().core.binding_count(), 1u);
  EXPECT_EQ(calls_, Lines{"Team.PreFilter"});
}

TEST_F(TeamTest, PreFilterNarrowsTheSearch) {
  const struct {
    const char* name;
    const char* by_team;
    const char* by_other;
    Lines want;
  } cases[] = {
      {"to one node", "b", "", {"bind p to b"}},
      {"to what both name", "a.b", "b.c", {"bind p to b"}},
      {"to a node that is not there, too", "nowhere.a", "", {"bind p to a"}},
      {"to nodes that are not there", "nowhere.neverland", "",
       Failed("p", "Unschedulable", "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Team].")},
      {"to nothing in common", "a", "b",
       Failed("p", "Unschedulable",
              "0/2 nodes are available: node(s) didn't satisfy plugin(s) [Other Team] simultaneously.")},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    StartWith({"Team", "Other"});
    testing::PodBuilder pod = MakePod("p");
    if (*test.by_team != '\0') pod.Label("Team.only", test.by_team);
    if (*test.by_other != '\0') pod.Label("Other.only", test.by_other);
    h().Set(pod);
    EXPECT_EQ(RunAndTake(), test.want);
  }
}

TEST_F(TeamTest, PreFilterNarrowsToNothing) {
  StartWith({"Team"});
  h().Set(MakePod("p").Label("Team.only", ""));
  EXPECT_EQ(RunAndTake(),
            Failed("p", "Unschedulable", "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Team]."))
      << "the empty name is one that no node has";
}

TEST_F(TeamTest, PreFilterRefusals) {
  StartWith({"Team", "Other"});
  (*team_)->pre_filter = [] { return Status::Unschedulable("not today"); };
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Failed("p", "Unschedulable", "0/2 nodes are available: not today."));
  EXPECT_EQ(calls_, (Lines{"Team.PreFilter", "Other.PreFilter"})) << "preemption may help: the others are asked, too";
  calls_.clear();
  (*team_)->pre_filter = [] { return Status::UnschedulableAndUnresolvable("never"); };
  h().Set(MakePod("q"));
  EXPECT_EQ(RunAndTake(), Failed("q", "Unschedulable", "0/2 nodes are available: never."));
  EXPECT_EQ(calls_, Lines{"Team.PreFilter"});
  EXPECT_EQ(Standing("q").unschedulable_plugins, Lines{"Team"});
}

TEST_F(TeamTest, PreFilterFails) {
  auto table = BrokenInEveryWay();
  table.push_back({"a status of another point", [] { return Status(Code::kPending, {"later"}); }, "later"});
  for (const Broken& test : table) {
    SCOPED_TRACE(test.name);
    StartWith({"Team"});
    (*team_)->pre_filter = test.says;
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "running PreFilter plugin \"Team\": " + test.message));
    EXPECT_EQ(Standing("p").place, queue::Place::kErrorBackoff) << "it is tried again by itself";
    (*team_)->pre_filter = nullptr;
    EXPECT_EQ(RunAndTake(2s).size(), 1u);
    EXPECT_EQ(h().core.binding_count(), 1u);
  }
}

TEST_F(TeamTest, FilterRefusesNodes) {
  StartWith({"Team"});
  h().Set(MakePod("p").Label("team", "green"));
  EXPECT_EQ(RunAndTake(), Failed("p", "Unschedulable", "0/2 nodes are available: 2 another team's node."));
  EXPECT_EQ(Standing("p").unschedulable_plugins, Lines{"Team"});
}

TEST_F(TeamTest, TheFirstFilterThatRefusesANodeIsTheLastOneAskedAboutIt) {
  for (const bool is_turned : {false, true}) {
    SCOPED_TRACE(is_turned);
    // Plugins listed at a point come before those of multiPoint.
    StartWith({"Team", "Other"}, is_turned ? "filter: {enabled: [{name: Other}, {name: Team}]}" : "");
    (*team_)->filter = [](const NodeInfo& node) {
      return node.name() == "a" ? Status::Unschedulable("Team") : Status();
    };
    (*other_)->filter = [](const NodeInfo&) { return Status::Unschedulable("Other"); };
    calls_.clear();
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake().front(), is_turned ? "status p Unschedulable: 0/2 nodes are available: 2 Other."
                                              : "status p Unschedulable: 0/2 nodes are available: 1 Other, 1 Team.");
    EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "Other.Filter a"), is_turned ? 1 : 0);
    EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "Team.Filter a"), is_turned ? 0 : 1);
  }
}

TEST_F(TeamTest, FilterFails) {
  auto table = BrokenInEveryWay();
  table.push_back({"a status of another point", [] { return Status::Wait(); }, ""});
  for (const Broken& test : table) {
    SCOPED_TRACE(test.name);
    StartWith({"Team"});
    (*team_)->filter = [&test](const NodeInfo& node) { return node.name() == "b" ? test.says() : Status(); };
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "running \"Team\" filter plugin: " + test.message));
    EXPECT_EQ(Standing("p").place, queue::Place::kErrorBackoff);
  }
}

// --- Queueing hints ---

TEST_F(TeamTest, AHintSaysWhetherAnEventHelps) {
  StartWith({"Team"});
  h().Set(MakePod("p").Label("team", "green"));
  RunAndTake();
  h().Set(MakeNode("c").Label("team", "red"));
  h().Run(10s);
  EXPECT_TRUE(h().Take().empty()) << "the hint has seen that this node is of no use";
  EXPECT_EQ(Standing("p").place, queue::Place::kUnschedulable);
  h().Set(MakeNode("c").Label("team", "green"));
  EXPECT_EQ(RunAndTake(10s), Lines{"bind p to c"});
}

TEST_F(TeamTest, AHintThatThrowsStrandsNoPod) {
  const std::function<QueueingHint()> cases[] = {[]() -> QueueingHint { throw std::runtime_error("oops"); },
                                                 []() -> QueueingHint { throw 7; }};
  for (const auto& hint : cases) {
    StartWith({"Team"});
    h().Set(MakePod("p").Label("team", "green"));
    RunAndTake();
    (*team_)->hint = hint;
    h().Set(MakeNode("c").Label("team", "green"));
    EXPECT_EQ(RunAndTake(10s), Lines{"bind p to c"});
  }
}

// --- AddPod and RemovePod ---

struct CountsByNode final : framework::StateData {
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<CountsByNode>(*this); }
  std::map<std::string, int> pods;  // number of pods, by node
};

// Allows one pod per node. PreFilter counts the pods, and AddPod and RemovePod update the counts during preemption.
class Loners final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  Loners(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo&) const override {
    auto counts = std::make_shared<CountsByNode>();
    for (const framework::NodeIndex row : cycle.nodes.rows()) {
      const NodeInfo& node = cycle.nodes.Info(row);
      counts->pods[node.name()] = static_cast<int>(node.pods().size());
    }
    cycle.state.Write("Loners", std::move(counts));
    return {};
  }
  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    const auto& pods = cycle.state.Read<CountsByNode>("Loners")->pods;
    return pods.at(node.name()) > 0 ? Status::Unschedulable("no longer alone") : Status();
  }
  bool HasPreFilterExtensions() const override { return true; }
  Status AddPod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo& node) const override {
    return Count(cycle, "AddPod", other, node, +1);
  }
  Status RemovePod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo& node) const override {
    return Count(cycle, "RemovePod", other, node, -1);
  }

  std::function<Status()> breaks;

 private:
  Status Count(const Cycle& cycle, const char* what, const PodInfo& other, const NodeInfo& node, int sign) const {
    calls_.push_back(std::string(what) + " " + other.name + " " + node.name());
    if (breaks) return breaks();
    cycle.state.Mutable<CountsByNode>("Loners")->pods[node.name()] += sign;
    return {};
  }

  std::string name_;
  Lines& calls_;
};

class LonersTest : public ExtensionPointTest {
 protected:
  LonersTest() {
    loners_ = Register<Loners>("Loners", &calls_);
    Start({"Loners", "DefaultPreemption"});
    Nodes({"a"});
  }
  std::shared_ptr<Loners*> loners_;
};

TEST_F(LonersTest, PreemptionAsksWhatWouldBeWithoutAPod) {
  h().Set(MakePod("v").Node("a"));
  h().Set(MakePod("p").Priority(10));
  const Lines lines = RunAndTake();
  EXPECT_EQ(lines.front(), "status p Unschedulable: 0/1 nodes are available: 1 no longer alone. nominates a");
  EXPECT_EQ(lines.back(), "patch v") << "it is evicted";
  ASSERT_GE(calls_.size(), 2u);
  EXPECT_EQ(calls_[0], "RemovePod v a");
  EXPECT_EQ(calls_[1], "AddPod v a") << "could it have stayed?";
}

TEST_F(LonersTest, PodsThatMayComeAreAdded) {
  h().Set(MakePod("p"));
  h().Set(MakePod("m").Nominated("a"));
  EXPECT_EQ(RunAndTake().back(), "bind m to a");
  EXPECT_EQ(calls_.front(), "AddPod m a");
  EXPECT_EQ(Standing("p").unschedulable_plugins, Lines{"Loners"});
}

TEST_F(LonersTest, OneThatFailsOverAPodEndsThatTrial) {
  for (const Broken& test : BrokenInEveryWay()) {
    SCOPED_TRACE(test.name);
    Start({"Loners", "DefaultPreemption"});
    Nodes({"a"});
    (*loners_)->breaks = test.says;
    h().Set(MakePod("v").Node("a"));
    h().Set(MakePod("p").Priority(10));
    const Lines lines = RunAndTake();
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(lines.back().find("0/1 nodes are available: 1 no longer alone."), std::string::npos) << lines.back();
    EXPECT_EQ(lines.back().find("patch"), std::string::npos);
  }
}

// --- PostFilter ---

// For a pod that fits nowhere, nominates the node named by the pod's label `plan-b`.
class PlanB final : public framework::PostFilterPlugin {
 public:
  PlanB(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }
  PostFilterResult PostFilter(const Cycle&, const PodInfo& pod, const framework::NodeStatuses& statuses,
                              framework::FilterRunner&) const override {
    calls_.push_back(name_ + " of a node that says: " + statuses.Get(0).Message());
    if (breaks) return {breaks(), false, {}, nullptr};
    const std::string* node = pod.labels().Find("plan-b");
    if (node == nullptr) return {Status::Unschedulable(name_ + " has no plan"), false, {}, nullptr};
    return {Status(), true, *node, nullptr};
  }

  std::function<Status()> breaks;

 private:
  std::string name_;
  Lines& calls_;
};

// A preemption plugin of an author's own: makes room on the first node. `kReports`: it says so in a report as well.
template <bool kReports>
class Evictor final : public framework::PostFilterPlugin {
 public:
  Evictor(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }
  PostFilterResult PostFilter(const Cycle& cycle, const PodInfo&, const framework::NodeStatuses&,
                              framework::FilterRunner&) const override {
    calls_.emplace_back(cycle.is_dry_run ? "would evict" : "evicts");
    PostFilterResult result;
    result.has_nomination = true;
    result.nominated_node_name = cycle.nodes.Info(0).name();
    if (!kReports) return result;
    auto report = std::make_shared<framework::PreemptionReport>();
    report->chosen = 0;
    result.preemption = std::move(report);
    return result;
  }
  bool IsPreemption() const override { return true; }
  bool AnswersDryRuns() const override { return true; }

 private:
  std::string name_;
  Lines& calls_;
};

class PostFilterTest : public ExtensionPointTest {
 protected:
  PostFilterTest() {
    team_ = Register<Team>("Team", &team_calls_);
    first_ = Register<PlanB>("First", &calls_);
    Register<PlanB>("Second", &calls_);
    Begin();
  }
  void Begin() {
    Start({"Team", "First", "Second"});
    Nodes({"a"});
    calls_.clear();
  }
  Lines team_calls_;
  std::shared_ptr<Team*> team_;
  std::shared_ptr<PlanB*> first_;
};

TEST_F(PostFilterTest, HelpsAPodThatFitsNowhere) {
  h().Set(MakePod("p").Label("team", "red").Label("plan-b", "a"));
  EXPECT_EQ(RunAndTake(), (Lines{"status p Unschedulable: 0/1 nodes are available: 1 another team's node. nominates a",
                                 "Warning FailedScheduling p: 0/1 nodes are available: 1 another team's node."}));
  EXPECT_EQ(calls_, Lines{"First of a node that says: another team's node"}) << "who succeeds is the last one asked";
}

TEST_F(PostFilterTest, AllAreAskedInOrderUntilOneHelps) {
  h().Set(MakePod("p").Label("team", "red"));
  EXPECT_EQ(
      RunAndTake().back(),
      "Warning FailedScheduling p: 0/1 nodes are available: 1 another team's node. First has no plan, Second has no "
      "plan");
  EXPECT_EQ(calls_, (Lines{"First of a node that says: another team's node",
                           "Second of a node that says: another team's node"}));
}

TEST_F(PostFilterTest, AnOwnPreemptionIsWaitedForByItsName) {
  Register<Evictor<true>>("Evictor", &calls_);
  Start({"Team", "Evictor"});
  Nodes({"a"});
  h().Set(MakePod("p").Label("team", "red"));
  RunAndTake();
  EXPECT_EQ(calls_, Lines{"evicts"});
  EXPECT_EQ(Standing("p").pending_plugins, Lines{"Evictor"});
}

// It has no other extension point and no registrations, and so the pod is tried at any event.
TEST_F(PostFilterTest, ANominationByAnOwnPreemptionIsEnoughToWaitForIt) {
  Register<Evictor<false>>("Evictor", &calls_);
  Start({"Team", "Evictor"});
  Nodes({"a"});
  h().Set(MakePod("p").Label("team", "red"));
  RunAndTake();
  EXPECT_EQ(Standing("p").pending_plugins, Lines{"Evictor"});
  calls_.clear();
  h().Set(MakePod("other").Label("team", "red").Node("a"));
  RunAndTake();
  EXPECT_EQ(calls_, Lines{"evicts"});
}

TEST_F(PostFilterTest, AnOwnPreemptionAnswersQuestions) {
  Register<Evictor<true>>("Evictor", &calls_);
  Start({"Team", "First", "Evictor"});
  Nodes({"a"});
  RunAndTake();
  calls_.clear();
  const auto overlay = h().core.MakeOverlay(h().now);
  const auto answer =
      overlay->Evaluate(overlay->MakePod(MakePod("p").Label("team", "red").Build()), Overlay::Detail::kAll);
  framework::PreemptionReview question{.is_dry_run = true};
  const PostFilterResult result = answer.evaluator.RunPostFilter(&question);
  EXPECT_EQ(calls_, Lines{"would evict"}) << "and First, which cannot promise to do nothing, is left out";
  EXPECT_EQ(result.nominated_node_name, "a");
  EXPECT_EQ(result.preempted_by, "Evictor");
}

TEST_F(PostFilterTest, IsNotAskedAboutAPodThatFits) {
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to a"});
  EXPECT_TRUE(calls_.empty());
}

TEST_F(PostFilterTest, OneThatFailsEndsThePointAndNotMore) {
  // As in kube-scheduler the pod counts as refused, and the plugin's message stands alone.
  const auto text = [](const Broken& test) {
    return test.message == "oops" ? test.message : "running PostFilter plugin \"First\": " + test.message;
  };
  for (const Broken& test : BrokenInEveryWay()) {
    SCOPED_TRACE(test.name);
    Begin();
    (*first_)->breaks = test.says;
    h().Set(MakePod("p").Label("team", "red").Label("plan-b", "a"));
    EXPECT_EQ(RunAndTake(),
              Failed("p", "Unschedulable", "0/1 nodes are available: 1 another team's node. " + text(test)));
    EXPECT_EQ(calls_.size(), 1u);
  }
}

}  // namespace
}  // namespace berth::scheduler
