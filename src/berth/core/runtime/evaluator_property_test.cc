// SPDX-License-Identifier: Apache-2.0
// The three forms of evaluation agree: plain, column, and column with kept results of the class, over long sequences in
// which nodes and pods are added, changed and deleted. A failure prints the seed that replays it.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/plugins/names.h"
#include "berth/plugins/registry.h"

namespace berth::runtime {
namespace {

using framework::Dependency;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::Normalization;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;

constexpr std::int64_t kLarge = INT64_MAX / 3;

std::uint64_t Mix(std::uint64_t seed, std::string_view text) {
  return Random(seed ^ std::hash<std::string_view>{}(text)).Next();
}

bool HasLabel(const NodeInfo& node, std::string_view key, std::string_view value) {
  const std::string* found = node.node().metadata.labels.Find(key);
  return found != nullptr && *found == value;
}

// Plugins of every dependency and broken ones, each in some of the profiles. Plugins whose answers are never kept are
// made only with `with_cycle`: with a single one of them, class reuse cannot choose the node by itself.
std::vector<std::shared_ptr<Puppet>> Puppets(Dice& dice, bool with_cycle) {
  std::vector<std::shared_ptr<Puppet>> puppets;
  const auto add = [&](std::string name) -> Puppet& {
    return *puppets.emplace_back(std::make_shared<Puppet>(std::move(name)));
  };
  if (with_cycle && dice.OneIn(3)) {
    Puppet& p = add("ByChance");
    p.depends_on.filter = Dependency::kCycle;
    p.filter = [](const framework::Cycle& cycle, const PodInfo&, const NodeInfo& node) {
      return Mix(cycle.seed, node.name()) % 3 == 0 ? Status::Unschedulable("no luck") : Status();
    };
  }
  if (with_cycle && dice.OneIn(3)) {
    // Unlike the table's kNode columns, this changes with each pod placed on any node.
    Puppet& p = add("FewPods");
    p.depends_on.score = Dependency::kCycle;
    p.normalization = Normalization::kCustom;
    p.score = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node, Status&) {
      return static_cast<std::int64_t>(node.pods().size());
    };
    p.normalize = [](std::span<framework::NodeScore> scores) {
      std::int64_t max = 1;
      for (const framework::NodeScore& s : scores) max = std::max(max, s.score);
      for (framework::NodeScore& s : scores) s.score = (max - s.score) * 100 / max;
      return Status();
    };
  }
  if (with_cycle && dice.OneIn(4)) {
    // Depends on the node only, but its preparation depends on the whole cluster or on the cycle.
    Puppet& p = add("SometimesSkips");
    const bool is_cycle = dice.OneIn(2);
    p.depends_on.pre_filter = is_cycle ? Dependency::kCycle : Dependency::kCluster;
    p.pre_filter = [is_cycle](const framework::Cycle& cycle, const PodInfo&) {
      const bool skips = (is_cycle ? cycle.seed : cycle.nodes.node_count()) % 2 == 0;
      return framework::PreFilterResult{skips ? Status::Skip() : Status(), {}};
    };
    p.filter = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node) {
      return node.node().images.empty() ? Status() : Status::Unschedulable("no room for images today");
    };
  }
  if (with_cycle && dice.OneIn(4)) {
    Puppet& p = add("Crowds");
    p.depends_on.pre_score = dice.Pick({Dependency::kCycle, Dependency::kCluster});
    p.normalization = Normalization::kMax;
    p.pre_score = [](const framework::Cycle& cycle, const PodInfo&) {
      return cycle.nodes.node_count() % 3 == 0 ? Status::Skip() : Status();
    };
    p.score = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node, Status&) {
      return node.allocatable().cpu_milli;
    };
  }
  if (dice.OneIn(4)) {
    Puppet& p = add("ClusterSize");
    p.depends_on.filter = p.depends_on.score = Dependency::kCluster;
    p.filter = [](const framework::Cycle& cycle, const PodInfo&, const NodeInfo& node) {
      return HasLabel(node, "disk", "a") && cycle.nodes.node_count() % 2 == 0 ? Status::Unschedulable("even cluster")
                                                                              : Status();
    };
    p.score = [](const framework::Cycle& cycle, const PodInfo&, const NodeInfo& node, Status&) {
      return static_cast<std::int64_t>(Mix(cycle.nodes.node_count(), node.name()) % 101);
    };
  }
  if (with_cycle && dice.OneIn(4)) {
    Puppet& p = add("OwnScale");
    p.normalization = Normalization::kCustom;
    p.score = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node, Status&) {
      return node.requested().cpu_milli;
    };
    p.normalize = [](std::span<framework::NodeScore> scores) {
      for (framework::NodeScore& s : scores) s.score = std::min<std::int64_t>(100, s.score / 20);
      return Status();
    };
  }
  if (dice.OneIn(8)) {
    Puppet& p = add("ThrowsAtOld");
    p.filter = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node) {
      for (const api::Taint& taint : node.node().taints) {
        if (taint.key == "old") throw std::runtime_error("too old");
      }
      return HasLabel(node, "disk", "b") ? Status::Unschedulable("disk b") : Status();
    };
  }
  if (dice.OneIn(8)) {
    Puppet& p = add("Wild");
    p.normalization =
        dice.Pick({Normalization::kNone, Normalization::kMax, Normalization::kMaxReverse, Normalization::kLowestFirst});
    p.score = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node, Status& status) -> std::int64_t {
      if (HasLabel(node, "zone", "a") && node.pods().size() == 2) return -7;
      if (HasLabel(node, "zone", "b") && node.pods().size() == 1) return kLarge;
      if (HasLabel(node, "zone", "c") && node.pods().size() == 1) status = Status::Error("no score for this one");
      return 10;
    };
  }
  if (dice.OneIn(10)) {
    Puppet& p = add("FailsAtPreScore");
    p.pre_score = [](const framework::Cycle&, const PodInfo& pod) {
      return pod.priority() == 10 ? Status::Error("tens are bad") : Status();
    };
    p.score = [](const framework::Cycle&, const PodInfo&, const NodeInfo& node, Status&) {
      return static_cast<std::int64_t>(node.node().taints.size());
    };
  }
  if (dice.OneIn(10)) {
    Puppet& p = add("FailsAtPreFilter");
    p.pre_filter = [](const framework::Cycle&, const PodInfo& pod) -> framework::PreFilterResult {
      if (pod.priority() == 100) throw std::runtime_error("hundreds are bad");
      return {};
    };
  }
  return puppets;
}

