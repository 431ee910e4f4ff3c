// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <gtest/gtest.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using api::LabelSelector;
using api::PodAffinityTerm;
using framework::EventResource;
using framework::NodeIndex;
using framework::QueueingHint;
using testing::AffinityTerm;
using testing::Labels;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kAffinity = "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules";
constexpr const char* kAnti = "Unschedulable: node(s) didn't match pod anti-affinity rules";
constexpr const char* kExisting = "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

PodAffinityTerm Term(std::string key, std::optional<LabelSelector> selector) {
  return AffinityTerm(std::move(key), std::move(selector));
}
PodAffinityTerm In(PodAffinityTerm term, std::vector<std::string> namespaces,
                   std::optional<LabelSelector> namespace_selector = std::nullopt) {
  term.namespaces = std::move(namespaces);
  term.namespace_selector = std::move(namespace_selector);
  return term;
}
LabelSelector Web() { return Labels({{"app", "web"}}); }
PodAffinityTerm WebIn(const char* key) { return Term(key, Web()); }
testing::PodBuilder WebPod(std::string name) { return MakePod(std::move(name)).Label("app", "web"); }

void SetNamespace(testing::FakeHandle& handle, const std::string& name, api::StringMap labels) {
  api::Namespace object;
  object.metadata.name = name;
  object.metadata.labels = std::move(labels);
  handle.store.Of<api::Namespace>().Set(std::make_shared<const api::Namespace>(std::move(object)));
}

// Two zones: a1 and a2 in a, b1 in b, and a node without any label but its host name.
struct Fixture {
  explicit Fixture(config::InterPodAffinityArgs args = {}) : plugin(CreateInterPodAffinity(args, handle)) {
    SetNamespace(handle, "default", {{"team", "x"}});
    SetNamespace(handle, "other", {{"team", "y"}});
    for (const char* name : {"a1", "a2", "b1"}) {
      cluster.Add(MakeNode(name).Label("zone", std::string(name, 1)).Label("host", name));
    }
    cluster.Add(MakeNode("bare"));
  }

  // "a1 a2: verdict; b1: verdict", in the order of the nodes, of both forms; "skip" or PreFilter's refusal.
  std::string Decide(const testing::PodBuilder& builder) {
    const auto pod = builder.Info();
    cluster.Forget();
    const framework::Cycle cycle = cluster.cycle();
    const framework::Status prepared = plugin.PreFilter(cycle, *pod).status;
    if (prepared.IsSkip()) return "skip";
    if (!prepared.IsSuccess()) return TestCluster::Describe(prepared);
    framework::StatusTable statuses;
    std::vector<framework::VerdictId> verdicts(cluster.table().row_count());
    plugin.FilterRows(cycle, *pod, cluster.table().rows(), verdicts, statuses);
    std::string out;
    std::string last;
    for (const NodeIndex row : cluster.table().rows()) {
      const std::string name = cluster.table().Info(row).name();
      const std::string verdict = cluster.Filter(plugin, *pod, name);
      const std::string column = verdicts[row] == 0 ? "ok" : TestCluster::Describe(statuses.Get(verdicts[row]));
      EXPECT_EQ(verdict, column) << name;
      if (!last.empty() && verdict == last) {
        out.insert(out.rfind(": ", out.size() - verdict.size()), " " + name);
        continue;
      }
      out += (out.empty() ? "" : "; ") + name + ": " + verdict;
      last = verdict;
    }
    return out;
  }

  // Raw scores of the four nodes, and what becomes of them; empty: PreScore skips.
  struct Scored {
    std::vector<std::int64_t> raw, normalized;
  };
  Scored Score(const testing::PodBuilder& builder) {
    const auto pod = builder.Info();
    cluster.Forget();
    const framework::Cycle cycle = cluster.cycle();
    const bool skips = plugin.PreScoreSkips(cycle, *pod);
    const framework::Status prepared = plugin.PreScore(cycle, *pod, cluster.table().rows());
    EXPECT_EQ(skips, prepared.IsSkip());
    if (!prepared.IsSuccess()) return {};
    Scored scored;
    std::vector<std::int64_t> column(cluster.table().row_count());
    framework::Status status;
    plugin.ScoreRows(cycle, *pod, cluster.table().rows(), column, status);
    std::vector<framework::NodeScore> scores;
    for (const NodeIndex row : cluster.table().rows()) {
      scored.raw.push_back(plugin.Score(cycle, *pod, row, cluster.table().Info(row), status));
      EXPECT_EQ(scored.raw.back(), column[row]);
      scores.push_back({row, column[row]});
    }
    EXPECT_TRUE(plugin.NormalizeScore(cycle, *pod, scores).IsSuccess());
    for (const auto& score : scores) scored.normalized.push_back(score.score);
    EXPECT_TRUE(status.IsSuccess());
    return scored;
  }

  testing::FakeHandle handle;
  TestCluster cluster;
  TestedPlugin plugin;
};

