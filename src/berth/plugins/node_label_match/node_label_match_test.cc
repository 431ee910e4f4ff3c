// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_label_match/node_label_match.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

std::unique_ptr<TestedPlugin> Make(const std::string& json) {
  testing::FakeHandle handle;
  auto made = MakeFromJson("NodeLabelMatch", json, handle);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::make_unique<TestedPlugin>(std::move(made));
}

// The pod as the core keeps it: with the annotations that the plugin reads alone.
framework::PodInfoPtr Seen(const TestedPlugin& plugin, const testing::PodBuilder& pod) {
  return cache::PodClasses(plugin.PodAnnotationsRead()).MakePodInfo(pod.Build());
}

TEST(NodeLabelMatch, RequiredAnnotations) {
  TestCluster cluster({MakeNode("pi").Label("cluster.type", "raspberry"),
                       MakeNode("xeon").Label("cluster.type", "xeon"), MakeNode("bare"),
                       MakeNode("blank").Label("cluster.type", "")});
  const std::string refused = "UnschedulableAndUnresolvable: node(s) didn't match the pod's annotation cluster.type=";
  struct Case {
    const char* name;
    testing::PodBuilder pod;
    const char* node;
    std::string want;
  };
  const std::string long_value(1000, 'x');
  const auto plugin = Make("{}");
  for (const Case& test : {
           Case{"equal", MakePod("p").Annotation("cluster.type", "raspberry"), "pi", "ok"},
           Case{"another", MakePod("p").Annotation("cluster.type", "raspberry"), "xeon", refused + "raspberry"},
           Case{"no label", MakePod("p").Annotation("cluster.type", "raspberry"), "bare", refused + "raspberry"},
           Case{"no annotation", MakePod("p"), "bare", "ok"},
           Case{"another annotation", MakePod("p").Annotation("disk", "ssd"), "bare", "ok"},
           Case{"an empty value is a value", MakePod("p").Annotation("cluster.type", ""), "blank", "ok"},
           Case{"an empty value without a label", MakePod("p").Annotation("cluster.type", ""), "bare", refused},
           Case{"case counts", MakePod("p").Annotation("cluster.type", "Raspberry"), "pi", refused + "Raspberry"},
           Case{"a value that is no label's", MakePod("p").Annotation("cluster.type", long_value), "pi",
                "UnschedulableAndUnresolvable: node(s) didn't match the pod's annotation cluster.type, whose value is "
                "none that a label can have"},
       }) {
    SCOPED_TRACE(test.name);
    cluster.Forget();
    const auto pod = Seen(*plugin, test.pod);
    EXPECT_EQ(plugin->RefusesNone(cluster.cycle(), *pod), pod->pod_class->annotations.empty());
    EXPECT_EQ(cluster.Filter(*plugin, *pod, test.node), test.want) << "without PreFilter";
    const bool is_skipped = plugin->PreFilter(cluster.cycle(), *pod).status.IsSkip();
    EXPECT_EQ(is_skipped, pod->pod_class->annotations.empty());
    if (!is_skipped) {
      EXPECT_EQ(cluster.Filter(*plugin, *pod, test.node), test.want);
    }
  }
}

TEST(NodeLabelMatch, TheLabelMayHaveAnotherName) {
  TestCluster cluster({MakeNode("a").Label("topology.kubernetes.io/region", "eu")});
  const auto plugin = Make(R"({"keys": [{"key": "region", "label": "topology.kubernetes.io/region"}]})");
  EXPECT_EQ(cluster.Filter(*plugin, *Seen(*plugin, MakePod("p").Annotation("region", "eu")), "a"), "ok");
  EXPECT_EQ(cluster.Filter(*plugin, *Seen(*plugin, MakePod("p").Annotation("region", "us")), "a"),
            "UnschedulableAndUnresolvable: node(s) didn't match the pod's annotation region=us in label "
            "topology.kubernetes.io/region");
}

TEST(NodeLabelMatch, PreferredAnnotationsScore) {
  TestCluster cluster({MakeNode("a").Label("cluster.type", "raspberry").Label("match.berth.dev/disk", "ssd"),
                       MakeNode("b").Label("cluster.type", "raspberry"), MakeNode("c")});
  const auto plugin = Make(R"({"strictness": "Preferred", "keys": [
      {"key": "cluster.type", "weight": 10}, {"prefix": "match.berth.dev/", "weight": 3}]})");
  const auto pod = Seen(*plugin, MakePod("p")
                                     .Annotation("cluster.type", "raspberry")
                                     .Annotation("match.berth.dev/disk", "ssd")
                                     .Annotation("match.berth.dev/arch", "arm64"));
  EXPECT_TRUE(plugin->PreScore(cluster.cycle(), *pod, {}).IsSuccess());
  EXPECT_EQ(cluster.Score(*plugin, *pod, "a"), 3);
  EXPECT_EQ(cluster.Score(*plugin, *pod, "b"), 6);
  EXPECT_EQ(cluster.Score(*plugin, *pod, "c"), 16);
  EXPECT_EQ(plugin->ScoreNormalization(), framework::Normalization::kLowestFirst);
  EXPECT_TRUE(plugin->PreFilter(cluster.cycle(), *pod).status.IsSkip()) << "nothing is required";
  EXPECT_EQ(plugin->ScoreOfAll(cluster.cycle(), *pod), std::nullopt);

  cluster.Forget();
  const auto other = Seen(*plugin, MakePod("q"));
  EXPECT_TRUE(plugin->PreScore(cluster.cycle(), *other, {}).IsSkip());
  EXPECT_EQ(plugin->ScoreOfAll(cluster.cycle(), *other), 0);
}