// The default profile or a similar one, with the same puppets for each form.
std::unique_ptr<ProfilePlugins> RandomProfile(Dice& dice, framework::Handle& handle) {
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  config::Profile& profile = configuration.profiles.front();
  for (config::PluginConfig& plugin : profile.plugin_config) {
    if (auto* fit = std::get_if<config::NodeResourcesFitArgs>(&plugin.args); fit != nullptr && dice.OneIn(2)) {
      using enum config::ScoringStrategyType;
      fit->scoring_strategy.type = dice.Pick({kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio});
      fit->scoring_strategy.resources = {{"cpu", 3}, {"memory", 1}, {"example.com/gpu", 2}};
      if (fit->scoring_strategy.type == kRequestedToCapacityRatio) {
        fit->scoring_strategy.shape = {{{0, 0}, {50, 10}, {100, 2}}};
      }
    }
    if (auto* affinity = std::get_if<config::NodeAffinityArgs>(&plugin.args); affinity != nullptr && dice.OneIn(6)) {
      affinity->added_affinity.emplace();
      affinity->added_affinity->preferred = {{7, testing::Term({testing::In("zone", {"a"})})}};
    }
  }
  const bool with_cycle = dice.OneIn(2);
  if (with_cycle && dice.OneIn(4))
    profile.plugins.multi_point.enabled.push_back({std::string(plugins::names::kRandom), 1});
  // Without ImageLocality, which depends on all nodes, a changed node affects its own row only.
  if (dice.OneIn(2))
    profile.plugins.points[config::ExtensionPoint::kScore].disabled = {std::string(plugins::names::kImageLocality)};
  if (dice.OneIn(8)) profile.plugins.points[config::ExtensionPoint::kScore].disabled = {"*"};
  auto made = MakeProfiles(configuration, plugins::InTreePlugins(), handle);
  BERTH_CHECK(made.ok(), made.error().message);
  for (const auto& puppet : Puppets(dice, with_cycle)) Enable(*made->front(), puppet, 1 + dice.Below(3));
  return std::move(made->front());
}

std::string Show(const Status& status) {
  return std::string(ToString(status.code())) + " by " + std::string(status.plugin()) + ": " + status.Message();
}

