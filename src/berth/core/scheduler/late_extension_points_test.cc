// SPDX-License-Identifier: Apache-2.0
// Extension points from PreScore on, each with a small plugin: its effect, the order in which the profile's plugins are
// called, and what happens after a failure. extension_points_test.cc has the earlier ones.
#include <algorithm>
#include <set>

#include "berth/core/scheduler/extension_points_testing.h"

namespace berth::scheduler {
namespace {

using framework::Code;
using framework::Cycle;
using framework::Handle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeScore;
using framework::Normalization;
using framework::Operation;
using framework::PermitResult;
using framework::PodInfo;
using framework::Status;
using framework::StepResult;
using testing::MakeNode;
using testing::MakePod;

// --- PreScore, Score, NormalizeScore ---

struct Crowd final : framework::StateData {
  std::int64_t most = 0;
};

// Prefers nodes with few pods. PreScore sees all feasible nodes, Score one node, NormalizeScore all scores.
class FewPods final : public framework::PreScorePlugin, public framework::ScorePlugin {
 public:
  FewPods(const char* name, Handle&, Lines* calls) : name_(name), calls_(*calls) {}
  std::string_view Name() const override { return name_; }

  Status PreScore(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> feasible) const override {
    calls_.push_back(name_ + ".PreScore of " + std::to_string(feasible.size()));
    if (pre_score) return pre_score();
    auto crowd = std::make_shared<Crowd>();
    for (const NodeIndex row : feasible)
      crowd->most = std::max(crowd->most, static_cast<std::int64_t>(cycle.nodes.Info(row).pods().size()));
    cycle.state.Write("FewPods", std::move(crowd));
    return {};
  }
  Normalization ScoreNormalization() const override { return Normalization::kCustom; }
  std::int64_t Score(const Cycle& cycle, const PodInfo&, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    calls_.push_back(name_ + ".Score " + node.name());
    if (score) return score(node, status);
    return cycle.state.Read<Crowd>("FewPods")->most - static_cast<std::int64_t>(node.pods().size());
  }
  Status NormalizeScore(const Cycle&, const PodInfo&, std::span<NodeScore> scores) const override {
    if (normalize) return normalize(scores);
    std::int64_t max = 1;
    for (const NodeScore& score_of_node : scores) max = std::max(max, score_of_node.score);
    for (NodeScore& score_of_node : scores) score_of_node.score = score_of_node.score * framework::kNodeScoreMax / max;
    return {};
  }

  std::function<Status()> pre_score;
  std::function<std::int64_t(const NodeInfo&, Status&)> score;
  std::function<Status(std::span<NodeScore>)> normalize;

 private:
  std::string name_;
  Lines& calls_;
};

class ScoreTest : public ExtensionPointTest {
 protected:
  ScoreTest() {
    few_ = Register<FewPods>("FewPods", &calls_);
    other_ = Register<FewPods>("Other", &calls_);
  }
  // Node a has two pods, b one and c none.
  void Begin(const std::vector<std::string>& names) {
    Start(names);
    calls_.clear();
    Nodes({"a", "b", "c"});
    for (const char* name : {"x", "y"}) h().Set(MakePod(name).Node("a"));
    h().Set(MakePod("z").Node("b"));
  }
  std::shared_ptr<FewPods*> few_, other_;
};

TEST_F(ScoreTest, TheBestNodeWins) {
  Begin({"FewPods"});
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to c"});
  EXPECT_EQ(calls_, (Lines{"FewPods.PreScore of 3", "FewPods.Score a", "FewPods.Score b", "FewPods.Score c"}));
}

TEST_F(ScoreTest, WeightsDecideBetweenPlugins) {
  const struct {
    std::vector<std::string> names;
    const char* want;
  } cases[] = {{{"FewPods*2", "Other"}, "bind p to c"}, {{"FewPods", "Other*2"}, "bind p to a"}};
  for (const auto& test : cases) {
    SCOPED_TRACE(test.want);
    Begin(test.names);
    (*other_)->score = [](const NodeInfo& info, Status&) -> std::int64_t { return info.name() == "a" ? 100 : 0; };
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Lines{test.want});
    // Each plugin scores all nodes before the next plugin does, in the profile's order.
    EXPECT_EQ(calls_[0], "FewPods.PreScore of 3");
    EXPECT_EQ(calls_[1], "Other.PreScore of 3");
    EXPECT_EQ(calls_[2], "FewPods.Score a");
    EXPECT_EQ(calls_.back(), "Other.Score c");
  }
}

TEST_F(ScoreTest, SkipSparesThePluginsScore) {
  Begin({"FewPods", "Other"});
  (*few_)->pre_score = [] { return Status::Skip(); };
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to c"});
  EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "FewPods.Score a"), 0);
  EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "Other.Score a"), 1);
}

