// SPDX-License-Identifier: Apache-2.0
// Column form = plain form, for every filter and score plugin, over random clusters and pods on the real node table. A
// failure prints the seed that replays it.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/core/config/args.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"
#include "berth/plugins/node_affinity/node_affinity.h"
#include "berth/plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.h"
#include "berth/plugins/node_resources_fit/node_resources_fit.h"
#include "berth/plugins/registry.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using api::TaintEffect;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;
using testing::MakeNode;
using testing::MakePod;

using NullHandle = testing::FakeHandle;

// Draws from small sets of values, so that things meet: labels and selectors, taints and tolerations, ports, images.
class Generator {
 public:
  // Half of the clusters are so large that rows come in long runs, and half hold nodes of absurd size or none.
  explicit Generator(std::uint64_t seed)
      : random_(seed), node_names_(seed % 2 == 0 ? 60 : 14), has_absurd_nodes_(seed % 4 < 2) {}

  int node_names() const { return node_names_; }

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }
  std::string NodeName() { return "n" + std::to_string(Below(node_names_)); }
  std::string Key() { return Pick({"disk", "zone", "gen"}); }
  std::string Value() { return Pick({"1", "2", "3", "ssd", "", "-5", "+7"}); }
  std::string ImageName() { return std::string("images.example/") + Pick({"a:1", "b:latest", "c:2", "d:3"}); }
  TaintEffect Effect() {
    return Pick(
        {TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule, TaintEffect::kNoExecute, TaintEffect::kUnknown});
  }

  testing::NodeBuilder Node(std::string name) {
    auto node = MakeNode(std::move(name));
    if (OneIn(20)) return node.WithoutAllocatable();
    node.Allocatable("cpu", Pick({"1", "4", "500m"})).Allocatable("memory", Pick({"1Gi", "16Gi", "17179869183"}));
    if (has_absurd_nodes_ && OneIn(4)) {
      node.Allocatable("cpu", Pick({"1000000000000000", "0", "1m"})).Allocatable("memory", Pick({"9E", "0", "64Ti"}));
    }
    node.Allocatable("pods", Pick({"0", "2", "110"}));
    if (OneIn(2)) node.Allocatable("ephemeral-storage", Pick({"10Gi", "1"}));
    if (OneIn(2)) node.Allocatable("example.com/gpu", Pick({"0", "1", "4"}));
    for (int i = Below(4); i > 0; --i) {
      node.Allocatable("example.com/scalar-" + std::to_string(1 + Below(72)), Pick({"0", "1", "3"}));
    }
    for (int i = Below(4); i > 0; --i) node.Label(Key(), Value());
    for (int i = Below(3); i > 0; --i) node.Taint(Pick({"gpu", "spot"}), Pick({"", "x"}), Effect());
    if (OneIn(5)) node.Unschedulable();
    for (int i = Below(4); i > 0; --i) node.Image({ImageName(), ImageName()}, Below(3000) * 1024LL * 1024);
    return node;
  }

  api::Requirement Requirement(bool is_field) {
    using enum api::SelectorOperator;
    api::Requirement r;
    r.key = is_field ? Pick({"metadata.name", "metadata.name", "metadata.name", "spec.other"}) : Key();
    r.op =
        is_field ? Pick({kIn, kNotIn, kIn, kExists}) : Pick({kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kUnknown});
    int count = r.op == kExists || r.op == kDoesNotExist ? 0 : 1;
    if (r.op == kIn || r.op == kNotIn) count = 1 + Below(is_field && OneIn(2) ? 1 : 3);
    if (OneIn(15)) count = Below(3);
    while (count-- > 0) r.values.push_back(is_field ? NodeName() : Value());
    return r;
  }
  api::NodeSelectorTerm Term() {
    api::NodeSelectorTerm term;
    for (int i = Below(OneIn(4) ? 9 : 3); i > 0; --i) term.match_expressions.push_back(Requirement(false));
    if (OneIn(4)) term.match_fields.push_back(Requirement(true));
    return term;
  }

  testing::PodBuilder Pod(std::string name) {
    auto pod = MakePod(std::move(name));
    if (OneIn(2)) pod.Request("cpu", Pick({"100m", "1", "5", "0"}));
    if (OneIn(2)) pod.Request("memory", Pick({"100Mi", "2Gi", "9E"}));
    if (OneIn(4)) pod.Request("ephemeral-storage", Pick({"1", "5Gi"}));
    if (OneIn(4)) pod.Request("example.com/gpu", Pick({"1", "3"}));
    if (OneIn(8)) pod.Request("example.com/tpu", "1");
    // More than a word has bits.
    for (int i = OneIn(6) ? 70 : 0; i > 0; --i)
      pod.Request("example.com/scalar-" + std::to_string(i), Pick({"1", "2"}));
    if (OneIn(8)) pod.PodLevelRequests({{"cpu", "2"}});
    if (OneIn(4)) pod.HostPort(Pick({80, 81}), Pick({"", "UDP"}), Pick({"", "10.0.0.1", "10.0.0.2"}));
    for (int i = Below(3); i > 0; --i) {
      pod.Toleration(Pick({"gpu", "spot", ""}), Pick({"Exists", "Equal", ""}), Pick({"", "x"}),
                     Pick({TaintEffect::kNone, TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule}));
    }
    if (OneIn(8)) pod.Toleration("", "Exists");
    if (OneIn(3)) pod.NodeSelector(Key(), Value());
    if (OneIn(3)) {
      std::vector<api::NodeSelectorTerm> terms;
      for (int i = Below(3); i > 0; --i) terms.push_back(Term());
      pod.RequiredTerms(std::move(terms));
    }
    for (int i = Below(3); i > 0; --i) pod.Preferred(Below(101), Term());
    pod.Image(ImageName());
    if (OneIn(3)) pod.Container(Pick({"images.example/b", "images.example/c:2"}));
    if (OneIn(5)) pod.ImageVolume(ImageName());
    return pod;
  }

 private:
  Random random_;
  int node_names_;
  bool has_absurd_nodes_;
};

