// SPDX-License-Identifier: Apache-2.0
// Kept counts = counting anew, column form = plain form, AddPod and RemovePod = another cluster: over random clusters
// that live. A failure prints the seed that replays it.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/config/args.h"
#include "berth/plugins/helper/plugin_testing.h"
#include "berth/plugins/inter_pod_affinity/affinity_index.h"
#include "berth/plugins/inter_pod_affinity/affinity_terms.h"
#include "berth/plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

const std::string kAffinityReason = "node(s) didn't match pod affinity rules";
const std::string kAntiAffinityReason = "node(s) didn't match pod anti-affinity rules";
const std::string kExistingAntiAffinityReason = "node(s) didn't satisfy existing pods anti-affinity rules";

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

// Where pods run: what the rules are about, as plainly as can be.
struct Placement {
  PodInfoPtr pod;
  std::shared_ptr<const api::Node> node;
};

// Upstream's maps from (key, value) to a number, filled by a walk over all pods.
struct PlainCounts {
  using Pairs = std::map<std::pair<std::string, std::string>, std::int64_t>;
  Pairs existing, affinity, anti_affinity, score;

  PlainCounts(const PodInfo& pod, const std::vector<Placement>& placements,
              const framework::ObjectStore<api::Namespace>& namespaces, std::int32_t hard_weight,
              bool resolves_selectors)
      : terms(ParseTerms(*pod.pod_class)) {
    MergeNamespaces(terms, namespaces, resolves_selectors);
    const api::Namespace* found = namespaces.Find(pod.namespace_name());
    const api::StringMap labels = found == nullptr ? api::StringMap() : found->metadata.labels;
    const framework::PodClass& incoming = *pod.pod_class;
    for (const auto& [other, node] : placements) {
      const framework::PodClass& running = *other->pod_class;
      const PodTerms theirs = ParseTerms(running);
      const auto add = [&where = *node](Pairs& pairs, const plugins::AffinityTerm& term, std::int64_t weight) {
        const std::string* value = where.metadata.labels.Find(term.topology_key());
        if (value != nullptr) pairs[{term.topology_key(), *value}] += weight;
      };
      for (const auto& term : theirs.required_anti_affinity) {
        if (term.Matches(incoming, labels)) add(existing, term, 1);
      }
      if (MatchesAll(terms.required_affinity, running)) {
        for (const auto& term : terms.required_affinity) add(affinity, term, 1);
      }
      for (const auto& term : terms.required_anti_affinity) {
        if (term.Matches(running, {})) add(anti_affinity, term, 1);
      }
      for (const auto& [term, weight] : terms.preferred_affinity) {
        if (term.Matches(running, {})) add(score, term, weight);
      }
      for (const auto& [term, weight] : terms.preferred_anti_affinity) {
        if (term.Matches(running, {})) add(score, term, -weight);
      }
      for (const auto& term : theirs.required_affinity) {
        if (hard_weight > 0 && term.Matches(incoming, labels)) add(score, term, hard_weight);
      }
      for (const auto& [term, weight] : theirs.preferred_affinity) {
        if (term.Matches(incoming, labels)) add(score, term, weight);
      }
      for (const auto& [term, weight] : theirs.preferred_anti_affinity) {
        if (term.Matches(incoming, labels)) add(score, term, -weight);
      }
    }
  }

  std::string Filter(const PodInfo& pod, const api::Node& node) const {
    const auto count = [&](const Pairs& pairs, const std::string& key, const std::string& value) {
      const auto it = pairs.find({key, value});
      return it == pairs.end() ? 0 : it->second;
    };
    bool pods_exist = true;
    for (const auto& term : terms.required_affinity) {
      const std::string* value = node.metadata.labels.Find(term.topology_key());
      if (value == nullptr) return kAffinityReason;
      pods_exist = pods_exist && count(affinity, term.topology_key(), *value) > 0;
    }
    if (!pods_exist && !(affinity.empty() && MatchesAll(terms.required_affinity, *pod.pod_class))) {
      return kAffinityReason;
    }
    for (const auto& term : terms.required_anti_affinity) {
      const std::string* value = node.metadata.labels.Find(term.topology_key());
      if (value != nullptr && count(anti_affinity, term.topology_key(), *value) > 0) {
        return kAntiAffinityReason;
      }
    }
    for (const auto& [key, value] : node.metadata.labels) {
      if (count(existing, key, value) > 0) return kExistingAntiAffinityReason;
    }
    return "";
  }