TEST_F(ScoreTest, TheOnlyNodeIsNotScored) {
  Start({"FewPods"});
  Nodes({"a"});
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Lines{"bind p to a"});
  EXPECT_TRUE(calls_.empty());
}

TEST_F(ScoreTest, OneThatFails) {
  using Break = std::function<void(FewPods&)>;
  struct Case {
    std::string name;
    Break breaks;
    std::string message;
  };
  std::vector<Case> cases;
  for (const Broken& way : BrokenInEveryWay()) {
    cases.push_back({std::string("PreScore: ") + way.name, [way](FewPods& p) { p.pre_score = way.says; },
                     "running PreScore plugin \"FewPods\": " + way.message});
    cases.push_back({std::string("Score: ") + way.name,
                     [way](FewPods& p) {
                       p.score = [way](const NodeInfo&, Status& status) -> std::int64_t {
                         status = way.says();
                         return 0;
                       };
                     },
                     "running Score plugins: plugin \"FewPods\" failed with: " + way.message});
    cases.push_back({std::string("NormalizeScore: ") + way.name,
                     [way](FewPods& p) { p.normalize = [way](std::span<NodeScore>) { return way.says(); }; },
                     "running Normalize on Score plugins: plugin \"FewPods\" failed with: " + way.message});
  }
  const auto invalid = [](std::int64_t score, const std::string& node) {
    return "applying score defaultWeights on Score plugins: plugin \"FewPods\" returns an invalid score " +
           std::to_string(score) + ", it should in the range of [0, 100] after normalizing (node \"" + node + "\")";
  };
  for (const std::int64_t score :
       {std::int64_t{101}, std::int64_t{-1}, std::int64_t{INT64_MAX}, std::int64_t{INT64_MIN}}) {
    cases.push_back({"a score of " + std::to_string(score),
                     [score](FewPods& p) {
                       p.score = [score](const NodeInfo&, Status&) { return score; };
                       p.normalize = [](std::span<NodeScore>) { return Status(); };
                     },
                     invalid(score, "a")});
    cases.push_back({"normalised to " + std::to_string(score),
                     [score](FewPods& p) {
                       p.normalize = [score](std::span<NodeScore> scores) {
                         scores.back().score = score;
                         return Status();
                       };
                     },
                     invalid(score, "c")});
  }
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Begin({"FewPods"});
    test.breaks(**few_);
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", test.message));
    EXPECT_EQ(Standing("p").place, queue::Place::kErrorBackoff);
  }
}

// --- Reserve, Permit, PreBind, Bind, PostBind: a rehearsal room ---