// A table that has lived: nodes came, changed and went, and so did pods.
void Live(Generator& generator, cache::ColumnNodeTable& table) {
  std::vector<std::pair<NodeIndex, std::string>> running;
  for (int i = 0; i < generator.node_names(); ++i) {
    if (!generator.OneIn(20)) table.SetNode(generator.Node("n" + std::to_string(i)).Build());
  }
  for (int step = 0; step < 60; ++step) {
    const int what = generator.Below(10);
    if (what < 4) {
      table.SetNode(generator.Node(generator.NodeName()).Build());
    } else if (what == 4) {
      table.RemoveNode(generator.NodeName());
    } else if (what < 9) {
      const std::string name = "r" + std::to_string(step);
      const auto pod = generator.Pod(name).Node(generator.NodeName()).Info();
      running.emplace_back(table.AddPod(pod), pod->uid);
    } else if (!running.empty()) {
      const auto [row, uid] = running[static_cast<std::size_t>(generator.Below(static_cast<int>(running.size())))];
      table.RemovePod(row, uid);
      std::erase_if(running, [gone = uid](const auto& entry) { return entry.second == gone; });
    }
    // Columns that are asked for early are kept up to date from there on.
    if (generator.OneIn(10)) table.LabelColumn(generator.Key());
  }
}

std::vector<std::unique_ptr<framework::Plugin>> Plugins(Generator& generator, framework::Handle& handle) {
  std::vector<std::unique_ptr<framework::Plugin>> plugins;
  for (const config::KnownPlugin& registration : InTreePlugins()) {
    config::PluginArgs args;
    if (registration.name == names::kExternalHealth) args = config::RawArgs{R"({"source":"nagios","url":"http://n"})"};
    if (registration.name == names::kTopologyDistance)
      args = config::RawArgs{R"({"levels":[{"key":"disk"},{"key":"zone"}],"peerLabel":"app","byController":true})"};
    if (registration.name == names::kScript) {
      args = config::RawArgs{
          R"lua({"source":"function filter(pod, node) if node.metadata.labels.disk == '1' then return false, 'no' end )lua"
          R"lua(return node.free.cpu_milli >= pod.requests.cpu_milli, 'over ' .. node.metadata.name, 'unresolvable' end )lua"
          R"lua(function score(pod, node) return #node.pods * 7 % 101 end"})lua"};
    }
    plugins.push_back(registration.create(args, handle).value());
  }
  api::NodeAffinity added;
  added.required = {generator.Term(), generator.Term()};
  added.preferred = {{3, generator.Term()}};
  plugins.push_back(CreateNodeAffinity({added}, handle));
  config::NodeResourcesFitArgs by_name;
  by_name.ignored_resources = {"example.com/tpu"};
  by_name.scoring_strategy.type = config::ScoringStrategyType::kMostAllocated;
  plugins.push_back(CreateNodeResourcesFit(by_name, handle));
  config::NodeResourcesFitArgs by_group;
  by_group.ignored_resource_groups = {"example.com"};
  by_group.scoring_strategy = {config::ScoringStrategyType::kRequestedToCapacityRatio,
                               {{"cpu", 2}, {"memory", 1}, {"example.com/gpu", 5}, {"ephemeral-storage", 1}},
                               {{{0, 0}, {40, 10}, {100, 3}}}};
  plugins.push_back(CreateNodeResourcesFit(by_group, handle));
  plugins.push_back(CreateNodeResourcesBalancedAllocation({by_group.scoring_strategy.resources}, handle));
  return plugins;
}