std::string All(const char* verdict) { return std::string("a1 a2 b1 bare: ") + verdict; }

TEST(InterPodAffinity, Filter) {
  const auto web_anywhere = WebPod("e").Node("a1");
  const LabelSelector x = Labels({{"team", "x"}});
  const LabelSelector not_x{{testing::NotIn("team", {"x"})}};
  const struct {
    const char* name;
    std::vector<testing::PodBuilder> running;
    testing::PodBuilder pod;
    std::string want;
  } cases[] = {
      {"no terms anywhere", {web_anywhere}, MakePod("p"), "skip"},
      {"preferred terms alone", {web_anywhere}, MakePod("p").PreferredAffinity(1, WebIn("zone")), "skip"},

      {"affinity: the zone of a match",
       {web_anywhere},
       MakePod("p").Affinity(WebIn("zone")),
       std::string("a1 a2: ok; b1 bare: ") + kAffinity},
      {"affinity: the host of a match",
       {web_anywhere},
       MakePod("p").Affinity(WebIn("host")),
       std::string("a1: ok; a2 b1 bare: ") + kAffinity},
      {"affinity: nobody matches", {}, MakePod("p").Affinity(WebIn("zone")), All(kAffinity)},
      {"affinity: a terminating pod counts",
       {WebPod("e").Node("b1").Deleted(Time{})},
       MakePod("p").Affinity(WebIn("zone")),
       std::string("a1 a2: ") + kAffinity + "; b1: ok; bare: " + kAffinity},
      {"affinity: one pod has to match all terms",
       {web_anywhere, MakePod("f").Label("tier", "1").Node("a1")},
       MakePod("p").Affinity(WebIn("zone")).Affinity(Term("zone", Labels({{"tier", "1"}}))),
       All(kAffinity)},
      {"affinity: all keys, and a match in the domain of each",
       {WebPod("e").Label("tier", "1").Node("a1")},
       MakePod("p").Affinity(WebIn("zone")).Affinity(Term("host", Labels({{"tier", "1"}}))),
       std::string("a1: ok; a2 b1 bare: ") + kAffinity},
      {"affinity: the first of its own kind goes where the key is",
       {MakePod("e").Node("a1")},
       WebPod("p").Affinity(WebIn("zone")),
       std::string("a1 a2 b1: ok; bare: ") + kAffinity},
      {"affinity: the second does not",
       {WebPod("e").Node("b1")},
       WebPod("p").Affinity(WebIn("zone")),
       std::string("a1 a2: ") + kAffinity + "; b1: ok; bare: " + kAffinity},
      {"affinity: a match on a node without the key lets the pod be the first",
       {WebPod("e").Node("bare")},
       WebPod("p").Affinity(WebIn("zone")),
       std::string("a1 a2 b1: ok; bare: ") + kAffinity},
      {"affinity: a match on a node that is not there does not count",
       {WebPod("e").Node("gone")},
       MakePod("p").Affinity(WebIn("zone")),
       All(kAffinity)},
      {"affinity: the first matches itself in its namespace only",
       {},
       WebPod("p").Affinity(In(WebIn("zone"), {"other"})),
       All(kAffinity)},

      {"anti-affinity: not in the zone of a match",
       {web_anywhere},
       MakePod("p").AntiAffinity(WebIn("zone")),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"anti-affinity: any of the terms",
       {web_anywhere, MakePod("f").Label("tier", "1").Node("b1")},
       MakePod("p").AntiAffinity(WebIn("host")).AntiAffinity(Term("zone", Labels({{"tier", "1"}}))),
       std::string("a1: ") + kAnti + "; a2: ok; b1: " + kAnti + "; bare: ok"},
      {"anti-affinity: against itself alone does not matter", {}, WebPod("p").AntiAffinity(WebIn("zone")), All("ok")},

      {"existing: their anti-affinity",
       {MakePod("e").Node("a1").AntiAffinity(WebIn("zone"))},
       WebPod("p"),
       std::string("a1 a2: ") + kExisting + "; b1 bare: ok"},
      {"existing: theirs does not mean this pod",
       {MakePod("e").Node("a1").AntiAffinity(WebIn("zone"))},
       MakePod("p"),
       "skip"},
      {"existing: on a node without the key",
       {MakePod("e").Node("bare").AntiAffinity(WebIn("zone"))},
       WebPod("p"),
       "skip"},
      {"existing: their affinity does not filter",
       {MakePod("e").Node("a1").Affinity(WebIn("zone"))},
       WebPod("p"),
       "skip"},

      {"order: affinity, own anti-affinity, others' anti-affinity",
       {WebPod("e").Node("a1"), MakePod("f").Node("a1").AntiAffinity(Term("host", Labels({{"app", "p"}}))),
        WebPod("g").Node("b1"), MakePod("h").Node("b1").AntiAffinity(Term("host", Labels({{"app", "p"}})))},
       MakePod("p").Label("app", "p").Affinity(WebIn("zone")).AntiAffinity(Term("host", Labels({{"app", "none"}}))),
       std::string("a1: ") + kExisting + "; a2: ok; b1: " + kExisting + "; bare: " + kAffinity},
      {"order: own anti-affinity before others'",
       {WebPod("e").Node("a1").AntiAffinity(Term("host", Labels({{"app", "p"}})))},
       MakePod("p").Label("app", "p").AntiAffinity(WebIn("host")),
       std::string("a1: ") + kAnti + "; a2 b1 bare: ok"},

      {"selector: an absent one matches nobody",
       {web_anywhere},
       MakePod("p").AntiAffinity(Term("zone", std::nullopt)),
       All("ok")},
      {"selector: an empty one matches everybody",
       {MakePod("e").Node("a1")},
       MakePod("p").AntiAffinity(Term("zone", LabelSelector{})),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"selector: without an In requirement",
       {web_anywhere},
       MakePod("p").AntiAffinity(Term("zone", LabelSelector{{testing::Exists("app")}})),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"key: an empty one is on no node", {web_anywhere}, MakePod("p").Affinity(WebIn("")), All(kAffinity)},
      {"key: an empty one for anti-affinity", {web_anywhere}, MakePod("p").AntiAffinity(WebIn("")), All("ok")},

      {"namespaces: the pod's own by default",
       {WebPod("e").Namespace("other").Node("a1")},
       MakePod("p").AntiAffinity(WebIn("zone")),
       All("ok")},
      {"namespaces: listed ones",
       {WebPod("e").Namespace("other").Node("a1"), WebPod("f").Node("b1")},
       MakePod("p").AntiAffinity(In(WebIn("zone"), {"other", "third"})),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"namespaces: chosen by label",
       {WebPod("e").Namespace("other").Node("a1"), WebPod("f").Node("b1")},
       MakePod("p").Namespace("other").AntiAffinity(In(WebIn("zone"), {}, x)),
       std::string("a1 a2: ok; b1: ") + kAnti + "; bare: ok"},
      {"namespaces: listed or chosen",
       {WebPod("e").Namespace("other").Node("a1"), WebPod("f").Node("b1")},
       MakePod("p").AntiAffinity(In(WebIn("zone"), {"other"}, x)),
       std::string("a1 a2 b1: ") + kAnti + "; bare: ok"},
      {"namespaces: an empty selector is all of them, also unknown ones",
       {WebPod("e").Namespace("unknown").Node("a1")},
       MakePod("p").AntiAffinity(In(WebIn("zone"), {}, LabelSelector{})),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"namespaces: listed ones that are empty with a selector do not mean the pod's own",
       {WebPod("e").Node("a1")},
       MakePod("p").AntiAffinity(In(WebIn("zone"), {}, Labels({{"team", "nobody"}}))),
       All("ok")},
      {"namespaces: NotIn matches everywhere for an incoming pod, as if there were no labels",
       {WebPod("e").Node("a1")},
       MakePod("p").AntiAffinity(In(WebIn("zone"), {}, not_x)),
       std::string("a1 a2: ") + kAnti + "; b1 bare: ok"},
      {"namespaces: but not for terms of running pods, where labels are known",
       {MakePod("e").Node("a1").AntiAffinity(In(WebIn("zone"), {}, not_x))},
       WebPod("p"),
       "skip"},
      {"namespaces: of running pods, chosen by label",
       {MakePod("e").Namespace("other").Node("a1").AntiAffinity(In(WebIn("zone"), {}, x))},
       WebPod("p"),
       std::string("a1 a2: ") + kExisting + "; b1 bare: ok"},
      {"namespaces: one that does not exist has no labels",
       {MakePod("e").Node("a1").AntiAffinity(In(WebIn("zone"), {}, x)),
        MakePod("f").Node("b1").AntiAffinity(In(WebIn("zone"), {}, not_x))},
       WebPod("p").Namespace("unknown"),
       std::string("a1 a2: ok; b1: ") + kExisting + "; bare: ok"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Fixture fixture;
    for (const auto& running : test.running) fixture.cluster.Add(running);
    EXPECT_EQ(fixture.Decide(test.pod), test.want);
  }
}

TEST(InterPodAffinity, SelectorsThatDoNotParse) {
  LabelSelector broken;
  broken.requirements = {{"app", api::SelectorOperator::kUnknown, {"web"}, "Foo"}};
  LabelSelector empty_in;
  empty_in.requirements = {{"app", api::SelectorOperator::kIn, {}, ""}};
  const std::string foo = "\"Foo\" is not a valid label selector operator";
  const std::string empty = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::string want;
  } cases[] = {
      {"affinity", MakePod("p").Affinity(Term("zone", broken)), "requiredAffinityTerms: " + foo},
      {"anti-affinity", MakePod("p").AntiAffinity(Term("zone", empty_in)), "requiredAntiAffinityTerms: " + empty},
      {"namespace selector", MakePod("p").AntiAffinity(In(WebIn("zone"), {}, broken)),
       "requiredAntiAffinityTerms: " + foo},
      {"preferred", MakePod("p").PreferredAffinity(1, Term("zone", broken)), "preferredAffinityTerms: " + foo},
      {"all of them",
       MakePod("p")
           .Affinity(Term("zone", broken))
           .AntiAffinity(Term("zone", empty_in))
           .PreferredAffinity(1, Term("zone", empty_in))
           .PreferredAntiAffinity(1, Term("zone", broken)),
       "[requiredAffinityTerms: " + foo + ", requiredAntiAffinityTerms: " + empty +
           ", preferredAffinityTerms: " + empty + ", preferredAntiAffinityTerms: " + foo + "]"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Fixture fixture;
    EXPECT_EQ(fixture.Decide(test.pod), "UnschedulableAndUnresolvable: parsing pod: " + test.want);
    const auto pod = test.pod.Info();
    EXPECT_FALSE(fixture.plugin.PreScoreSkips(fixture.cluster.cycle(), *pod));
    const framework::Status status = fixture.plugin.PreScore(fixture.cluster.cycle(), *pod, {});
    EXPECT_EQ(TestCluster::Describe(status), "Error: failed to parse pod: " + test.want);
  }
  // Of a running pod the list with the fault counts for nothing, the others do.
  Fixture fixture;
  fixture.cluster.Add(MakePod("e").Node("a1").AntiAffinity(WebIn("host")).PreferredAffinity(1, Term("zone", broken)));
  fixture.cluster.Add(MakePod("f").Node("b1").AntiAffinity(WebIn("zone")).AntiAffinity(Term("zone", broken)));
  EXPECT_EQ(fixture.Decide(WebPod("p")), std::string("a1: ") + kExisting + "; a2 b1 bare: ok");
}

TEST(InterPodAffinity, WithoutPreparation) {
  Fixture fixture;
  const auto pod = MakePod("p").Info();
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "a1"),
            "Error: error reading \"PreFilterInterPodAffinity\" from cycleState: not found");
  const auto& node = fixture.cluster.Node("a1");
  EXPECT_EQ(TestCluster::Describe(fixture.plugin.AddPod(fixture.cluster.cycle(), *pod, *pod, node)),
            "Error: error reading \"PreFilterInterPodAffinity\" from cycleState: not found");
  framework::Status status;
  fixture.plugin.Score(fixture.cluster.cycle(), *pod, 0, node, status);
  EXPECT_EQ(TestCluster::Describe(status),
            "Error: failed to read \"PreScoreInterPodAffinity\" from cycleState: not found");
}