// Everything in an outcome, as text that can be compared and read.
std::string Describe(Evaluator& evaluator, const Outcome& o, const framework::NodeTable& nodes, bool with_detail) {
  std::string text = "result " + std::to_string(static_cast<int>(o.result)) + " " + o.error + "\n";
  if (o.result == Result::kFeasible) text += "total " + std::to_string(o.total) + "\n";
  if (o.result != Result::kError) {
    text += "nodes " + std::to_string(o.node_count) + " feasible " + std::to_string(o.feasible_count) + " scored " +
            std::to_string(o.is_scored) + "\n";
  }
  text += "prefilter " + Show(o.pre_filter_status) + " narrowed by";
  for (const std::string& plugin : o.narrowing_plugins) text += " " + plugin;
  for (const std::string& name : o.narrowed_to.value_or(std::set<std::string>())) text += " " + name;
  text += "\nnominated " + std::to_string(o.is_nominated_node) + " " + Show(o.nominated_status) + "\nrejectors";
  for (const std::string& plugin : o.unschedulable_plugins) text += " " + plugin;
  if (o.result == Result::kError) return text;
  std::map<std::string, std::size_t> refusals;
  for (const auto& [status, count] : evaluator.RefusalCounts()) refusals[Show(status)] += count;
  for (const auto& [status, count] : refusals) text += "\n" + std::to_string(count) + " x " + status;
  for (const NodeIndex row : nodes.rows()) {
    if (o.result != Result::kNoNodes && !o.is_nominated_node)
      text += "\nrow " + std::to_string(row) + " " + Show(evaluator.StatusOf(row));
  }
  if (with_detail) {
    for (const NodeIndex row : o.evaluated) text += "\nevaluated " + std::to_string(row);
    for (const NodeIndex row : o.best) text += "\nbest " + std::to_string(row);
    for (std::size_t i = 0; i < o.feasible.size(); ++i) {
      text += "\nfeasible " + std::to_string(o.feasible[i]);
      if (!o.totals.empty()) text += " total " + std::to_string(o.totals[i]);
      for (const auto& [plugin, scores] : o.scores) text += " " + std::string(plugin) + "=" + std::to_string(scores[i]);
    }
  }
  if (o.result == Result::kRefused) {
    const framework::PostFilterResult result = evaluator.RunPostFilter();
    text += "\npostfilter " + Show(result.status) +
            (result.has_nomination ? " nominates " + result.nominated_node_name : "");
  }
  if (o.result == Result::kRefused || o.result == Result::kNoNodes) text += "\n" + evaluator.Message();
  return text;
}