// The example of these tests: bands rehearse together in a room, which is a node. Reserve takes one of the room's three
// chairs. Permit lets a band begin once the number of its pods in its label `members` have a chair. PreBind writes down
// who is there. Bind handles pods with the label `by-courier`. PostBind sends a postcard.
class Rehearsal final : public framework::ReservePlugin,
                        public framework::PermitPlugin,
                        public framework::PreBindPlugin,
                        public framework::BindPlugin,
                        public framework::PostBindPlugin {
 public:
  static constexpr int kChairs = 3;

  Rehearsal(const char* name, Handle& handle, Lines* calls) : name_(name), handle_(handle), calls_(*calls) {}
  std::string_view Name() const override { return name_; }

  Status Reserve(const Cycle&, const PodInfo& pod, std::string_view) override {
    Note("Reserve", pod);
    if (reserve) return reserve();
    if (static_cast<int>(seated.size()) == kChairs) return Status::Unschedulable("no chair left");
    seated.insert(pod.uid);
    return {};
  }
  void Unreserve(const PodInfo& pod, std::string_view) override {
    Note("Unreserve", pod);
    seated.erase(pod.uid);
    if (unreserve) unreserve();
  }

  PermitResult Permit(const Cycle&, const PodInfo& pod, std::string_view) override {
    Note("Permit", pod);
    if (permit) return permit();
    const std::string* members = pod.labels().Find("members");
    if (members == nullptr) return {};
    if (std::to_string(seated.size()) != *members) return {Status::Wait(), 1min};
    for (const std::string& uid : seated) handle_.Decide({uid, name_, true, ""});
    return {};
  }

  Status PreBindPreFlight(const PodInfo& pod) override {
    return pre_bind || pod.labels().Find("on-the-list") != nullptr ? Status() : Status::Skip();
  }
  Operation PreBind(const PodInfo& pod) override {
    Note("PreBind", pod);
    if (pre_bind) return pre_bind();
    return Operation::Write(
        framework::ObjectPatch{{"v1", "configmaps", "default", "list"}, "", {}, "{}"}, [](const StepResult& result) {
          return Operation::Done(result.error ? Status::Error("the list: " + result.error->message) : Status());
        });
  }

  Operation Bind(const PodInfo& pod) override {
    Note("Bind", pod);
    if (bind) return bind();
    if (pod.labels().Find("by-courier") == nullptr) return Operation::Done(Status::Skip());
    return Operation::Run([] { return Status(); });
  }

  Operation PostBind(const PodInfo& pod) override {
    Note("PostBind", pod);
    return post_bind ? post_bind() : Operation::Done();
  }

  std::set<std::string> seated;
  std::function<Status()> reserve;
  std::function<void()> unreserve;
  std::function<PermitResult()> permit;
  std::function<Operation()> pre_bind, bind, post_bind;

 private:
  void Note(const char* point, const PodInfo& pod) { calls_.push_back(name_ + "." + point + " " + pod.name); }

  std::string name_;
  Handle& handle_;
  Lines& calls_;
};

class RehearsalTest : public ExtensionPointTest {
 protected:
  RehearsalTest() {
    room_ = Register<Rehearsal>("Room", &calls_);
    second_ = Register<Rehearsal>("Second", &calls_);
    // Other plugins with these points would run as well, in the profile's order.
    Begin();
  }
  void Begin() {
    // DefaultBinder binds every pod it is asked about, so that other Bind plugins must come before it.
    Start({"-", "PrioritySort", "Room", "Second", "DefaultBinder"});
    Nodes({"a"});
    calls_.clear();
  }
  bool Did(const std::string& call) const { return std::count(calls_.begin(), calls_.end(), call) > 0; }
  std::shared_ptr<Rehearsal*> room_, second_;
};

TEST_F(RehearsalTest, AllPointsInTheirOrder) {
  h().Set(MakePod("p").Label("on-the-list", "yes"));
  EXPECT_EQ(RunAndTake(), (Lines{"status p nominates a", "patch list"}));
  h().Answer();  // to Room's PreBind write
  EXPECT_EQ(RunAndTake(), Lines{"patch list"});
  h().Answer();
  EXPECT_EQ(RunAndTake(), Lines{"bind p to a"});
  h().Answer();
  EXPECT_EQ(RunAndTake(), Lines{"Normal Scheduled p: Successfully assigned default/p to a"});
  EXPECT_EQ(calls_,
            (Lines{"Room.Reserve p", "Second.Reserve p", "Room.Permit p", "Second.Permit p", "Room.PreBind p",
                   "Second.PreBind p", "Room.Bind p", "Second.Bind p", "Room.PostBind p", "Second.PostBind p"}));
}