TEST(InterPodAffinity, PodsThatComeAndGoOnACopyOfTheState) {
  Fixture fixture;
  fixture.cluster.Add(WebPod("e").Node("a1"));
  fixture.cluster.Add(MakePod("f").Node("b1").AntiAffinity(Term("zone", Labels({{"app", "p"}}))));
  const auto pod = MakePod("p").Label("app", "p").Affinity(WebIn("zone")).AntiAffinity(Term("host", Web())).Info();
  const framework::Cycle cycle = fixture.cluster.cycle();
  ASSERT_TRUE(fixture.plugin.PreFilter(cycle, *pod).status.IsSuccess());
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "a1"), kAnti);
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "b1"), kAffinity);

  framework::CycleState copy = fixture.cluster.state().Clone();
  const framework::Cycle other{fixture.cluster.table(), copy, 1, Time{}};
  const auto said = [&](const char* node) {
    return TestCluster::Describe(fixture.plugin.Filter(other, *pod, fixture.cluster.Node(node)));
  };
  const auto add = [&](const testing::PodBuilder& who, const char* node) {
    EXPECT_TRUE(fixture.plugin.AddPod(other, *pod, *who.Info(), fixture.cluster.Node(node)).IsSuccess());
  };
  const auto remove = [&](const testing::PodBuilder& who, const char* node) {
    EXPECT_TRUE(fixture.plugin.RemovePod(other, *pod, *who.Info(), fixture.cluster.Node(node)).IsSuccess());
  };
  add(WebPod("g"), "b1");
  EXPECT_EQ(said("b1"), kAnti);
  remove(WebPod("g"), "b1");
  EXPECT_EQ(said("b1"), kAffinity);
  add(WebPod("g"), "a2");
  remove(WebPod("e"), "a1");
  EXPECT_EQ(said("a1"), "ok");
  EXPECT_EQ(said("a2"), kAnti);
  // A term with a key that nobody has used so far.
  add(MakePod("h").AntiAffinity(Term("kubernetes.io/hostname", Labels({{"app", "p"}}))), "a1");
  EXPECT_EQ(said("a1"), kExisting);
  EXPECT_EQ(said("a2"), kAnti);
  // The copy's changes are its own.
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "a1"), kAnti);
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "b1"), kAffinity);

  // When the last match goes, a pod that matches itself may be the first of its kind; when one comes, no longer.
  const auto own = WebPod("q").Affinity(WebIn("zone")).Info();
  fixture.cluster.Forget();
  ASSERT_TRUE(fixture.plugin.PreFilter(fixture.cluster.cycle(), *own).status.IsSuccess());
  framework::CycleState state = fixture.cluster.state().Clone();
  const framework::Cycle without{fixture.cluster.table(), state, 1, Time{}};
  const auto& a1 = fixture.cluster.Node("a1");
  const auto& b1 = fixture.cluster.Node("b1");
  ASSERT_TRUE(fixture.plugin.RemovePod(without, *own, *WebPod("e").Info(), a1).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(fixture.plugin.Filter(without, *own, b1)), "ok");
  ASSERT_TRUE(fixture.plugin.AddPod(without, *own, *WebPod("e").Info(), a1).IsSuccess());
  EXPECT_EQ(TestCluster::Describe(fixture.plugin.Filter(without, *own, b1)), kAffinity);
}