TEST(NodeLabelMatch, AKeyGoesBeforePrefixesAndALongOneBeforeAShortOne) {
  const auto rules = ReadLabelRules(config::RawArgs{R"({"keys": [
      {"prefix": "a.dev/"}, {"prefix": "b.a.dev/", "strictness": "Preferred"}, {"prefix": "a.dev/"}]})"});
  EXPECT_EQ(rules.error().message, R"(plugin "NodeLabelMatch": args.keys[2]: Duplicate value: "a.dev/")");
  const auto good = ReadLabelRules(config::RawArgs{R"({"keys": [
      {"prefix": "a.dev/"}, {"key": "a.dev/x", "strictness": "Preferred", "weight": 7}]})"});
  ASSERT_TRUE(good.ok());
  const api::StringMap annotations{{"a.dev/x", "1"}, {"a.dev/y", "2"}, {"b.dev/y", "3"}};
  const auto required = WishesOf(*good, annotations, Strictness::kRequired);
  const auto preferred = WishesOf(*good, annotations, Strictness::kPreferred);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].annotation, "a.dev/y");
  ASSERT_EQ(preferred.size(), 1u);
  EXPECT_EQ(preferred[0].annotation, "a.dev/x");
  EXPECT_EQ(preferred[0].weight, 7);
}

TEST(NodeLabelMatch, WrongArgumentsAreNamed) {
  struct Case {
    const char* json;
    const char* want;
  };
  for (const Case& test : {
           Case{R"({"keys": []})", "args.keys: Required value: at least one"},
           Case{R"({"keys": ["cluster.type"]})", "args.keys[0]: "},
           Case{R"({"keys": [{}]})", "args.keys[0].key: Required value: or a prefix"},
           Case{R"({"keys": [{"key": "a", "prefix": "b/"}]})",
                "args.keys[0].prefix: Forbidden: a rule is for a key or for a prefix"},
           Case{R"({"keys": [{"key": "a b"}]})", "args.keys[0].key: Invalid value: \"a b\": must be a name"},
           Case{R"({"keys": [{"prefix": "berth.dev"}]})", "args.keys[0].prefix: Invalid value: \"berth.dev\": must be"},
           Case{R"({"keys": [{"prefix": "/"}]})", "args.keys[0].prefix: Invalid value: \"/\": must be"},
           Case{R"({"keys": [{"prefix": "a.dev/", "label": "b"}]})", "args.keys[0].label: Forbidden: the labels"},
           Case{R"({"keys": [{"key": "a", "strictness": "Must"}]})",
                "args.keys[0].strictness: Unsupported value: \"Must\": supported values: \"Required\", \"Preferred\""},
           Case{R"({"keys": [{"key": "a", "weight": 2}]})",
                "args.keys[0].weight: Forbidden: only what is preferred has a weight"},
           Case{R"({"keys": [{"key": "a", "weight": 0, "strictness": "Preferred"}]})",
                "args.keys[0].weight: Invalid value: 0: must be between 1 and 100"},
           Case{R"({"strictness": "preferred"})", "args.strictness: Unsupported value: \"preferred\""},
           Case{R"({"colour": 1})", "colour"},
           Case{"[", ""},
       }) {
    const auto rules = ReadLabelRules(config::RawArgs{test.json});
    ASSERT_FALSE(rules.ok()) << test.json;
    EXPECT_NE(rules.error().message.find(test.want), std::string::npos) << test.json << ": " << rules.error().message;
  }
}