// Has PreBind, but no PreBindPreFlight.
class OnlyPreBind final : public framework::PreBindPlugin {
 public:
  OnlyPreBind(const char*, Handle&, Lines* calls) : calls_(*calls) {}
  std::string_view Name() const override { return "OnlyPreBind"; }
  Operation PreBind(const PodInfo& pod) override {
    calls_.push_back("PreBind " + pod.name);
    return Operation::Done();
  }

 private:
  Lines& calls_;
};

TEST_F(ExtensionPointTest, PreBindIsAskedUnlessPreFlightSaysSkip) {
  Register<OnlyPreBind>("OnlyPreBind", &calls_);
  Start({"-", "PrioritySort", "OnlyPreBind", "DefaultBinder"});
  Nodes({"a"});
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), (Lines{"status p nominates a", "bind p to a"}));
  EXPECT_EQ(calls_, Lines{"PreBind p"});
}

TEST_F(RehearsalTest, ReserveRefusesWhatIsTaken) {
  for (const char* name : {"p1", "p2", "p3", "p4"}) h().Set(MakePod(name));
  const Lines lines = RunAndTake();
  const Lines failed = Failed("p4", "Unschedulable", "0/1 nodes are available: 1 no chair left.");
  EXPECT_EQ(Lines(lines.end() - 2, lines.end()), failed);
  EXPECT_EQ(h().core.binding_count(), 3u);
  EXPECT_EQ(Standing("p4").unschedulable_plugins, Lines{"Room"});
}

TEST_F(RehearsalTest, UnreserveGoesBackwardsThroughAllOfThem) {
  for (const Broken& test : BrokenInEveryWay()) {
    SCOPED_TRACE(test.name);
    Begin();
    (*room_)->reserve = test.says;
    // Unreserve is called for the plugin that failed and for one that was not reached; an exception in Unreserve is
    // harmless.
    (*second_)->unreserve = [] { throw std::runtime_error("no matter"); };
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "running Reserve plugin \"Room\": " + test.message));
    EXPECT_EQ(calls_, (Lines{"Room.Reserve p", "Second.Unreserve p", "Room.Unreserve p"}));
    EXPECT_EQ(h().core.cache().assumed_count(), 0u) << "its room is free";
  }
}

TEST_F(RehearsalTest, PermitWaitsUntilAllAreThere) {
  h().Set(MakePod("p1").Label("members", "3"));
  h().Set(MakePod("p2").Label("members", "3"));
  EXPECT_EQ(RunAndTake(), (Lines{"status p1 nominates a", "status p2 nominates a"}));
  EXPECT_EQ(h().core.binding_count(), 2u);
  const auto waiting = h().core.AtPermit(10);
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[0].node_name, "a");
  EXPECT_EQ(waiting[0].plugins, (Lines{"Room", "Second"}));
  EXPECT_EQ(h().core.AtPermit(1).size(), 1u);
  h().Set(MakePod("p3").Label("members", "3"));
  h().Run();
  DeliverDecisions();
  EXPECT_TRUE(h().core.AtPermit(10).empty());
  Lines lines = h().Take();
  std::sort(lines.begin(), lines.end());
  // The second instance has the same rule: the pods that came first wait for its permission too, and get it.
  EXPECT_EQ(lines, (Lines{"bind p1 to a", "bind p2 to a", "bind p3 to a"}));
}