TEST(InterPodAffinity, Score) {
  using Values = std::vector<std::int64_t>;
  const config::InterPodAffinityArgs weight5{.hard_pod_affinity_weight = 5};
  const config::InterPodAffinityArgs weight0{.hard_pod_affinity_weight = 0};
  const config::InterPodAffinityArgs ignoring{.ignore_preferred_terms_of_existing_pods = true};
  const auto tier = Labels({{"tier", "1"}});
  const struct {
    const char* name;
    config::InterPodAffinityArgs args;
    std::vector<testing::PodBuilder> running;
    testing::PodBuilder pod;
    Values raw, normalized;
  } cases[] = {
      {"nobody has terms", {}, {WebPod("e").Node("a1")}, WebPod("p"), {}, {}},
      {"preferred affinity",
       {},
       {WebPod("e").Node("a1"), WebPod("f").Node("b1"), WebPod("g").Node("b1")},
       MakePod("p").PreferredAffinity(4, WebIn("zone")),
       {4, 4, 8, 0},
       {50, 50, 100, 0}},
      {"preferred anti-affinity",
       {},
       {WebPod("e").Node("a1")},
       MakePod("p").PreferredAntiAffinity(3, WebIn("host")),
       {-3, 0, 0, 0},
       {0, 100, 100, 100}},
      {"each term for itself",
       {},
       {WebPod("e").Label("tier", "1").Node("a1")},
       MakePod("p").PreferredAffinity(4, WebIn("zone")).PreferredAffinity(3, Term("host", tier)),
       {7, 4, 0, 0},
       {100, 57, 0, 0}},
      {"no match", {}, {MakePod("e").Node("a1")}, MakePod("p").PreferredAffinity(4, WebIn("zone")), {}, {}},
      {"a match on a node without the key",
       {},
       {WebPod("e").Node("bare")},
       MakePod("p").PreferredAffinity(4, WebIn("zone")),
       {},
       {}},
      {"weights that cancel out still score",
       {},
       {WebPod("e").Node("a1")},
       MakePod("p").PreferredAffinity(4, WebIn("zone")).PreferredAntiAffinity(4, WebIn("zone")),
       {0, 0, 0, 0},
       {0, 0, 0, 0}},
      {"required affinity of running pods counts 1",
       {},
       {MakePod("e").Node("a1").Affinity(WebIn("zone"))},
       WebPod("p"),
       {1, 1, 0, 0},
       {100, 100, 0, 0}},
      {"or hardPodAffinityWeight",
       weight5,
       {MakePod("e").Node("a1").Affinity(WebIn("zone"))},
       WebPod("p"),
       {5, 5, 0, 0},
       {100, 100, 0, 0}},
      {"or nothing", weight0, {MakePod("e").Node("a1").Affinity(WebIn("zone"))}, WebPod("p"), {}, {}},
      {"required anti-affinity of running pods does not score",
       {},
       {MakePod("e").Node("a1").AntiAffinity(WebIn("zone"))},
       WebPod("p"),
       {},
       {}},
      {"preferred terms of running pods",
       {},
       {MakePod("e").Node("a1").PreferredAffinity(10, WebIn("zone")),
        MakePod("f").Node("a2").PreferredAntiAffinity(4, WebIn("host"))},
       WebPod("p"),
       {10, 6, 0, 0},
       {100, 60, 0, 0}},
      {"are ignored for pods without preferred terms",
       ignoring,
       {MakePod("e").Node("a1").PreferredAffinity(10, WebIn("zone"))},
       WebPod("p"),
       {},
       {}},
      {"so are required ones, as upstream has it",
       ignoring,
       {MakePod("e").Node("a1").Affinity(WebIn("zone"))},
       WebPod("p").Affinity(WebIn("zone")),
       {},
       {}},
      {"but not for pods with some",
       ignoring,
       {WebPod("e").Node("a1").PreferredAffinity(10, WebIn("zone"))},
       WebPod("p").PreferredAffinity(1, WebIn("host")),
       {11, 10, 0, 0},
       {100, 90, 0, 0}},
      {"namespaces as for the filter",
       {},
       {MakePod("e").Namespace("other").Node("a1").PreferredAffinity(
            2, In(WebIn("zone"), {}, LabelSelector{{testing::NotIn("team", {"x"})}})),
        WebPod("f").Namespace("other").Node("b1")},
       WebPod("p").PreferredAffinity(3, In(WebIn("zone"), {}, Labels({{"team", "y"}}))),
       {0, 0, 3, 0},
       {0, 0, 100, 0}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Fixture fixture(test.args);
    for (const auto& running : test.running) fixture.cluster.Add(running);
    const auto scored = fixture.Score(test.pod);
    EXPECT_EQ(scored.raw, test.raw);
    EXPECT_EQ(scored.normalized, test.normalized);
  }
}

TEST(InterPodAffinity, NormalizesInFloatingPointAsUpstream) {
  Fixture fixture;
  fixture.cluster.Add(WebPod("e").Node("a1"));
  const auto pod = MakePod("p").PreferredAffinity(1, WebIn("zone")).Info();
  ASSERT_TRUE(fixture.plugin.PreScore(fixture.cluster.cycle(), *pod, {}).IsSuccess());
  const auto normalized = [&](std::vector<std::int64_t> raw) {
    std::vector<framework::NodeScore> scores;
    for (const std::int64_t score : raw) scores.push_back({0, score});
    EXPECT_TRUE(fixture.plugin.NormalizeScore(fixture.cluster.cycle(), *pod, scores).IsSuccess());
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = scores[i].score;
    return raw;
  };
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(normalized({}), Values());
  EXPECT_EQ(normalized({7, 7}), Values({0, 0}));
  EXPECT_EQ(normalized({0, -29, -100}), Values({100, 71, 0}));
  // 100.0 * (29.0 / 100.0) is 28.999999999999996.
  EXPECT_EQ(normalized({0, 29, 100}), Values({0, 28, 100}));
  EXPECT_EQ(normalized({0, 57, 100, 3, 58}), Values({0, 56, 100, 3, 57}));
  // The same where few distinct scores are looked up.
  Values many(200, 0);
  many[7] = 29;
  many[9] = 100;
  Values want(200, 0);
  want[7] = 28;
  want[9] = 100;
  EXPECT_EQ(normalized(many), want);
}

TEST(InterPodAffinity, FollowsChangesOfNamespaces) {
  Fixture fixture;
  fixture.cluster.Add(WebPod("e").Namespace("other").Node("a1"));
  fixture.cluster.Add(
      MakePod("f").Node("b1").AntiAffinity(In(Term("zone", Labels({{"app", "p"}})), {}, Labels({{"team", "x"}}))));
  const auto pod = MakePod("p").Label("app", "p").AntiAffinity(In(WebIn("host"), {}, Labels({{"team", "y"}})));
  const std::string both = std::string("a1: ") + kAnti + "; a2: ok; b1: " + kExisting + "; bare: ok";
  EXPECT_EQ(fixture.Decide(pod), both);
  SetNamespace(fixture.handle, "third", {{"team", "z"}});
  EXPECT_EQ(fixture.Decide(pod), both);
  SetNamespace(fixture.handle, "other", {});
  EXPECT_EQ(fixture.Decide(pod), std::string("a1 a2: ok; b1: ") + kExisting + "; bare: ok");
  fixture.handle.store.Of<api::Namespace>().Remove("default");
  EXPECT_EQ(fixture.Decide(pod), All("ok"));
  SetNamespace(fixture.handle, "default", {{"team", "x"}});
  SetNamespace(fixture.handle, "other", {{"team", "y"}});
  EXPECT_EQ(fixture.Decide(pod), both);
}

TEST(InterPodAffinity, ReadsNamespaces) {
  const Fixture fixture;
  EXPECT_EQ(fixture.plugin.ObjectsRead(), std::vector{framework::ObjectKind::kNamespace});
}

TEST(InterPodAffinity, HintsAfterPodChanges) {
  using namespace framework::action;
  Fixture fixture;
  const auto tier = Term("zone", Labels({{"tier", "1"}}));
  const auto near = MakePod("p").Affinity(WebIn("zone")).Affinity(tier).Info();
  const auto far = MakePod("p").AntiAffinity(WebIn("zone")).AntiAffinity(tier).Info();
  const auto plain = MakePod("p").Label("app", "p").Info();
  LabelSelector broken;
  broken.requirements = {{"app", api::SelectorOperator::kUnknown, {"web"}, "Foo"}};
  const auto unparsed = MakePod("p").AntiAffinity(Term("zone", broken)).Info();
  const auto unparsed_preference = MakePod("p").PreferredAffinity(1, Term("zone", broken)).Info();
  const auto both = WebPod("e").Label("tier", "1").Node("a1").Info();
  const auto nominated = WebPod("e").Label("tier", "1").Nominated("a1").Info();
  const auto pending = WebPod("e").Label("tier", "1").Info();
  const auto web = WebPod("e").Node("a1").Info();
  const auto plain_there = MakePod("e").Node("a1").Info();
  const auto self = WebPod("p").Affinity(WebIn("zone")).Info();
  const auto elsewhere = WebPod("e").Namespace("other").Label("tier", "1").Node("a1").Info();
  const auto hater = MakePod("e").Node("a1").AntiAffinity(Term("zone", Labels({{"app", "p"}}))).Info();
  const auto half_hater =
      MakePod("e").Node("a1").AntiAffinity(Term("zone", Labels({{"app", "p"}}))).AntiAffinity(WebIn("zone")).Info();
  const auto selecting = [](LabelSelector selector) {
    return MakePod("p").Affinity(In(WebIn("zone"), {}, std::move(selector))).Info();
  };
  constexpr auto kQueue = QueueingHint::kQueue;
  constexpr auto kSkip = QueueingHint::kSkip;
  const struct {
    const char* name;
    framework::ActionType action;
    framework::PodInfoPtr pod, before, after;
    QueueingHint want;
  } cases[] = {
      {"add: matches all affinity terms", kAdd, near, nullptr, both, kQueue},
      {"add: nominated", kAdd, near, nullptr, nominated, kQueue},
      {"add: matches one of two terms", kAdd, near, nullptr, web, kSkip},
      {"add: not placed", kAdd, near, nullptr, pending, kSkip},
      {"add: another namespace", kAdd, near, nullptr, elsewhere, kSkip},
      {"add: matches anti-affinity", kAdd, far, nullptr, both, kSkip},
      {"add: no terms", kAdd, plain, nullptr, both, kSkip},
      {"add: a namespace that is selected", kAdd, selecting(Labels({{"team", "x"}})), nullptr, web, kQueue},
      {"add: a namespace selector for all", kAdd, selecting({}), nullptr, web, kQueue},
      {"add: terms that do not parse", kAdd, unparsed, nullptr, web, kQueue},
      {"add: preferred terms are not looked at", kAdd, unparsed_preference, nullptr, web, kSkip},
      {"label: own", kUpdatePodLabel, plain, plain, plain, kQueue},
      {"label: begins to match", kUpdatePodLabel, near, web, both, kQueue},
      {"label: matched before", kUpdatePodLabel, near, both, both, kSkip},
      {"label: no longer matches affinity", kUpdatePodLabel, near, both, web, kSkip},
      {"label: no longer matches anti-affinity", kUpdatePodLabel, far, both, web, kQueue},
      {"label: begins to match anti-affinity", kUpdatePodLabel, far, web, both, kSkip},
      {"label: not placed", kUpdatePodLabel, near, pending, pending, kSkip},
      {"delete: matched all anti-affinity terms", kDelete, far, both, nullptr, kQueue},
      {"delete: matched one of two", kDelete, far, web, nullptr, kQueue},
      {"label: no longer matches one of two", kUpdatePodLabel, far, web, plain_there, kQueue},
      {"delete: the last that a pod of its kind could be with", kDelete, self, both, nullptr, kQueue},
      {"delete: not placed", kDelete, far, pending, nullptr, kSkip},
      {"delete: matched affinity", kDelete, near, both, nullptr, kSkip},
      {"delete: its anti-affinity meant the pod", kDelete, plain, hater, nullptr, kQueue},
      {"delete: one of its two terms did", kDelete, plain, half_hater, nullptr, kQueue},
      {"delete: its terms do not parse", kDelete, plain, MakePod("e").Node("a1").AntiAffinity(Term("", broken)).Info(),
       nullptr, kQueue},
  };
  for (const auto& test : cases) {
    const EventResource resource =
        test.pod == test.after ? EventResource::kUnschedulablePod : EventResource::kAssignedPod;
    EXPECT_EQ(HintFor(fixture.plugin, {resource, test.action}, *test.pod,
                      {.old_pod = test.before.get(), .new_pod = test.after.get()}),
              test.want)
        << test.name;
  }
}

TEST(InterPodAffinity, HintsAfterNodeChanges) {
  using namespace framework::action;
  Fixture fixture;
  const auto near = MakePod("p").Affinity(WebIn("zone")).Info();
  const auto far = MakePod("p").AntiAffinity(WebIn("zone")).Info();
  const auto both = MakePod("p").Affinity(WebIn("zone")).AntiAffinity(WebIn("zone")).Info();
  const auto plain = MakePod("p").Info();
  LabelSelector broken;
  broken.requirements = {{"app", api::SelectorOperator::kUnknown, {"web"}, "Foo"}};
  const auto unparsed = MakePod("p").Affinity(Term("zone", broken)).Info();
  const auto bare = MakeNode("n").Build();
  const auto a = MakeNode("n").Label("zone", "a").Build();
  const auto b = MakeNode("n").Label("zone", "b").Build();
  constexpr auto kQueue = QueueingHint::kQueue;
  constexpr auto kSkip = QueueingHint::kSkip;
  const struct {
    const char* name;
    framework::ActionType action;
    framework::PodInfoPtr pod;
    std::shared_ptr<const api::Node> before, after;
    QueueingHint want;
  } cases[] = {
      {"affinity: added with the key", kAdd, near, nullptr, a, kQueue},
      {"affinity: added without the key", kAdd, near, nullptr, bare, kSkip},
      {"affinity: gets the key", kUpdateNodeLabel, near, bare, a, kQueue},
      {"affinity: gets another value", kUpdateNodeLabel, near, b, a, kQueue},
      {"affinity: keeps the value", kUpdateNodeLabel, near, a, a, kSkip},
      {"affinity: loses the key", kUpdateNodeLabel, near, a, bare, kSkip},
      {"anti-affinity: any node added", kAdd, far, nullptr, bare, kQueue},
      {"anti-affinity: gets the key", kUpdateNodeLabel, far, bare, a, kSkip},
      {"anti-affinity: gets another value", kUpdateNodeLabel, far, b, a, kQueue},
      {"anti-affinity: keeps the value", kUpdateNodeLabel, far, a, a, kSkip},
      {"anti-affinity: loses the key", kUpdateNodeLabel, far, a, bare, kQueue},
      {"affinity and anti-affinity: any node added", kAdd, both, nullptr, bare, kQueue},
      {"refused by others' terms: any node added", kAdd, plain, nullptr, a, kQueue},
      {"refused by others' terms: gets another value", kUpdateNodeLabel, plain, b, a, kSkip},
      {"terms that do not parse", kUpdateNodeLabel, unparsed, a, a, kQueue},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kNode, test.action}, *test.pod,
                      {.old_node = test.before.get(), .new_node = test.after.get()}),
              test.want)
        << test.name;
  }
  // Everything else does not concern it.
  EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kNode, kUpdateNodeTaint}, *far, {.new_node = a.get()}), kSkip);
  // A node that is deleted takes its pods along, and what their terms refuse.
  const auto deleted = [&](const framework::PodInfo& pod, const std::vector<framework::PodInfoPtr>& pods) {
    return HintFor(fixture.plugin, {EventResource::kNode, kDelete}, pod, {.old_node = a.get(), .old_node_pods = pods});
  };
  EXPECT_EQ(deleted(*far, {}), kQueue);
  EXPECT_EQ(deleted(*near, {}), kSkip);
  EXPECT_EQ(deleted(*WebPod("p").Affinity(WebIn("zone")).Info(), {}), kQueue) << "nobody is left to be with";
  EXPECT_EQ(deleted(*plain, {MakePod("e").Node("n").Info()}), kSkip);
  EXPECT_EQ(deleted(*WebPod("p").Info(), {MakePod("e").Node("n").AntiAffinity(WebIn("zone")).Info()}), kQueue);
}

