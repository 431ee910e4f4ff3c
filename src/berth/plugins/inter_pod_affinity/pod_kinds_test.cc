// SPDX-License-Identifier: Apache-2.0
// Which classes share a kind, and that kinds tell what classes would.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/plugins/inter_pod_affinity/affinity_index.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using testing::AffinityTerm;
using testing::Labels;
using testing::MakeNode;
using testing::MakePod;
using KindId = PodKinds::KindId;

class PodKindsTest : public ::testing::Test {
 protected:
  PodKinds::ClassId Add(const testing::PodBuilder& pod) { return kinds.Add(pod.Info()->pod_class); }
  KindId KindOf(const testing::PodBuilder& pod) { return kinds.KindOf(Add(pod)); }
  void SetNamespace(const std::string& name, const std::string& team) {
    api::Namespace object;
    object.metadata.name = name;
    object.metadata.labels.Set("team", team);
    handle.store.Of<api::Namespace>().Set(std::make_shared<const api::Namespace>(std::move(object)));
  }
  static testing::PodBuilder App(const std::string& app) { return MakePod("p").Label("app", app); }
  static api::PodAffinityTerm InTeam(const std::string& team) {
    api::PodAffinityTerm term = AffinityTerm("host", Labels({{"color", "green"}}));
    term.namespace_selector = Labels({{"team", team}});
    return term;
  }

  testing::FakeHandle handle;
  PodKinds kinds{handle.store.Of<api::Namespace>()};
};

TEST_F(PodKindsTest, LabelsThatNoTermAsksForDoNotMatter) {
  const auto red = AffinityTerm("host", Labels({{"color", "red"}}));
  const KindId kind = KindOf(App("a").Label("color", "red").PreferredAffinity(1, red));
  EXPECT_EQ(KindOf(App("b").Label("color", "red").PreferredAffinity(1, red)), kind);
  EXPECT_NE(KindOf(App("b").Label("color", "red").PreferredAffinity(2, red)), kind);
  EXPECT_NE(KindOf(App("b").Label("color", "red").PreferredAntiAffinity(1, red)), kind);
  EXPECT_NE(KindOf(App("b").Label("color", "red").Affinity(red)), kind);
  EXPECT_NE(KindOf(App("b").Label("color", "blue").PreferredAffinity(1, red)), kind);
  EXPECT_NE(KindOf(App("b").Namespace("other").Label("color", "red").PreferredAffinity(1, red)), kind);
  EXPECT_EQ(KindOf(App("c")), KindOf(App("d").Label("color", "blue")));
  EXPECT_NE(KindOf(App("c")), KindOf(App("c").Label("color", "red")));
}

TEST_F(PodKindsTest, ANewTermSplitsAKind) {
  const auto a = Add(App("a")), b = Add(App("b")), other_b = Add(App("b").Label("tier", "web"));
  EXPECT_EQ(kinds.KindOf(a), kinds.KindOf(b));
  const auto carrier = Add(MakePod("p").AntiAffinity(AffinityTerm("host", Labels({{"app", "b"}}))));
  EXPECT_NE(kinds.KindOf(a), kinds.KindOf(b));
  EXPECT_EQ(kinds.KindOf(b), kinds.KindOf(other_b));
  EXPECT_TRUE(kinds.HasTerms(kinds.KindOf(carrier)));
  EXPECT_FALSE(kinds.HasTerms(kinds.KindOf(b)));
  // One that comes later joins the right one, and a term that tells nothing apart moves nobody.
  EXPECT_EQ(KindOf(App("b").Label("tier", "db")), kinds.KindOf(b));
  EXPECT_EQ(KindOf(App("c")), kinds.KindOf(a));
  const KindId before = kinds.KindOf(b);
  Add(MakePod("p").Affinity(AffinityTerm("zone", Labels({{"app", "b"}}))));
  EXPECT_EQ(kinds.KindOf(b), before);
  EXPECT_EQ(kinds.KindOf(other_b), before);
}

TEST_F(PodKindsTest, NamespacesOfOneTeamAreOneKind) {
  SetNamespace("x1", "x");
  SetNamespace("x2", "x");
  SetNamespace("y", "y");
  const auto pod = [](const std::string& name) {
    return MakePod("p").Namespace(name).Label("color", "green").AntiAffinity(InTeam("x"));
  };
  const KindId kind = KindOf(pod("x1"));
  EXPECT_EQ(KindOf(pod("x2")), kind);
  EXPECT_NE(KindOf(pod("y")), kind);
  EXPECT_FALSE(kinds.HaveNamespacesChanged());
  SetNamespace("z", "z");
  EXPECT_FALSE(kinds.HaveNamespacesChanged());
  SetNamespace("x2", "y");
  EXPECT_TRUE(kinds.HaveNamespacesChanged());
}