  bool SkipsFilter() const {
    return existing.empty() && terms.required_affinity.empty() && terms.required_anti_affinity.empty();
  }

  std::int64_t Score(const api::Node& node) const {
    std::int64_t sum = 0;
    for (const auto& [key, value] : node.metadata.labels) {
      const auto it = score.find({key, value});
      if (it != score.end()) sum += it->second;
    }
    return sum;
  }

  PodTerms terms;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : seed_(seed), random_(seed) {}

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_.Below(from.size())];
  }
  std::string Text(std::initializer_list<const char*> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }

  std::string NodeName() { return "n" + std::to_string(Below(9)); }
  testing::NodeBuilder Node(const std::string& name) {
    auto node = MakeNode(name);
    if (!OneIn(4)) node.Label("zone", Text({"a", "b", "c", ""}));
    if (!OneIn(5)) node.Label("host", name);
    // With every fourth seed no node has it at first.
    if (OneIn(3)) {
      const std::string rack = Text({"1", "2"});
      if (seed_ % 4 != 0 || ++nodes_made_ > 20) node.Label("rack", rack);
    }
    return node;
  }
  std::string Namespace() { return Text({"red", "green", "blue"}); }
  std::shared_ptr<const api::Namespace> NamespaceObject(const std::string& name) {
    api::Namespace object;
    object.metadata.name = name;
    if (!OneIn(3)) object.metadata.labels.Set("team", Text({"x", "y"}));
    return std::make_shared<const api::Namespace>(std::move(object));
  }

  api::LabelSelector Selector(const std::string& key, std::initializer_list<const char*> values) {
    api::LabelSelector selector;
    for (int i = Below(3); i > 0; --i) {
      switch (Below(8)) {
        case 0: selector.requirements.push_back(testing::NotIn(key, {Text(values)})); break;
        case 1: selector.requirements.push_back(testing::Exists(key)); break;
        case 2: selector.requirements.push_back(testing::DoesNotExist(key)); break;
        case 3: selector.requirements.push_back(testing::In(key, {Text(values), Text(values)})); break;
        default: selector.requirements.push_back(testing::In(key, {Text(values)})); break;
      }
    }
    return selector;
  }
  api::PodAffinityTerm Term() {
    api::PodAffinityTerm term;
    if (!OneIn(12)) term.selector = Selector(OneIn(3) ? "tier" : OneIn(20) ? "build" : "app", {"a", "b", "c"});
    if (OneIn(60)) term.selector = api::LabelSelector{{{"app", api::SelectorOperator::kUnknown, {}, "Odd"}}};
    if (OneIn(4)) term.namespaces.push_back(Namespace());
    if (OneIn(8)) term.namespaces.push_back(Namespace());
    if (OneIn(4)) term.namespace_selector = Selector("team", {"x", "y"});
    term.topology_key = Text({"zone", "zone", "host", "host", "rack", ""});
    return term;
  }
  testing::PodBuilder Pod() {
    auto pod = MakePod("p").Namespace(Namespace());
    if (!OneIn(6)) pod.Label("app", Text({"a", "b", "c"}));
    if (OneIn(3)) pod.Label("tier", Text({"a", "b"}));
    if (OneIn(4)) return pod;
    for (int i = Below(5); i > 3; --i) pod.Affinity(Term());
    for (int i = Below(5); i > 2; --i) pod.AntiAffinity(Term());
    for (int i = Below(5); i > 2; --i) pod.PreferredAffinity(Below(101), Term());
    for (int i = Below(5); i > 3; --i) pod.PreferredAntiAffinity(Below(101), Term());
    return pod;
  }

 private:
  std::uint64_t seed_;
  Random random_;
  int nodes_made_ = 0;  // that would have a rack
};

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : generator(seed) {
    for (std::uint64_t i = 0; i < 3 + seed % 23; ++i) kinds_.push_back(generator.Pod().Build());
    // Others that differ in what few terms ask for.
    for (std::uint64_t i = 0; i < seed % 7; ++i) {
      api::Pod like = generator.Pick(kinds_);
      like.metadata.labels.Set("build", generator.Text({"a", "b"}));
      kinds_.push_back(std::move(like));
    }
    for (const char* name : {"red", "green"}) SetNamespace(name);
  }

  void Step() {
    const int what = generator.Below(30);
    if (what == 0) {
      SetNamespace(generator.Namespace());
    } else if (what == 1) {
      handle.store.Of<api::Namespace>().Remove(generator.Namespace());
    } else if (what == 2) {
      table.RemoveNode(generator.NodeName());
    } else if (what < 6) {
      table.SetNode(generator.Node(generator.NodeName()).Build());
    } else if (what < 9 && !running_.empty()) {
      // Another pod object under the same name, of the same kind or another.
      auto& [row, pod] = running_[static_cast<std::size_t>(generator.Below(static_cast<int>(running_.size())))];
      pod = MakeInfo(generator.OneIn(3) ? nullptr : pod.get(), pod->uid, pod->node_name);
      table.UpdatePod(row, pod);
    } else if (what < 18 && !running_.empty()) {
      const auto at = generator.Below(static_cast<int>(running_.size()));
      table.RemovePod(running_[static_cast<std::size_t>(at)].first, running_[static_cast<std::size_t>(at)].second->uid);
      running_.erase(running_.begin() + at);
    } else {
      const PodInfoPtr pod = MakeInfo(nullptr, "uid-" + std::to_string(++made_), generator.NodeName());
      running_.emplace_back(table.AddPod(pod), pod);
    }
  }

  PodInfoPtr Pending() { return MakeInfo(nullptr, "pending", ""); }

  std::vector<Placement> Placements() const {
    std::vector<Placement> placements;
    for (const NodeIndex row : table.rows()) {
      for (const PodInfoPtr& pod : table.Info(row).pods()) placements.push_back({pod, table.Info(row).node_ptr()});
    }
    return placements;
  }

  Generator generator;
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;

 private:
  PodInfoPtr MakeInfo(const PodInfo* like, const std::string& uid, const std::string& node) {
    api::Pod pod = generator.Pick(kinds_);
    pod.metadata.uid = uid;
    pod.spec.node_name = node;
    PodInfo info = *classes_.MakePodInfo(pod);
    if (like != nullptr) info.pod_class = like->pod_class;
    return std::make_shared<const PodInfo>(std::move(info));
  }
  void SetNamespace(const std::string& name) { handle.store.Of<api::Namespace>().Set(generator.NamespaceObject(name)); }

  cache::PodClasses classes_;
  std::vector<api::Pod> kinds_;
  std::vector<std::pair<NodeIndex, PodInfoPtr>> running_;
  int made_ = 0;
};

