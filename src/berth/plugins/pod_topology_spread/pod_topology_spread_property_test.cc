// SPDX-License-Identifier: Apache-2.0
// What PodTopologySpread keeps equals what is counted from scratch, and its column form equals its plain form, while
// pods and nodes come, change and go. A failure prints the seed that replays it.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/core/config/args.h"
#include "berth/plugins/helper/plugin_testing.h"
#include "berth/plugins/pod_topology_spread/default_selector.h"
#include "berth/plugins/pod_topology_spread/naive_spread.h"
#include "berth/plugins/pod_topology_spread/pod_topology_spread.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using api::NodeInclusionPolicy;
using api::UnsatisfiableConstraintAction;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

class Generator {
 public:
  Generator(std::uint64_t seed, std::size_t node_count) : random_(seed), node_count_(node_count) {}

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(std::size_t n) { return static_cast<int>(random_.Below(n)); }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }
  std::string App() { return Pick({"a", "b", "c"}); }
  std::string NodeName() { return "n" + std::to_string(Below(node_count_)); }

  std::shared_ptr<const api::Node> Node(std::string name) {
    auto node = MakeNode(std::move(name));
    if (!OneIn(4)) node.Label("zone", Pick({"1", "2", "3", "4", ""}));
    if (!OneIn(3)) node.Label("topology.kubernetes.io/zone", Pick({"x", "y", ""}));
    if (OneIn(3)) node.Label("disk", Pick({"ssd", "hdd"}));
    if (OneIn(100)) node.Label("kubernetes.io/hostname", "n0");
    if (OneIn(25)) node.Label("rack", Pick({"1", "2"}));
    if (OneIn(3)) node.Taint("t", "", Pick({api::TaintEffect::kNoSchedule, api::TaintEffect::kPreferNoSchedule}));
    return node.Build();
  }

  PodInfoPtr Running(int number) {
    auto pod = MakePod("r" + std::to_string(number)).Node(NodeName()).Namespace(Pick({"default", "default", "other"}));
    if (!OneIn(5)) pod.Label("app", App());
    if (OneIn(2)) pod.Label("rev", Pick({"1", "2"}));
    if (OneIn(6)) pod.Deleted(Time{});
    return pod.Info();
  }

  std::optional<api::LabelSelector> Selector() {
    if (OneIn(10)) return std::nullopt;
    api::LabelSelector selector;
    if (OneIn(8)) return selector;
    if (OneIn(3)) {
      selector.requirements.push_back(OneIn(2) ? testing::NotIn("app", {App()}) : testing::Exists("app"));
    } else {
      selector.requirements.push_back(testing::In("app", {App(), App()}));
    }
    return selector;
  }

  api::TopologySpreadConstraint Constraint() {
    using enum UnsatisfiableConstraintAction;
    // One draw a statement: compilers evaluate arguments in orders of their own, and a seed is to be the same case.
    const auto action = Pick({kDoNotSchedule, kScheduleAnyway});
    auto selector = Selector();
    auto key = Pick<std::string>({"zone", "kubernetes.io/hostname", "disk", "topology.kubernetes.io/zone"});
    if (OneIn(12)) key = "rack";  // often no node has it
    auto constraint = testing::SpreadConstraint(1 + Below(3), std::move(key), std::move(selector), action);
    if (OneIn(4)) constraint.min_domains = Below(5);
    if (OneIn(3)) constraint.node_affinity_policy = Pick({NodeInclusionPolicy::kHonor, NodeInclusionPolicy::kIgnore});
    if (OneIn(3)) constraint.node_taints_policy = Pick({NodeInclusionPolicy::kHonor, NodeInclusionPolicy::kIgnore});
    if (OneIn(4)) constraint.match_label_keys = {"rev"};
    return constraint;
  }

  PodInfoPtr Pending(int number) {
    auto pod = MakePod("p" + std::to_string(number)).Label("app", App());
    if (OneIn(2)) pod.Label("rev", "1");
    if (OneIn(3)) pod.NodeSelector("disk", "ssd");
    if (OneIn(3)) pod.RequiredTerms({testing::Term({testing::Exists("zone")})});
    if (OneIn(3)) pod.Toleration("t", "Exists");
    // A quarter gets default constraints.
    for (int i = Below(4); i > 0; --i) pod.Spread(Constraint());
    return pod.Info();
  }

 private:
  Random random_;
  std::size_t node_count_;
};