TEST_F(PodKindsTest, ANamespaceThatATermComesToChooseIsAChange) {
  SetNamespace("x1", "x");
  Add(MakePod("p").Namespace("x1").AntiAffinity(InTeam("x")));
  SetNamespace("x2", "x");
  EXPECT_TRUE(kinds.HaveNamespacesChanged());
}

// Terms that cannot be parsed count as what upstream says about them.
TEST_F(PodKindsTest, BrokenTermsAreAKind) {
  const auto broken = AffinityTerm("host", api::LabelSelector{{{"app", api::SelectorOperator::kUnknown, {}, "Odd"}}});
  const KindId kind = KindOf(App("a").Affinity(broken));
  EXPECT_EQ(KindOf(App("b").Affinity(broken)), kind);
  EXPECT_NE(KindOf(App("b").AntiAffinity(broken)), kind);
  EXPECT_NE(KindOf(App("b")), kind);
  EXPECT_FALSE(kinds.TermsOf(kind)->parsed.error.empty());
}

// Whatever comes in whatever order: each known term matches all classes of a kind or none, and classes of two kinds
// differ in their terms or in what matches them.
TEST_F(PodKindsTest, KindsAreWhatTermsDistinguish) {
  for (const char* name : {"red", "green"}) SetNamespace(name, name);
  Random random(7);
  const auto pick = [&](std::vector<std::string> from) { return from[random.Below(from.size())]; };
  std::vector<std::shared_ptr<const framework::PodClass>> classes;
  for (int i = 0; i < 300; ++i) {
    auto pod = MakePod("p").Namespace(pick({"red", "green", "blue"})).Label("app", pick({"a", "b", "c"}));
    if (random.Below(2) == 0) pod.Label("tier", pick({"1", "2"}));
    if (random.Below(12) == 0) {
      api::LabelSelector selector;
      if (random.Below(3) > 0)
        selector.requirements.push_back(testing::In("app", {pick({"a", "b"}), pick({"b", "c"})}));
      if (random.Below(3) == 0) selector.requirements.push_back(testing::NotIn("tier", {pick({"1", "2"})}));
      auto term = AffinityTerm("host", selector);
      if (random.Below(3) == 0) term.namespace_selector = api::LabelSelector{{testing::NotIn("team", {"red"})}};
      pod.AntiAffinity(term);
    }
    classes.push_back(pod.Info()->pod_class);
    const auto id = kinds.Add(classes.back());
    ASSERT_EQ(id, static_cast<PodKinds::ClassId>(i));
    ASSERT_EQ(kinds.Add(classes.back()), id);
  }
  std::set<const void*> seen;
  std::vector<std::shared_ptr<const framework::PodClass>> carriers;
  for (const auto& pod_class : classes) {
    if (!pod_class->spec.pod_anti_affinity.empty()) carriers.push_back(pod_class);
  }
  ASSERT_GT(carriers.size(), 10U);
  std::map<std::vector<int>, std::set<KindId>> kinds_of;
  for (PodKinds::ClassId id = 0; id < classes.size(); ++id) {
    std::vector<int> met = {
        static_cast<int>(kinds.TermsOf(kinds.KindOf(id))->required_anti_affinity.empty()
                             ? -1
                             : static_cast<int>(kinds.TermsOf(kinds.KindOf(id))->required_anti_affinity.front()))};
    for (const auto& carrier : carriers) {
      const api::Namespace* found = handle.store.Of<api::Namespace>().Find(classes[id]->namespace_name);
      PodTerms terms = ParseTerms(*carrier);
      met.push_back(terms.required_anti_affinity.front().Matches(
          *classes[id], found == nullptr ? NoLabels() : found->metadata.labels));
      MergeNamespaces(terms, handle.store.Of<api::Namespace>(), false);
      met.push_back(terms.required_anti_affinity.front().Matches(*classes[id], NoLabels()));
    }
    kinds_of[met].insert(kinds.KindOf(id));
  }
  std::set<KindId> all;
  for (const auto& [met, of] : kinds_of) {
    EXPECT_EQ(of.size(), 1U);
    EXPECT_TRUE(all.insert(*of.begin()).second);
  }
}