std::string Reason(const Status& status) { return status.IsSuccess() ? "" : status.Message(); }

struct Seen {
  int refused = 0;
  int scored = 0;
  int skipped = 0;
};

void CheckFilter(Cluster& cluster, const TestedPlugin& plugin, const PodInfo& pod, std::int32_t hard_weight,
                 Seen& seen) {
  const auto& namespaces = cluster.handle.store.Of<api::Namespace>();
  std::vector<Placement> placements = cluster.Placements();
  const PlainCounts want(pod, placements, namespaces, hard_weight,
                         cluster.handle.release().resolves_namespace_selectors);
  framework::CycleState state;
  const framework::Cycle cycle{cluster.table, state, 1, Time{}};
  const Status prepared = plugin.PreFilter(cycle, pod).status;
  if (!want.terms.error.empty()) {
    EXPECT_EQ(prepared.Message(), "parsing pod: " + want.terms.error);
    return;
  }
  ASSERT_EQ(prepared.IsSkip(), want.SkipsFilter());
  if (prepared.IsSkip()) {
    ++seen.skipped;
    return;
  }
  framework::StatusTable statuses;
  std::vector<framework::VerdictId> verdicts(cluster.table.row_count());
  plugin.FilterRows(cycle, pod, cluster.table.rows(), verdicts, statuses);
  for (const NodeIndex row : cluster.table.rows()) {
    const auto& node = cluster.table.Info(row);
    const std::string reason = want.Filter(pod, node.node());
    ASSERT_EQ(Reason(plugin.Filter(cycle, pod, node)), reason) << node.name();
    ASSERT_EQ(verdicts[row] == 0 ? "" : Reason(statuses.Get(verdicts[row])), reason) << node.name();
    seen.refused += reason.empty() ? 0 : 1;
  }

  // Another cluster, passed to a copy of the state pod by pod.
  if (cluster.table.node_count() == 0) return;
  framework::CycleState copy = state.Clone();
  const framework::Cycle other{cluster.table, copy, 1, Time{}};
  for (int i = cluster.generator.Below(5); i > 0; --i) {
    if (!placements.empty() && cluster.generator.OneIn(2)) {
      const auto gone = placements.begin() + cluster.generator.Below(static_cast<int>(placements.size()));
      const auto& node = cluster.table.Info(cluster.table.Find(gone->node->metadata.name));
      ASSERT_TRUE(plugin.RemovePod(other, pod, *gone->pod, node).IsSuccess());
      placements.erase(gone);
    } else {
      const auto rows = cluster.table.rows();
      const auto& node =
          cluster.table.Info(rows[static_cast<std::size_t>(cluster.generator.Below(static_cast<int>(rows.size())))]);
      const PodInfoPtr coming = cluster.Pending();
      ASSERT_TRUE(plugin.AddPod(other, pod, *coming, node).IsSuccess());
      placements.push_back({coming, node.node_ptr()});
    }
  }
  const PlainCounts changed(pod, placements, namespaces, hard_weight,
                            cluster.handle.release().resolves_namespace_selectors);
  for (const NodeIndex row : cluster.table.rows()) {
    const auto& node = cluster.table.Info(row);
    ASSERT_EQ(Reason(plugin.Filter(other, pod, node)), changed.Filter(pod, node.node())) << node.name();
    ASSERT_EQ(Reason(plugin.Filter(cycle, pod, node)), want.Filter(pod, node.node())) << node.name();
  }
}