TEST_F(RehearsalTest, PermitRejectsFromOutside) {
  h().Set(MakePod("p").Label("members", "2"));
  RunAndTake();
  h().handle->Decide({"uid-default-p", "Nobody", false, "who is that?"});
  h().handle->Decide({"uid-default-p", "Room", false, "closed for today"});
  h().handle->Decide({"uid-default-p", "Room", true, ""});
  EXPECT_EQ(h().core.binding_count(), 1u) << "from any thread: the core hears of it as an input";
  DeliverDecisions();
  EXPECT_EQ(h().Take(), TakenBack(Failed("p", "Unschedulable", "0/1 nodes are available: 1 closed for today.")));
  EXPECT_TRUE((*room_)->seated.empty());
  EXPECT_EQ(Standing("p").unschedulable_plugins, Lines{"Room"});
}

TEST_F(RehearsalTest, PermitWaitsNoLongerThanItSays) {
  const struct {
    Duration asked;
    Duration waited;
    const char* shown;
  } cases[] = {{10s, 10s, "10s"}, {1h, 15min, "15m0s"}, {Duration::max(), 15min, "15m0s"}, {-5s, 0s, "0s"}};
  for (const auto& test : cases) {
    SCOPED_TRACE(test.shown);
    Begin();
    (*room_)->permit = [&test] { return PermitResult{Status::Wait(), test.asked}; };
    h().Set(MakePod("p"));
    Lines lines = RunAndTake(test.waited);
    const std::string why = "rejected due to timeout after waiting " + std::string(test.shown) + " at plugin Room";
    const Lines failed = TakenBack(Failed("p", "Unschedulable", "0/1 nodes are available: 1 " + why + "."));
    ASSERT_GE(lines.size(), 3u);
    EXPECT_EQ(Lines(lines.begin() + 1, lines.begin() + 3), failed);
  }
}

TEST_F(RehearsalTest, PermitFails) {
  auto table = BrokenInEveryWay();
  table.push_back({"a status of another point", [] { return Status::Skip(); }, ""});
  for (const Broken& test : table) {
    SCOPED_TRACE(test.name);
    Begin();
    (*room_)->permit = [&test] { return PermitResult{test.says(), 1min}; };
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "running Permit plugin \"Room\": " + test.message));
    EXPECT_FALSE(Did("Second.Permit p"));
    EXPECT_TRUE(Did("Second.Unreserve p"));
  }
}

TEST_F(RehearsalTest, PreBindThatFailsGivesTheRoomBack) {
  h().Set(MakePod("p").Label("on-the-list", "yes"));
  RunAndTake();
  h().Answer(Error{ErrorCode::kForbidden, "may not write"});
  EXPECT_EQ(h().Take(),
            TakenBack(Failed("p", "SchedulerError", "running PreBind plugin \"Room\": the list: may not write")));
  EXPECT_TRUE((*room_)->seated.empty());
  EXPECT_FALSE(Did("Room.Bind p"));
}

struct BadOperation {
  const char* name;
  std::function<Operation()> make;
  std::string message;
};
std::vector<BadOperation> BadOperations() {
  std::vector<BadOperation> cases;
  for (const Broken& way : BrokenInEveryWay()) {
    cases.push_back({way.name, [way] { return Operation::Done(way.says()); }, way.message});
    cases.push_back({way.name,
                     [way] {
                       return Operation::After(Duration{0},
                                               [way](const StepResult&) { return Operation::Done(way.says()); });
                     },
                     way.message});
  }
  cases.push_back({"both writes and work",
                   [] {
                     Operation operation = Operation::Run([] { return Status(); });
                     operation.writes.push_back(framework::ObjectRead{});
                     return operation;
                   },
                   "an operation that writes and works at once"});
  cases.push_back({"the scheduler's own read", [] { return Operation::Write(framework::PodRead{}); },
                   "an operation with a PodRead: an ObjectRead of the pod is meant"});
  return cases;
}

TEST_F(RehearsalTest, PreBindFails) {
  for (const BadOperation& test : BadOperations()) {
    SCOPED_TRACE(test.name);
    Begin();
    (*room_)->pre_bind = test.make;
    h().Set(MakePod("p"));
    Lines lines = RunAndTake();
    EXPECT_EQ(Lines(lines.begin() + 1, lines.end()),
              TakenBack(Failed("p", "SchedulerError", "running PreBind plugin \"Room\": " + test.message)));
    EXPECT_TRUE((*room_)->seated.empty());
  }
}