TEST(NodeLabelMatch, WhatMayHelpARefusedPod) {
  using namespace framework::action;
  using framework::EventResource;
  using framework::QueueingHint;
  const auto plugin = Make("{}");
  const auto pod = Seen(*plugin, MakePod("p").Annotation("cluster.type", "raspberry"));
  const auto pi = MakeNode("n").Label("cluster.type", "raspberry").Build();
  const auto xeon = MakeNode("n").Label("cluster.type", "xeon").Build();
  const auto hint = [&](framework::ActionType action, const api::Node* from, const api::Node* to) {
    framework::EventObjects objects;
    objects.old_node = from;
    objects.new_node = to;
    return HintFor(*plugin, {EventResource::kNode, action}, *pod, objects);
  };
  EXPECT_EQ(hint(kAdd, nullptr, pi.get()), QueueingHint::kQueue);
  EXPECT_EQ(hint(kAdd, nullptr, xeon.get()), QueueingHint::kSkip);
  EXPECT_EQ(hint(kUpdateNodeLabel, xeon.get(), pi.get()), QueueingHint::kQueue);
  EXPECT_EQ(hint(kUpdateNodeLabel, pi.get(), xeon.get()), QueueingHint::kSkip);
  EXPECT_EQ(hint(kUpdateNodeLabel, pi.get(), pi.get()), QueueingHint::kSkip) << "it matched before";
  EXPECT_EQ(hint(kUpdateNodeTaint, xeon.get(), pi.get()), QueueingHint::kSkip);

  const auto changed = Seen(*plugin, MakePod("p").Annotation("cluster.type", "xeon"));
  const auto own = [&](const framework::PodInfo& from, const framework::PodInfo& to) {
    framework::EventObjects objects;
    objects.old_pod = &from;
    objects.new_pod = &to;
    return HintFor(*plugin, {EventResource::kUnschedulablePod, kUpdate}, *pod, objects);
  };
  EXPECT_EQ(own(*changed, *pod), QueueingHint::kQueue);
  EXPECT_EQ(own(*pod, *pod), QueueingHint::kSkip);
  const auto other = Seen(*plugin, MakePod("q").Annotation("cluster.type", "xeon"));
  EXPECT_EQ(own(*other, *other), QueueingHint::kSkip);
}

// The column form is the plain one, and a node passes exactly if it has all labels that the pod requires.
TEST(NodeLabelMatchProperty, NoNodeWithoutARequiredLabelPasses) {
  const auto plugin = Make(R"({"keys": [{"key": "type"}, {"key": "zone", "label": "example.com/zone"},
      {"prefix": "match.dev/"}, {"key": "disk", "strictness": "Preferred", "weight": 5}]})");
  int refused = 0;
  int passed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto pick = [&random](std::initializer_list<const char*> values) {
      return values.begin()[random.Below(values.size())];
    };
    TestCluster cluster;
    for (int i = 0; i < 30; ++i) {
      auto node = MakeNode("n" + std::to_string(i));
      for (const char* label : {"type", "example.com/zone", "match.dev/a", "match.dev/b", "disk", "zone"}) {
        if (random.Below(4) > 0) node.Label(label, pick({"x", "y", ""}));
      }
      cluster.Add(node);
    }
    for (int p = 0; p < 10; ++p) {
      auto builder = MakePod("p");
      for (const char* key : {"type", "zone", "match.dev/a", "match.dev/b", "disk", "other"}) {
        if (random.Below(4) == 0) builder.Annotation(key, pick({"x", "y", "", "z"}));
      }
      const auto pod = Seen(*plugin, builder);
      cluster.Forget();
      const framework::Cycle cycle = cluster.cycle();
      (void)plugin->PreFilter(cycle, *pod);
      (void)plugin->PreScore(cycle, *pod, {});
      const auto rows = cluster.table().rows();
      framework::StatusTable statuses;
      std::vector<framework::VerdictId> verdicts(cluster.table().row_count());
      std::vector<std::int64_t> scores(verdicts.size());
      framework::Status status;
      plugin->FilterRows(cycle, *pod, rows, verdicts, statuses);
      plugin->ScoreRows(cycle, *pod, rows, scores, status);
      for (const NodeIndex row : rows) {
        const framework::NodeInfo& node = cluster.table().Info(row);
        const auto has = [&](const char* label, const char* annotation) {
          const std::string* wanted = builder.Build().metadata.annotations.Find(annotation);
          const std::string* found = node.node().metadata.labels.Find(label);
          return wanted == nullptr || (found != nullptr && *found == *wanted);
        };
        const bool fits = has("type", "type") && has("example.com/zone", "zone") && has("match.dev/a", "match.dev/a") &&
                          has("match.dev/b", "match.dev/b");
        EXPECT_EQ(verdicts[row] == framework::kVerdictOk, fits);
        EXPECT_TRUE(plugin->Filter(cycle, *pod, node) == statuses.Get(verdicts[row]));
        EXPECT_EQ(scores[row], has("disk", "disk") ? 0 : 5);
        EXPECT_EQ(plugin->Score(cycle, *pod, row, node, status), scores[row]);
        ++(fits ? passed : refused);
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(passed, 1000);
}

}  // namespace
}  // namespace berth::plugins