// Sums are shared as long as no term tells the classes apart.
TEST(AffinityIndex, ClassesOfOneKindShareTheirSums) {
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;
  for (const char* name : {"n1", "n2"}) table.SetNode(MakeNode(name).Label("host", name).Build());
  AffinityIndex index(handle.store.Of<api::Namespace>(), 1, 1);
  const auto green = AffinityTerm("host", Labels({{"color", "green"}}));
  const auto pod = [&](const std::string& app) { return MakePod(app).Label("app", app).Label("color", "green"); };
  const auto a = pod("a").AntiAffinity(green).Info()->pod_class, b = pod("b").AntiAffinity(green).Info()->pod_class;
  table.AddPod(pod("first").Node("n1").Info());
  index.Sync(table);
  const auto counts = index.CountsFor(a);
  EXPECT_EQ(counts, index.CountsFor(b));
  EXPECT_EQ(index.counts_count(), 1U);
  const Topology::KeyIndex host = index.topology().Find("host");
  const auto at = [&](const AffinityCounts& of, CountKind kind, const char* node) {
    return of.Get(kind, host, index.topology().FindOrdinal(host, node));
  };
  EXPECT_EQ(at(*counts, CountKind::kAntiAffinity, "n1"), 1);
  EXPECT_EQ(at(*counts, CountKind::kAntiAffinity, "n2"), 0);

  // A running pod that minds one of them alone.
  table.AddPod(MakePod("second").AntiAffinity(AffinityTerm("host", Labels({{"app", "b"}}))).Node("n2").Info());
  index.Sync(table);
  const auto counts_of_a = index.CountsFor(a);
  EXPECT_NE(counts_of_a, index.CountsFor(b));
  for (const auto& [pod_class, want] : {std::pair(a, 0), std::pair(b, 1)}) {
    const auto now = index.CountsFor(pod_class);
    EXPECT_EQ(at(*now, CountKind::kExistingAntiAffinity, "n2"), want);
    EXPECT_EQ(at(*now, CountKind::kExistingAntiAffinity, "n1"), 0);
    EXPECT_EQ(at(*now, CountKind::kAntiAffinity, "n1"), 1);
    EXPECT_EQ(at(*now, CountKind::kAntiAffinity, "n2"), 0);
  }
}

// A pod that was never seen running may part the classes in the middle of a cycle.
TEST(AffinityIndex, EffectsAreThoseOfTheClassThatIsAsked) {
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;
  table.SetNode(MakeNode("n1").Label("host", "n1").Build());
  AffinityIndex index(handle.store.Of<api::Namespace>(), 1, 1);
  const auto green = AffinityTerm("host", Labels({{"color", "green"}}));
  const auto a = MakePod("a").Label("app", "a").AntiAffinity(green).Info()->pod_class;
  const auto b = MakePod("b").Label("app", "b").AntiAffinity(green).Info()->pod_class;
  index.Sync(table);
  const auto counts = index.CountsFor(a);
  ASSERT_EQ(counts, index.CountsFor(b));
  const auto other = MakePod("c").AntiAffinity(AffinityTerm("host", Labels({{"app", "b"}}))).Info()->pod_class;
  EXPECT_TRUE(index.EffectsOf(*counts, a, other).empty());
  const auto effects = index.EffectsOf(*counts, b, other);
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(effects.front().kind, CountKind::kExistingAntiAffinity);
}

// Classes that are asked about and never run.
TEST(AffinityIndex, ClassesThatNeverRunAreForgotten) {
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;
  table.SetNode(MakeNode("n1").Label("host", "n1").Build());
  table.AddPod(MakePod("first").Label("job", "1").Node("n1").Info());
  AffinityIndex index(handle.store.Of<api::Namespace>(), 1, 1);
  index.Sync(table);
  const auto pod_class = [](int i) {
    const std::string job = std::to_string(i);
    return MakePod("p").Label("job", job).AntiAffinity(AffinityTerm("host", Labels({{"job", job}}))).Info()->pod_class;
  };
  for (int i = 0; i < 3 * static_cast<int>(AffinityIndex::kDeadClassesMax); ++i) {
    ASSERT_EQ(index.CountsFor(pod_class(i))->Any(CountKind::kAntiAffinity), i == 1) << i;
    ASSERT_LE(index.counts_count(), AffinityIndex::kDeadClassesMax + 10);
  }
  EXPECT_EQ(index.reset_count(), 3U);
  EXPECT_TRUE(index.CountsFor(pod_class(1))->Any(CountKind::kAntiAffinity));
}

// Few classes, of megabytes each.
TEST(AffinityIndex, LargeClassesThatNobodyRunsAreForgotten) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  testing::FakeHandle handle;
  cache::ColumnNodeTable table;
  table.SetNode(MakeNode("n1").Label("host", "n1").Build());
  AffinityIndex index(handle.store.Of<api::Namespace>(), 1, 1);
  std::vector<std::weak_ptr<const framework::PodClass>> classes;
  const auto held = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(classes, [](const auto& c) { return !c.expired(); }));
  };
  for (int i = 0; i < 100; ++i) {
    const auto large =
        std::make_shared<framework::PodClass>(*MakePod("p").Label("job", std::to_string(i)).Info()->pod_class);
    large->bytes = kBytes;
    classes.emplace_back(large);
    auto pod = std::make_shared<framework::PodInfo>(*MakePod("p").Node("n1").Info());
    pod->pod_class = large;
    table.AddPod(pod);
    index.Sync(table);
    table.RemovePod(0, pod->uid);
    index.Sync(table);
    ASSERT_LE(held(), AffinityIndex::kDeadBytesMax / kBytes + 2) << i;
  }
  index.DropIdle();
  index.Sync(table);
  EXPECT_LE(held(), AffinityIndex::kIdleDeadBytesMax / kBytes + 2);
}

}  // namespace
}  // namespace berth::plugins