void CheckScore(Cluster& cluster, const TestedPlugin& plugin, const PodInfo& pod, std::int32_t hard_weight,
                Seen& seen) {
  const PlainCounts want(pod, cluster.Placements(), cluster.handle.store.Of<api::Namespace>(), hard_weight,
                         cluster.handle.release().resolves_namespace_selectors);
  if (!want.terms.error.empty()) return;
  framework::CycleState state;
  const framework::Cycle cycle{cluster.table, state, 1, Time{}};
  const bool skips = plugin.PreScoreSkips(cycle, pod);
  ASSERT_EQ(skips, want.score.empty());
  ASSERT_EQ(plugin.PreScore(cycle, pod, cluster.table.rows()).IsSkip(), skips);
  if (skips) return;
  std::vector<std::int64_t> scores(cluster.table.row_count());
  Status status;
  plugin.ScoreRows(cycle, pod, cluster.table.rows(), scores, status);
  for (const NodeIndex row : cluster.table.rows()) {
    const auto& node = cluster.table.Info(row);
    ASSERT_EQ(scores[row], want.Score(node.node())) << node.name();
    ASSERT_EQ(plugin.Score(cycle, pod, row, node, status), scores[row]);
    seen.scored += scores[row] != 0 ? 1 : 0;
  }
}