TEST(InterPodAffinity, HintsAfterNamespaceChanges) {
  using namespace framework::action;
  Fixture fixture;
  const auto with = [](const char* name, const char* team) -> framework::AnyObject {
    auto made = std::make_shared<api::Namespace>();
    made->metadata.name = name;
    if (team != nullptr) made->metadata.labels = {{"team", team}};
    return std::shared_ptr<const api::Namespace>(made);
  };
  const auto hint = [&](const testing::PodBuilder& pod, const framework::AnyObject* before,
                        const framework::AnyObject* after) {
    return HintFor(fixture.plugin, {EventResource::kNamespace, kUpdate}, *pod.Info(),
                   {.old_object = before, .new_object = after});
  };
  const auto x = with("other", "x");
  const auto y = with("other", "y");
  const auto bare = with("other", nullptr);
  const auto near = MakePod("p").Affinity(In(WebIn("zone"), {}, Labels({{"team", "x"}})));
  const auto far = MakePod("p").AntiAffinity(In(WebIn("zone"), {}, Labels({{"team", "x"}})));
  EXPECT_EQ(hint(near, &y, &x), QueueingHint::kQueue);
  EXPECT_EQ(hint(near, nullptr, &x), QueueingHint::kQueue);
  EXPECT_EQ(hint(far, &x, &bare), QueueingHint::kQueue);
  EXPECT_EQ(hint(far, &x, nullptr), QueueingHint::kQueue);
  EXPECT_EQ(hint(near, &y, &bare), QueueingHint::kSkip) << "not selected before and after";
  EXPECT_EQ(hint(near, &x, &x), QueueingHint::kSkip);
  EXPECT_EQ(hint(MakePod("p").Affinity(WebIn("zone")), &y, &x), QueueingHint::kSkip) << "no selector";
}

}  // namespace
}  // namespace berth::plugins