class ColumnEqualsPlain : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ColumnEqualsPlain, EveryFilterAndScore) {
  Generator generator(GetParam());
  cache::ColumnNodeTable table;
  Live(generator, table);
  NullHandle handle;
  const auto plugins = Plugins(generator, handle);
  int refused = 0;
  int scored = 0;
  for (int p = 0; p < 10; ++p) {
    auto builder = generator.Pod("p");
    if (generator.OneIn(10)) builder.Node(generator.NodeName());
    const auto pod = builder.Info();
    // Sometimes all rows, sometimes those that an update would ask about.
    std::vector<NodeIndex> rows;
    const bool all = generator.OneIn(2);
    for (const NodeIndex row : table.rows()) {
      if (all || generator.OneIn(3)) rows.push_back(row);
    }
    framework::CycleState state;
    const framework::Cycle cycle{table, state, GetParam(), Time{}};
    for (const auto& plugin : plugins) {
      SCOPED_TRACE(plugin->Name());
      state = framework::CycleState();
      if (const auto* pre_filter = dynamic_cast<const framework::PreFilterPlugin*>(plugin.get())) {
        (void)pre_filter->PreFilter(cycle, *pod);
      }
      if (const auto* filter = dynamic_cast<const framework::FastFilter*>(plugin.get())) {
        framework::StatusTable plain_statuses;
        framework::StatusTable column_statuses;
        const VerdictId taken = column_statuses.Intern(Status::Unschedulable("refused by somebody else"));
        std::vector<VerdictId> plain(table.row_count());
        std::vector<VerdictId> column(table.row_count());
        for (const NodeIndex row : rows) {
          if (generator.OneIn(6)) plain[row] = column[row] = taken;
        }
        plain_statuses.Intern(Status::Unschedulable("refused by somebody else"));
        filter->FastFilter::FilterRows(cycle, *pod, rows, plain, plain_statuses);
        filter->FilterRows(cycle, *pod, rows, column, column_statuses);
        for (NodeIndex row = 0; row < table.row_count(); ++row) {
          EXPECT_TRUE(plain_statuses.Get(plain[row]) == column_statuses.Get(column[row]))
              << "row " << row << ": plain " << plain_statuses.Get(plain[row]).Message() << ", column "
              << column_statuses.Get(column[row]).Message();
          refused += plain[row] != framework::kVerdictOk ? 1 : 0;
        }
      }
      if (const auto* pre_score = dynamic_cast<const framework::PreScorePlugin*>(plugin.get())) {
        if (!pre_score->PreScore(cycle, *pod, rows).IsSuccess() && generator.OneIn(2)) continue;
      }
      if (const auto* score = dynamic_cast<const framework::FastScore*>(plugin.get())) {
        std::vector<std::int64_t> plain(table.row_count(), -7);
        std::vector<std::int64_t> column(table.row_count(), -7);
        Status plain_status;
        Status column_status;
        score->FastScore::ScoreRows(cycle, *pod, rows, plain, plain_status);
        score->ScoreRows(cycle, *pod, rows, column, column_status);
        // Some plugins do not score without what PreScore prepares. Over no rows the plain form has nothing to say.
        if (rows.empty()) continue;
        EXPECT_TRUE(plain_status == column_status) << plain_status.Message() << " and " << column_status.Message();
        if (!plain_status.IsSuccess()) continue;
        EXPECT_EQ(plain, column);
        scored += static_cast<int>(rows.size());
      }
    }
    if (HasFailure()) {
      FAIL() << "replay with seed " << GetParam();
    }
  }
  // A generator that meets nothing would prove nothing.
  if (table.node_count() > 3) {
    EXPECT_GT(refused, 0);
    EXPECT_GT(scored, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ColumnEqualsPlain, ::testing::Range<std::uint64_t>(1, 201));

}  // namespace
}  // namespace berth::plugins