// With so many nodes host names are not values, but each node's own.
bool HasManyNodes(std::uint64_t seed) { return seed % 10 == 0; }

class SpreadProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  SpreadProperty() {
    config::PodTopologySpreadArgs args;
    args.is_list_defaulting = GetParam() % 2 == 0;
    if (args.is_list_defaulting) {
      args.default_constraints = {{1, "zone", "DoNotSchedule", {}, "", "", {}},
                                  {2, "topology.kubernetes.io/zone", "ScheduleAnyway", {}, "", "Honor", {}}};
    }
    plugin_ = std::make_unique<TestedPlugin>(CreatePodTopologySpread(args, handle_));
    for (int i = 0; i < 8; ++i) pending_.push_back(generator_.Pending(i));
    for (int i = 0; i < 70 && HasManyNodes(GetParam()); ++i) {
      tables_[0].SetNode(generator_.Node("n" + std::to_string(i)));
    }
  }

  void Change(int step) {
    const int what = generator_.Below(20);
    cache::ColumnNodeTable& table = tables_[generator_.OneIn(5) ? 1 : 0];
    auto& running = running_[&table == &tables_[1] ? 1 : 0];
    if (what < 5) {
      table.SetNode(generator_.Node(generator_.NodeName()));
    } else if (what == 5) {
      table.RemoveNode(generator_.NodeName());
    } else if (what < 15) {
      const PodInfoPtr pod = generator_.Running(step);
      running.emplace_back(table.AddPod(pod), pod);
    } else if (what < 19 && !running.empty()) {
      const auto it = running.begin() + generator_.Below(running.size());
      if (what == 15) {
        auto ending = std::make_shared<PodInfo>(*it->second);
        ending->deletion_time = Time{};
        it->second = ending;
        table.UpdatePod(it->first, ending);
      } else {
        table.RemovePod(it->first, it->second->uid);
        running.erase(it);
      }
    } else if (what == 19) {
      ChangeServices();
    }
    if (step % 100 == 99) {
      // So many labels that the table begins its numbering of values anew.
      for (int i = 0; i < 300; ++i) table.LabelColumn("label-" + std::to_string(i));
    }
  }

  void ChangeServices() {
    auto service = std::make_shared<api::Service>();
    service->metadata.namespace_name = generator_.Pick({"default", "other"});
    service->metadata.name = generator_.Pick({"s1", "s2"});
    if (generator_.OneIn(4)) {
      handle_.store.Of<api::Service>().Remove(service->metadata.namespace_name + "/" + service->metadata.name);
      return;
    }
    service->selector = generator_.OneIn(3) ? api::StringMap{{"rev", "1"}} : api::StringMap{{"app", generator_.App()}};
    handle_.store.Of<api::Service>().Set(service);
  }

  std::vector<SpreadConstraint> Wanted(const PodInfo& pod, UnsatisfiableConstraintAction action) {
    const auto& own = pod.spec().topology_spread_constraints;
    if (!own.empty()) return *CompileConstraints(own, pod.labels(), action);
    std::vector<api::TopologySpreadConstraint> defaults;
    using enum UnsatisfiableConstraintAction;
    const auto add = [&](std::int32_t max_skew, std::string key, UnsatisfiableConstraintAction when) {
      defaults.push_back(testing::SpreadConstraint(max_skew, std::move(key), std::nullopt, when));
    };
    if (GetParam() % 2 == 0) {
      add(1, "zone", kDoNotSchedule);
      add(2, "topology.kubernetes.io/zone", kScheduleAnyway);
      defaults.back().node_taints_policy = NodeInclusionPolicy::kHonor;
    } else {
      add(3, "kubernetes.io/hostname", kScheduleAnyway);
      add(5, "topology.kubernetes.io/zone", kScheduleAnyway);
    }
    auto compiled = *CompileConstraints(defaults, pod.labels(), action);
    ServiceIndex services;
    const api::LabelSelector selector = DefaultSelector().Get(*pod.pod_class, handle_.store, services);
    if (selector.requirements.empty()) return {};
    for (SpreadConstraint& constraint : compiled) constraint.selector = selector;
    return compiled;
  }

  void CheckFilter(const cache::ColumnNodeTable& table, const PodInfo& pod) {
    framework::CycleState state;
    const framework::Cycle cycle{table, state, 1, Time{}};
    const auto constraints = Wanted(pod, UnsatisfiableConstraintAction::kDoNotSchedule);
    const auto pre_filter = plugin_->PreFilter(cycle, pod);
    ASSERT_EQ(pre_filter.status.IsSkip(), constraints.empty());
    if (constraints.empty()) return;
    ASSERT_TRUE(pre_filter.status.IsSuccess());
    const NaiveSpread naive(table, pod, constraints);
    framework::StatusTable statuses;
    statuses.SetPlugin(plugin_->Name(), 0);
    std::vector<framework::VerdictId> verdicts(table.row_count(), framework::kVerdictOk);
    plugin_->FilterRows(cycle, pod, table.rows(), verdicts, statuses);
    for (const NodeIndex row : table.rows()) {
      const NodeInfo& node = table.Info(row);
      const std::string want = naive.Filter(node);
      EXPECT_EQ(Describe(plugin_->Filter(cycle, pod, node)), want) << node.name();
      EXPECT_EQ(Describe(statuses.Get(verdicts[row])), want) << node.name() << " by column";
      want == "ok" ? ++passed_ : ++refused_;
    }
    for (const NodeIndex row : table.rows()) {
      if (!HasManyNodes(GetParam()) || generator_.OneIn(20)) CheckDryRun(cycle, pod, constraints, row);
    }
  }

  // Some pods leave the node and others come, as in preemption.
  void CheckDryRun(const framework::Cycle& cycle, const PodInfo& pod, const std::vector<SpreadConstraint>& constraints,
                   NodeIndex row) {
    NaiveSpread naive(cycle.table, pod, constraints);
    framework::CycleState clone = cycle.state.Clone();
    const framework::Cycle dry{cycle.table, clone, 1, Time{}};
    NodeInfo node = cycle.nodes.Info(row);
    const std::vector<PodInfoPtr> pods = node.pods();
    for (const PodInfoPtr& other : pods) {
      if (!generator_.OneIn(2)) continue;
      node.RemovePod(other->uid);
      ASSERT_TRUE(plugin_->RemovePod(dry, pod, *other, node).IsSuccess());
      naive.AddOrRemove(*other, node, -1);
      if (!generator_.OneIn(3)) continue;
      node.AddPod(other);
      ASSERT_TRUE(plugin_->AddPod(dry, pod, *other, node).IsSuccess());
      naive.AddOrRemove(*other, node, +1);
    }
    for (int i = generator_.Below(3); i > 0; --i) {
      // As pods that are nominated to the node are added.
      const PodInfoPtr comer = generator_.Running(i);
      node.AddPod(comer);
      ASSERT_TRUE(plugin_->AddPod(dry, pod, *comer, node).IsSuccess());
      naive.AddOrRemove(*comer, node, +1);
    }
    EXPECT_EQ(Describe(plugin_->Filter(dry, pod, node)), naive.Filter(node)) << "dry run on " << node.name();
    framework::StatusTable statuses;
    std::vector<framework::VerdictId> verdicts(cycle.nodes.row_count(), framework::kVerdictOk);
    plugin_->FilterRows(dry, pod, cycle.nodes.rows(), verdicts, statuses);
    EXPECT_EQ(Describe(statuses.Get(verdicts[row])), naive.Filter(node));
    // The state that was cloned knows nothing of it.
    EXPECT_EQ(Describe(plugin_->Filter(cycle, pod, cycle.nodes.Info(row))),
              NaiveSpread(cycle.table, pod, constraints).Filter(cycle.nodes.Info(row)));
  }

  void CheckScore(const cache::ColumnNodeTable& table, const PodInfo& pod) {
    framework::CycleState state;
    const framework::Cycle cycle{table, state, 1, Time{}};
    std::vector<NodeIndex> feasible;
    for (const NodeIndex row : table.rows()) {
      if (!generator_.OneIn(4)) feasible.push_back(row);
    }
    const auto constraints = Wanted(pod, UnsatisfiableConstraintAction::kScheduleAnyway);
    ASSERT_EQ(plugin_->PreScoreSkips(cycle, pod), constraints.empty());
    const Status pre_score = plugin_->PreScore(cycle, pod, feasible);
    ASSERT_EQ(pre_score.IsSkip(), constraints.empty());
    if (constraints.empty()) return;
    ASSERT_TRUE(pre_score.IsSuccess());
    const bool has_system_defaults = pod.spec().topology_spread_constraints.empty() && GetParam() % 2 == 1;
    const NaiveSpread naive(table, pod, constraints, !has_system_defaults);
    std::vector<std::int64_t> plain(table.row_count(), -7);
    std::vector<std::int64_t> column(table.row_count(), -7);
    Status status;
    plugin_->As<framework::FastScore>().FastScore::ScoreRows(cycle, pod, feasible, plain, status);
    plugin_->ScoreRows(cycle, pod, feasible, column, status);
    ASSERT_TRUE(status.IsSuccess());
    EXPECT_EQ(plain, column);
    std::vector<framework::NodeScore> scores;
    std::vector<std::int64_t> raw;
    for (const NodeIndex row : feasible) {
      scores.push_back({row, column[row]});
      raw.push_back(column[row]);
    }
    EXPECT_EQ(raw, naive.Scores(feasible, false));
    ASSERT_TRUE(plugin_->NormalizeScore(cycle, pod, scores).IsSuccess());
    std::vector<std::int64_t> normalized;
    for (const framework::NodeScore& score : scores) normalized.push_back(score.score);
    EXPECT_EQ(normalized, naive.Scores(feasible, true));
    scored_ += static_cast<int>(feasible.size());
  }

  using MarkScope = framework::GroupingPlugin::MarkScope;
  using RowMarks = std::vector<std::uint32_t>;
  // The marks of a version when they were looked at last.
  struct SeenMarks {
    const framework::NodeTable* table = nullptr;
    std::uint64_t version = 0;  // of the table
    std::map<NodeIndex, RowMarks> marks;
  };

  // Rows of equal marks, if they are not special, get equal answers; and marks change with their version or row only.
  void CheckMarks(const cache::ColumnNodeTable& table, const PodInfo& pod, MarkScope scope) {
    framework::CycleState state;
    const framework::Cycle cycle{table, state, 1, Time{}};
    const auto pre_filter = plugin_->PreFilter(cycle, pod);
    const Status pre_score = plugin_->PreScore(cycle, pod, table.rows());
    std::vector<NodeIndex> special;
    const auto marks = scope == MarkScope::kOwn ? plugin_->MarksOf(cycle, pod)
                                                : plugin_->SharedMarksOf(cycle, pod, table.row_count(), special);
    ASSERT_TRUE(marks);
    const std::size_t stride = marks->width + 1;
    const std::vector<NodeIndex> rows(table.rows().begin(), table.rows().end());
    std::vector<std::uint32_t> numbers(rows.size() * stride);
    plugin_->MarkRows(cycle, pod, scope, rows, numbers, stride);
    SeenMarks& seen = seen_marks_[{scope == MarkScope::kOwn ? &pod : nullptr, marks->version}];
    const auto changed = seen.table == &table ? table.ChangedSince(seen.version) : std::nullopt;
    std::map<RowMarks, std::string> answers;
    std::map<NodeIndex, RowMarks> marks_now;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(i * stride);
      const RowMarks& own = marks_now[rows[i]] = RowMarks(begin, begin + static_cast<std::ptrdiff_t>(marks->width));
      if (changed && std::find(changed->begin(), changed->end(), rows[i]) == changed->end()) {
        EXPECT_EQ(own, seen.marks[rows[i]]) << "the row has not changed";
      }
      if (std::find(special.begin(), special.end(), rows[i]) != special.end()) continue;
      const NodeInfo& node = table.Info(rows[i]);
      std::string answer;
      if (!pre_filter.status.IsSkip()) answer = Describe(plugin_->Filter(cycle, pod, node));
      if (!pre_score.IsSkip()) {
        Status status;
        std::vector<framework::NodeScore> score = {{rows[i], plugin_->Score(cycle, pod, rows[i], node, status)}};
        answer += " " + std::to_string(score[0].score);
        ASSERT_TRUE(plugin_->NormalizeScore(cycle, pod, score).IsSuccess());
        answer += " " + std::to_string(score[0].score);
      }
      const auto [it, is_new] = answers.try_emplace(own, answer);
      EXPECT_EQ(it->second, answer) << node.name() << " has the marks of another node";
      if (!is_new) ++grouped_;
    }
    seen = {&table, table.version(), std::move(marks_now)};
    if (special.empty()) return;
    ++met_special_;
    std::vector<NodeIndex> none;
    EXPECT_FALSE(plugin_->SharedMarksOf(cycle, pod, special.size() - 1, none)) << "more than are wanted";
  }

  static std::string Describe(const Status& status) {
    if (status.IsSuccess()) return "ok";
    return status.code() == framework::Code::kUnschedulable ? "skewed" : "missing";
  }

  Generator generator_{GetParam(), HasManyNodes(GetParam()) ? std::size_t{70} : std::size_t{12}};
  testing::FakeHandle handle_;
  std::unique_ptr<TestedPlugin> plugin_;
  cache::ColumnNodeTable tables_[2];
  std::vector<std::pair<NodeIndex, PodInfoPtr>> running_[2];
  std::vector<PodInfoPtr> pending_;
  int passed_ = 0;
  int refused_ = 0;
  int scored_ = 0;
  int grouped_ = 0;
  int met_special_ = 0;
  std::map<std::pair<const PodInfo*, std::uint64_t>, SeenMarks> seen_marks_;
};

TEST_P(SpreadProperty, KeptEqualsCountedFromScratchAndColumnEqualsPlain) {
  for (int step = 0; step < 600; ++step) {
    Change(step);
    if (!generator_.OneIn(3)) continue;
    const PodInfo& pod = *pending_[static_cast<std::size_t>(generator_.Below(pending_.size()))];
    const cache::ColumnNodeTable& table = tables_[generator_.OneIn(8) ? 1 : 0];
    CheckFilter(table, pod);
    CheckScore(table, pod);
    CheckMarks(table, pod, MarkScope::kOwn);
    CheckMarks(table, pod, MarkScope::kShared);
    if (HasFailure()) FAIL() << "replay with seed " << GetParam() << ", step " << step;
  }
  // A generator that meets nothing would prove nothing.
  EXPECT_GT(passed_, 0);
  EXPECT_GT(refused_, 0);
  EXPECT_GT(scored_, 0);
  EXPECT_GT(grouped_, 0);
  EXPECT_TRUE(met_special_ > 0 || GetParam() % 2 == 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpreadProperty, ::testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace berth::plugins