class InterPodAffinityProperty : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(InterPodAffinityProperty, KeptCountsAreRebuiltCounts) {
  Cluster cluster(GetParam());
  const std::int32_t hard_weight = cluster.generator.Below(3);
  // Half of the seeds follow each release.
  cluster.handle.SetRelease(framework::ReleaseOf(GetParam() % 2 == 0 ? 37 : 36));
  const TestedPlugin plugin =
      CreateInterPodAffinity(config::InterPodAffinityArgs{.hard_pod_affinity_weight = hard_weight}, cluster.handle);
  Seen seen;
  for (int round = 0; round < 60; ++round) {
    // Mostly one change between two pods, sometimes so many that replaying them is not worth it.
    for (int i = cluster.generator.OneIn(12) ? cluster.generator.Below(400) : cluster.generator.Below(4); i > 0; --i) {
      cluster.Step();
    }
    const PodInfoPtr pod = cluster.Pending();
    CheckFilter(cluster, plugin, *pod, hard_weight, seen);
    if (cluster.generator.OneIn(2)) cluster.Step();
    CheckScore(cluster, plugin, *pod, hard_weight, seen);
    if (HasFailure()) {
      FAIL() << "replay with seed " << GetParam() << ", round " << round;
    }
  }
  // Few kinds of pods may all be alike.
  if (GetParam() % 23 < 7) return;
  EXPECT_GT(seen.refused, 0);
  EXPECT_GT(seen.scored, 0);
  EXPECT_GT(seen.skipped, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InterPodAffinityProperty, ::testing::Range<std::uint64_t>(1, 61));

TEST(InterPodAffinity, TwoTablesAreNotMixedUp) {
  Cluster left(1);
  Cluster right(2);
  const TestedPlugin plugin = CreateInterPodAffinity(config::InterPodAffinityArgs{}, left.handle);
  Seen seen;
  for (int round = 0; round < 40; ++round) {
    for (Cluster* cluster : {&left, &right}) {
      for (int i = 0; i < 3; ++i) cluster->Step();
      // The plugin knows the namespaces of one.
      for (const char* name : {"red", "green", "blue"}) {
        right.handle.store.Of<api::Namespace>().Remove(name);
        const auto object = left.handle.store.Of<api::Namespace>().Get(name);
        if (object != nullptr) right.handle.store.Of<api::Namespace>().Set(object);
      }
      CheckFilter(*cluster, plugin, *cluster->Pending(), 1, seen);
      CheckScore(*cluster, plugin, *cluster->Pending(), 1, seen);
      ASSERT_FALSE(HasFailure()) << round;
    }
  }
}

TEST(InterPodAffinity, AnotherTableAtTheSamePlaceIsNotTakenForTheFirst) {
  testing::FakeHandle handle;
  const TestedPlugin plugin = CreateInterPodAffinity(config::InterPodAffinityArgs{}, handle);
  const auto term = testing::AffinityTerm("host", testing::Labels({{"app", "a"}}));
  const PodInfoPtr pod = MakePod("p").AntiAffinity(term).Info();
  std::optional<cache::ColumnNodeTable> table;
  for (int round = 0; round < 3; ++round) {
    table.emplace();
    table->SetNode(MakeNode("n").Label("host", "n").Build());
    // The first one has lived longest.
    if (round == 0) table->AddPod(MakePod("e").Label("app", "a").Node("n").Info());
    framework::CycleState state;
    const framework::Cycle cycle{*table, state, 1, Time{}};
    ASSERT_TRUE(plugin.PreFilter(cycle, *pod).status.IsSuccess());
    EXPECT_EQ(plugin.Filter(cycle, *pod, table->Info(0)).IsSuccess(), round > 0) << round;
  }
}

// Jobs: each pod of a class of its own, for a while.
TEST(InterPodAffinity, WhatNobodyHasAnyMoreIsForgotten) {
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;
  cache::PodClasses classes;
  table.SetNode(MakeNode("n").Label("host", "n").Build());
  const TestedPlugin plugin = CreateInterPodAffinity(config::InterPodAffinityArgs{}, handle);
  AffinityIndex index(handle.store.Of<api::Namespace>(), 1, 1);
  const auto make = [&](int i) {
    const auto term = testing::AffinityTerm("host", testing::Labels({{"job", std::to_string(i)}}));
    auto builder = MakePod("p" + std::to_string(i)).Label("job", std::to_string(i)).AntiAffinity(term);
    return builder.Node("n");
  };
  constexpr int kJobs = 3 * static_cast<int>(AffinityIndex::kDeadClassesMax);
  std::size_t most = 0;
  for (int i = 0; i < kJobs; ++i) {
    const PodInfoPtr pod = classes.MakePodInfo(make(i).Build());
    index.Sync(table);
    EXPECT_FALSE(index.CountsFor(pod->pod_class)->Any(CountKind::kExistingAntiAffinity));
    const NodeIndex row = table.AddPod(pod);
    index.Sync(table);
    const auto counts = index.CountsFor(pod->pod_class);
    ASSERT_TRUE(counts->Any(CountKind::kExistingAntiAffinity)) << i;
    ASSERT_TRUE(counts->Any(CountKind::kAntiAffinity)) << i;
    table.RemovePod(row, pod->uid);
    most = std::max(most, index.counts_count());
  }
  EXPECT_LE(most, 2 * AffinityIndex::kDeadClassesMax);
  index.Sync(table);
  EXPECT_FALSE(index.HasCarriers());
}

}  // namespace
}  // namespace berth::plugins
