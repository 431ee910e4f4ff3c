// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_affinity/node_affinity.h"

#include <gtest/gtest.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::DoesNotExist;
using testing::Exists;
using testing::Gt;
using testing::In;
using testing::Lt;
using testing::MakeNode;
using testing::MakePod;
using testing::NotIn;
using testing::Term;

constexpr const char* kRefused = "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";

testing::NodeBuilder SsdNode() { return MakeNode("n").Label("disk", "ssd").Label("gen", "3"); }

TestedPlugin Affinity(std::optional<api::NodeAffinity> added = std::nullopt) {
  testing::FakeHandle handle;
  return CreateNodeAffinity({std::move(added)}, handle);
}

TEST(NodeAffinity, Filter) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    const char* want;
  } cases[] = {
      {"selector matches", MakePod("p").NodeSelector("disk", "ssd"), "ok"},
      {"selector with another value", MakePod("p").NodeSelector("disk", "hdd"), kRefused},
      {"one label of two", MakePod("p").NodeSelector("disk", "ssd").NodeSelector("zone", "a"), kRefused},
      {"In", MakePod("p").RequiredTerms({Term({In("disk", {"hdd", "ssd"})})}), "ok"},
      {"NotIn an absent label", MakePod("p").RequiredTerms({Term({NotIn("zone", {"a"})})}), "ok"},
      {"Exists and DoesNotExist", MakePod("p").RequiredTerms({Term({Exists("disk"), DoesNotExist("zone")})}), "ok"},
      {"Gt", MakePod("p").RequiredTerms({Term({Gt("gen", "2")})}), "ok"},
      {"Lt", MakePod("p").RequiredTerms({Term({Lt("gen", "3")})}), kRefused},
      {"Gt of a label that is no number", MakePod("p").RequiredTerms({Term({Gt("disk", "2")})}), kRefused},
      {"terms are alternatives", MakePod("p").RequiredTerms({Term({Exists("zone")}), Term({Exists("disk")})}), "ok"},
      {"no term at all", MakePod("p").RequiredTerms({}), kRefused},
      {"an empty term", MakePod("p").RequiredTerms({Term({})}), kRefused},
      {"a term that does not validate", MakePod("p").RequiredTerms({Term({DoesNotExist("zone"), Gt("gen", "x")})}),
       kRefused},
      {"name", MakePod("p").RequiredTerms({Term({}, {In("metadata.name", {"n"})})}), "ok"},
      {"not this name", MakePod("p").RequiredTerms({Term({}, {NotIn("metadata.name", {"n"})})}), kRefused},
      {"two names are one too many", MakePod("p").RequiredTerms({Term({}, {In("metadata.name", {"n", "m"})})}),
       kRefused},
      {"selector and affinity", MakePod("p").NodeSelector("disk", "hdd").RequiredTerms({Term({Exists("disk")})}),
       kRefused},
  };
  const TestedPlugin plugin = Affinity();
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({SsdNode()});
    const auto pod = test.pod.Info();
    EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), test.want) << "without PreFilter";
    EXPECT_FALSE(plugin.PreFilter(cluster.cycle(), *pod).status.IsSkip());
    EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), test.want);
  }
}