class FormsAgree : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  struct Contender {
    const char* name;
    bool with_detail;
    std::unique_ptr<Evaluator> evaluator;
  };

  void SetUp() override {
    profile_ = RandomProfile(dice_, handle_);
    const auto add = [this](const char* name, EvaluatorOptions options) {
      contenders_.push_back({name, options.with_detail, std::make_unique<Evaluator>(*profile_, options)});
    };
    // In some runs there is memory for a few classes only, so that results are dropped and made again.
    const std::size_t bytes = dice_.OneIn(3) ? 40'000 : std::size_t{64} << 20;
    add("plain", {.form = Form::kPlain, .with_detail = true});
    add("column", {.form = Form::kColumn, .with_detail = true});
    // Each optional chooser is left out in some runs.
    constexpr std::string_view kLeftOut[] = {"", "blocks", "groups", "kept totals"};
    add("reuse", {.form = Form::kReuse,
                  .with_detail = true,
                  .class_bytes_max = bytes,
                  .block_rows_min = 1,
                  .choosers_left_out = {kLeftOut[GetParam() % std::size(kLeftOut)]}});
    add("reuse without detail",
        {.form = Form::kReuse, .with_detail = false, .class_bytes_max = bytes, .block_rows_min = 1});
    for (int i = 0; i < 8; ++i) templates_.push_back(RandomPod(dice_, "template"));
    // In some runs there are more nodes than a block of rows has.
    name_count_ = dice_.Pick({3, 12, 12, 150});
    for (int i = 0; i < name_count_ / 2; ++i) SetNode();
  }

  std::string NodeName() { return "n" + std::to_string(dice_.Below(name_count_)); }
  void SetNode() {
    std::string name = NodeName();
    cache_.SetNode(RandomNode(dice_, std::move(name)).Build());
  }

  PodInfoPtr Instance(const testing::PodBuilder& from, const std::string& node_name) {
    testing::PodBuilder builder = from;
    builder.Uid("uid-" + std::to_string(next_pod_++));
    if (!node_name.empty()) builder.Node(node_name);
    return classes_.MakePodInfo(builder.Build());
  }

  void ChangeCluster() {
    switch (dice_.Below(12)) {
      case 0:
      case 1: SetNode(); break;
      case 2: cache_.RemoveNode(NodeName()); break;
      case 3: {  // deleted and created again under the same name, and so in the same row
        const std::string name = NodeName();
        cache_.RemoveNode(name);
        cache_.SetNode(RandomNode(dice_, name).Build());
        break;
      }
      case 4:
      case 5: {  // the node may not exist
        const PodInfoPtr pod = Instance(dice_.PickFrom(templates_), NodeName());
        cache_.SetPod(pod);
        running_.push_back(pod->uid);
        break;
      }
      case 6:
      case 7:
      case 8:
        if (!running_.empty()) {
          const auto at = static_cast<std::size_t>(dice_.Below(static_cast<int>(running_.size())));
          cache_.RemovePod(running_[at]);
          running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 9:  // resized or relabelled
        if (!running_.empty()) {
          const PodInfoPtr pod = *cache_.FindPod(dice_.PickFrom(running_));
          testing::PodBuilder changed = dice_.PickFrom(templates_);
          changed.Uid(pod->uid).Node(pod->node_name);
          cache_.SetPod(classes_.MakePodInfo(changed.Build()));
        }
        break;
      case 10: {
        nominated_.erase(NodeName());
        const std::string name = NodeName();
        if (dice_.OneIn(4)) nominated_[name].push_back(Instance(dice_.PickFrom(templates_), ""));
        break;
      }
      default: templates_[static_cast<std::size_t>(dice_.Below(8))] = RandomPod(dice_, "template");
    }
  }

  void UpdateNominations() {
    std::map<NodeIndex, std::vector<PodInfoPtr>> wanted;
    for (const framework::NominatedOnRow& on_row : nominated_rows_.rows()) wanted[on_row.row];
    for (const auto& [name, pods] : nominated_) {
      const NodeIndex row = cache_.nodes().Find(name);
      if (row != framework::kNoNode) wanted[row] = pods;
    }
    for (const auto& [row, pods] : wanted) nominated_rows_.Set(row, pods);
  }

  // Random answers of extenders: nodes left, nodes refused with and without a reason, scores.
  ExtenderVerdicts RandomSay() {
    ExtenderVerdicts say;
    say.filters_only = dice_.OneIn(3);
    say.totals_above = dice_.Pick<std::size_t>({0, 5, SIZE_MAX});
    say.skips_nominated = !say.filters_only || dice_.OneIn(2);
    for (int i = 0; i < name_count_; ++i) {
      const std::string name = "n" + std::to_string(i);
      if (!dice_.OneIn(3)) {
        say.passed.insert(name);
      } else {
        say.has_refused = true;
        const auto code = dice_.Pick({framework::Code::kUnschedulable, framework::Code::kUnschedulableAndUnresolvable});
        if (dice_.OneIn(2)) say.refused[name] = Status(code, {dice_.Pick({"no", "old"})}).WithPlugin(kExtenderName);
      }
      if (dice_.OneIn(2)) say.scores[name] = dice_.Pick<std::int64_t>({-7, 40, 1000, INT64_MAX});
    }
    return say;
  }

  // The totals by which nodes for extenders are chosen must be those of an evaluation without extenders.
  void CheckTotals(const PodInfoPtr& pod, const ExtenderVerdicts& say, const Outcome& got, std::uint64_t seed) {
    if (got.result != Result::kFeasible || got.is_nominated_node) return;
    EXPECT_EQ(got.node, framework::kNoNode);
    if (got.feasible.size() <= say.totals_above) {
      ASSERT_TRUE(got.totals.empty());
      return;
    }
    Evaluator other(*profile_, {.form = Form::kPlain, .with_detail = true});
    ExtenderVerdicts all;
    all.skips_nominated = true;
    for (const NodeIndex row : got.feasible) all.passed.insert(cache_.nodes().Info(row).name());
    const Outcome scored = other.Evaluate(pod, cache_.nodes(), &nominated_rows_, seed, Time{}, &all);
    ASSERT_EQ(got.feasible, scored.feasible);
    const std::vector<std::int64_t> unscored(1);  // a single feasible node is not scored
    ASSERT_EQ(got.totals, got.feasible.size() > 1 ? scored.totals : unscored);
  }

  // Compares with evaluations without extenders: only nodes that the extenders left are feasible, and their scores are
  // added to the plugins' totals.
  void CheckSay(const PodInfoPtr& pod, const ExtenderVerdicts& say, const Outcome& got, std::uint64_t seed) {
    if (say.filters_only) return CheckTotals(pod, say, got, seed);
    if (got.result == Result::kError || got.result == Result::kNoNodes) return;
    Evaluator other(*profile_, {.form = Form::kPlain, .with_detail = true});
    ExtenderVerdicts filters;
    filters.filters_only = filters.skips_nominated = true;
    const Outcome passing = other.Evaluate(pod, cache_.nodes(), &nominated_rows_, seed, Time{}, &filters);
    std::vector<NodeIndex> left;
    if (passing.result == Result::kFeasible) left = passing.feasible;
    std::erase_if(left, [&](NodeIndex row) { return !say.passed.contains(cache_.nodes().Info(row).name()); });
    ASSERT_EQ(got.feasible, left);
    ASSERT_EQ(got.result == Result::kFeasible, !left.empty());
    ExtenderVerdicts silent = say;
    silent.scores.clear();
    const Outcome plugins = other.Evaluate(pod, cache_.nodes(), &nominated_rows_, seed, Time{}, &silent);
    ASSERT_EQ(got.totals.size(), plugins.totals.size());
    for (std::size_t i = 0; i < got.totals.size(); ++i) {
      const auto score = say.scores.find(cache_.nodes().Info(left[i]).name());
      const std::int64_t added = score == say.scores.end() ? 0 : score->second;
      ASSERT_EQ(static_cast<std::uint64_t>(got.totals[i]),
                static_cast<std::uint64_t>(plugins.totals[i]) + static_cast<std::uint64_t>(added));
    }
  }

  void ScheduleOne() {
    testing::PodBuilder builder = dice_.PickFrom(templates_);
    if (dice_.OneIn(8)) builder.Nominated(NodeName());
    const PodInfoPtr pod = Instance(builder, "");
    UpdateNominations();
    if (dice_.OneIn(30)) {
      for (const Contender& contender : contenders_) contender.evaluator->DropIdle();
    }
    const std::uint64_t seed = dice_.Seed();
    std::map<bool, std::string> wanted;
    std::vector<NodeIndex> best;
    std::vector<std::int64_t> totals;
    const Outcome* outcome = nullptr;
    std::optional<ExtenderVerdicts> say;
    if (dice_.OneIn(4)) say = RandomSay();
    for (Contender& c : contenders_) {
      outcome = &c.evaluator->Evaluate(pod, cache_.nodes(), &nominated_rows_, seed, Time{}, say ? &*say : nullptr);
      if (say && &c == contenders_.data()) CheckSay(pod, *say, *outcome, seed);
      const std::string got = Describe(*c.evaluator, *outcome, cache_.nodes(), c.with_detail);
      if (wanted.empty()) {
        best = outcome->best;
        totals = outcome->totals;
        wanted[true] = got;
        wanted[false] = Describe(*c.evaluator, *outcome, cache_.nodes(), false);
      }
      ASSERT_EQ(got, wanted[c.with_detail]) << c.name << " differs from plain; replay with seed " << GetParam();
      if (say && say->filters_only) {
        ASSERT_EQ(outcome->totals, totals) << c.name;
      }
      // Which of the best nodes is chosen may depend on earlier evaluations.
      if (outcome->result == Result::kFeasible && outcome->node != framework::kNoNode) {
        ASSERT_NE(std::find(best.begin(), best.end(), outcome->node), best.end()) << c.name;
      }
    }
    ++results_[static_cast<int>(outcome->result)];
    if (outcome->result != Result::kFeasible || outcome->node == framework::kNoNode || dice_.OneIn(4)) return;
    running_.push_back(AssumeOn(cache_, *pod, outcome->node));
  }

  Dice dice_{GetParam()};
  NullHandle handle_;
  cache::PodClasses classes_;
  cache::Cache cache_;
  std::unique_ptr<ProfilePlugins> profile_;
  std::vector<Contender> contenders_;
  std::vector<testing::PodBuilder> templates_;
  std::map<std::string, std::vector<PodInfoPtr>> nominated_;
  framework::NominatedRows nominated_rows_;
  std::vector<std::string> running_;
  std::map<int, int> results_;
  int name_count_ = 0;
  int next_pod_ = 0;
};

TEST_P(FormsAgree, OverALongLife) {
  const int step_count = name_count_ > 100 ? 60 : 150;
  for (int step = 0; step < step_count && !HasFatalFailure(); ++step) {
    for (int i = dice_.Below(4); i > 0; --i) ChangeCluster();
    ScheduleOne();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FormsAgree, ::testing::Range<std::uint64_t>(1, 161));

}  // namespace
}  // namespace berth::runtime