TEST_F(RehearsalTest, AnEmptyOperationIsDone) {
  (*room_)->pre_bind = [] { return Operation(); };
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake().back(), "bind p to a");
}

TEST_F(RehearsalTest, APreBindThatNeverEndsHoldsUpNobody) {
  // Continues forever without waiting.
  struct Again {
    static Operation Do() {
      return Operation::After(Duration{-1}, [](const StepResult&) { return Do(); });
    }
  };
  (*room_)->pre_bind = [] { return Again::Do(); };
  h().Set(MakePod("p"));
  h().Run();
  (*room_)->pre_bind = [] {
    return Operation::After(Duration::max(), [](const StepResult&) { return Operation::Done(); });
  };
  h().Set(MakePod("q"));
  h().Run();
  (*room_)->pre_bind = nullptr;
  h().Set(MakePod("r"));
  EXPECT_EQ(RunAndTake().back(), "bind r to a");
}

TEST_F(RehearsalTest, BindersAreAskedUntilOneTakesThePod) {
  h().Set(MakePod("p").Label("by-courier", "yes"));
  EXPECT_EQ(RunAndTake(), Lines{"work"});
  h().AnswerWork();
  EXPECT_EQ(RunAndTake(), Lines{"Normal Scheduled p: Successfully assigned default/p to a"});
  EXPECT_TRUE(Did("Room.Bind p"));
  EXPECT_FALSE(Did("Second.Bind p"));
}

TEST_F(RehearsalTest, BindFails) {
  for (const BadOperation& test : BadOperations()) {
    SCOPED_TRACE(test.name);
    Begin();
    (*room_)->bind = test.make;
    h().Set(MakePod("p"));
    EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "running Bind plugin \"Room\": " + test.message));
    EXPECT_TRUE((*room_)->seated.empty());
    EXPECT_FALSE(Did("Second.Bind p")) << "one that fails has taken the pod";
  }
}

TEST_F(RehearsalTest, NobodyBinds) {
  Start({"-", "PrioritySort", "Room"});
  Nodes({"a"});
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(), Failed("p", "SchedulerError", "no bind plugin took the pod"));
}

TEST_F(RehearsalTest, PostBindMayDoMoreAndNothingWaitsForIt) {
  int answers = 0;
  (*room_)->post_bind = [&answers] {
    return Operation::Write(framework::ObjectPatch{{"v1", "pods", "default", "postcard"}, "", {}, "{}"},
                            [&answers](const StepResult&) {
                              ++answers;
                              return Operation::Write(framework::ObjectDelete{{"v1", "pods", "", "stamp"}, ""});
                            });
  };
  h().Set(MakePod("p"));
  RunAndTake();
  h().Answer();
  EXPECT_EQ(RunAndTake(), (Lines{"Normal Scheduled p: Successfully assigned default/p to a", "patch postcard"}));
  EXPECT_EQ(h().core.binding_count(), 0u);
  h().Answer();
  EXPECT_EQ(RunAndTake(), Lines{"delete stamp"});
  EXPECT_EQ(answers, 1);
}

TEST_F(RehearsalTest, PostBindThatFailsChangesNothing) {
  for (const BadOperation& test : BadOperations()) {
    SCOPED_TRACE(test.name);
    Begin();
    (*room_)->post_bind = test.make;
    h().Set(MakePod("p"));
    RunAndTake();
    h().Answer();
    EXPECT_EQ(RunAndTake(), Lines{"Normal Scheduled p: Successfully assigned default/p to a"});
    EXPECT_TRUE(Did("Second.PostBind p"));
    EXPECT_EQ(h().core.counts().scheduled, 1u);
  }
}

}  // namespace
}  // namespace berth::scheduler