TEST(NodeAffinity, PreFilterNarrowsToNamedNodes) {
  using Names = std::optional<std::set<std::string>>;
  const auto named = [](std::vector<std::string> names) { return Term({}, {In("metadata.name", std::move(names))}); };
  const struct {
    const char* name;
    testing::PodBuilder pod;
    const char* want_status;
    Names want_names;
  } cases[] = {
      {"nothing asked", MakePod("p"), "Skip", {}},
      {"preferences alone", MakePod("p").Preferred(1, Term({Exists("disk")})), "Skip", {}},
      {"a selector", MakePod("p").NodeSelector("disk", "ssd"), "ok", {}},
      {"one name", MakePod("p").RequiredTerms({named({"a"})}), "ok", Names({"a"})},
      {"names of terms add up", MakePod("p").RequiredTerms({named({"a"}), named({"b"})}), "ok", Names({"a", "b"})},
      {"a term without name allows all", MakePod("p").RequiredTerms({named({"a"}), Term({Exists("disk")})}), "ok", {}},
      {"names in a term intersect",
       MakePod("p").RequiredTerms({Term({}, {In("metadata.name", {"a", "b"}), In("metadata.name", {"b", "c"})})}), "ok",
       Names({"b"})},
      {"no name is left",
       MakePod("p").RequiredTerms({Term({}, {In("metadata.name", {"a"}), In("metadata.name", {"b"})})}),
       "UnschedulableAndUnresolvable: pod affinity terms conflict",
       {}},
      {"no term", MakePod("p").RequiredTerms({}), "ok", {}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster;
    const auto result = Affinity().PreFilter(cluster.cycle(), *test.pod.Info());
    EXPECT_EQ(TestCluster::Describe(result.status), test.want_status);
    EXPECT_EQ(result.node_names, test.want_names);
  }
}

TEST(NodeAffinity, AddedAffinityOfTheProfile) {
  api::NodeAffinity added;
  added.required = {Term({Exists("disk")})};
  added.preferred = {{10, Term({In("gen", {"3"})})}};
  const TestedPlugin plugin = Affinity(added);
  TestCluster cluster({SsdNode(), MakeNode("m")});
  const auto pod = MakePod("p").Info();
  EXPECT_FALSE(plugin.PreFilter(cluster.cycle(), *pod).status.IsSkip());
  EXPECT_EQ(cluster.Filter(plugin, *pod, "n"), "ok");
  EXPECT_EQ(cluster.Filter(plugin, *pod, "m"),
            "UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity");
  EXPECT_TRUE(plugin.PreScore(cluster.cycle(), *pod, {}).IsSuccess());
  EXPECT_EQ(cluster.Score(plugin, *pod, "n"), 10);
  EXPECT_EQ(cluster.Score(plugin, *MakePod("p").Preferred(5, Term({Exists("disk")})).Info(), "n"), 15);
}

TEST(NodeAffinity, ScoreSumsWeights) {
  TestCluster cluster({SsdNode()});
  const auto pod = MakePod("p")
                       .Preferred(5, Term({Exists("disk")}))
                       .Preferred(7, Term({Exists("zone")}))
                       .Preferred(20, Term({}))
                       .Preferred(0, Term({Exists("disk")}))
                       .Preferred(1, Term({}, {In("metadata.name", {"n"})}))
                       .Info();
  EXPECT_TRUE(Affinity().PreScore(cluster.cycle(), *pod, {}).IsSuccess());
  EXPECT_EQ(cluster.Score(Affinity(), *pod, "n"), 6);
  EXPECT_TRUE(Affinity().PreScore(cluster.cycle(), *MakePod("p").Info(), {}).IsSkip());
}

TEST(NodeAffinity, PreferredTermsThatDoNotValidateAreErrors) {
  const struct {
    const char* name;
    testing::PodBuilder pod;
    const char* want;
  } cases[] = {
      {"no integer", MakePod("p").Preferred(1, Term({Exists("a")})).Preferred(1, Term({Lt("gen", "abc")})),
       "Error: [1].matchExpressions[0].values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, the value must be "
       "an "
       "integer"},
      {"no values", MakePod("p").Preferred(1, Term({In("gen", {})})),
       "Error: [0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be "
       "empty"},
      {"two errors", MakePod("p").Preferred(1, Term({Gt("gen", "x"), Gt("gen", "y")})),
       "Error: [[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
       "an "
       "integer, [0].matchExpressions[1].values[0]: Invalid value: \"y\": for 'Gt', 'Lt' operators, the value must be "
       "an "
       "integer]"},
      {"field with two values", MakePod("p").Preferred(1, Term({}, {In("metadata.name", {"a", "b"})})),
       "Error: [0].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element"},
      {"unknown operator of a label",
       MakePod("p").Preferred(1, Term({{"gen", api::SelectorOperator::kUnknown, {"x"}, "Near"}})),
       "Error: [0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\", "
       "\"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""},
      {"unknown operator of a field",
       MakePod("p").Preferred(1, Term({}, {{"metadata.name", api::SelectorOperator::kUnknown, {"x"}, "Near"}})),
       "Error: [0].matchFields[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\""},
      {"operator of labels on a field", MakePod("p").Preferred(1, Term({}, {Exists("metadata.name")})),
       "Error: [0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\""},
      {"no prefix and a long value", MakePod("p").Preferred(1, Term({In("/gen", {std::string(64, 'x')})})),
       "Error: [[0].matchExpressions[0].key: Invalid value: \"/gen\": prefix part must be non-empty, "
       "[0].matchExpressions[0].values[0][/gen]: Invalid value: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
       "xxxxxxxxxxxx\": must be no more than 63 bytes]"},
      {"weight 0 is not looked at", MakePod("p").Preferred(0, Term({Gt("gen", "x")})), "ok"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster;
    EXPECT_EQ(TestCluster::Describe(Affinity().PreScore(cluster.cycle(), *test.pod.Info(), {})), test.want);
  }
}

TEST(NodeAffinity, Hints) {
  const TestedPlugin plugin = Affinity();
  const auto pod = MakePod("p").NodeSelector("disk", "ssd").Info();
  const auto ssd = SsdNode().Build();
  const auto hdd = MakeNode("n").Label("disk", "hdd").Build();
  const framework::ClusterEvent add{framework::EventResource::kNode, framework::action::kAdd};
  const framework::ClusterEvent label{framework::EventResource::kNode, framework::action::kUpdateNodeLabel};
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = ssd.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, add, *pod, {.new_node = hdd.get()}), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(plugin, label, *pod, {.old_node = hdd.get(), .new_node = ssd.get()}), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(plugin, label, *pod, {.old_node = ssd.get(), .new_node = ssd.get()}), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
