// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/spot_first/spot_first.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;
namespace action = framework::action;

constexpr const char* kKarpenter = "karpenter.sh/capacity-type";

testing::NodeBuilder Spot(std::string name) { return MakeNode(std::move(name)).Label(kKarpenter, "spot"); }
testing::NodeBuilder OnDemand(std::string name) { return MakeNode(std::move(name)).Label(kKarpenter, "on-demand"); }
testing::PodBuilder Web(std::string name) {
  return MakePod(std::move(name)).Controller("apps/v1", "ReplicaSet", "web");
}
testing::PodBuilder Wishing(std::string_view wish) { return MakePod("p").Annotation("berth.dev/spot", wish); }

TEST(SpotLabels, KnowsTheLabelsOfCloudsAndAutoscalers) {
  const struct {
    const char* key;
    const char* value;
    bool want;
  } kCases[] = {
      {"eks.amazonaws.com/capacityType", "SPOT", true},
      {"eks.amazonaws.com/capacityType", "ON_DEMAND", false},
      {"cloud.google.com/gke-spot", "true", true},
      {"cloud.google.com/gke-spot", "false", false},
      {"cloud.google.com/gke-preemptible", "true", true},
      {"cloud.google.com/gke-provisioning", "spot", true},
      {"cloud.google.com/gke-provisioning", "preemptible", true},
      {"cloud.google.com/gke-provisioning", "standard", false},
      {"kubernetes.azure.com/scalesetpriority", "spot", true},
      {"kubernetes.azure.com/scalesetpriority", "regular", false},
      {"karpenter.sh/capacity-type", "spot", true},
      {"karpenter.sh/capacity-type", "on-demand", false},
      {"karpenter.sh/capacity-type", "reserved", false},
      {"oci.oraclecloud.com/oke-is-preemptible", "true", true},
      {"node.alibabacloud.com/spot-strategy", "SpotAsPriceGo", true},
      {"node.alibabacloud.com/spot-strategy", "SpotWithPriceLimit", true},
      {"node.alibabacloud.com/spot-strategy", "NoSpot", false},
      {"spotinst.io/node-lifecycle", "spot", true},
      {"spotinst.io/node-lifecycle", "od", false},
      {"scheduling.cast.ai/spot", "true", true},
      {"cluster.x-k8s.io/interruptible", "", true},
      {"machine.openshift.io/interruptible-instance", "", true},
      {"node-role.kubernetes.io/spot-worker", "", true},
      {"node-role.kubernetes.io/spot-worker", "true", true},
      {"node-role.kubernetes.io/worker", "true", false},
      {"node.kubernetes.io/lifecycle", "spot", true},
      {"node.kubernetes.io/lifecycle", "normal", false},
      {"kubernetes.io/lifecycle", "spot", true},
      {"kops.k8s.io/lifecycle", "Spot", true},
      {"kops.k8s.io/lifecycle", "OnDemand", false},
      {"aws.amazon.com/spot", "true", true},
      {"lifecycle", "Ec2Spot", true},
      {"lifecycle", "spot", true},
      {"lifecycle", "OnDemand", false},
      {"example.com/pool", "cheap", false},
  };
  const SpotLabels known;
  const SpotLabels added({{"example.com/pool", "cheap"}, {"example.com/any", std::nullopt}});
  for (const auto& test : kCases) {
    const auto node = MakeNode("n").Label(test.key, test.value).Build();
    EXPECT_EQ(known.IsSpot(*node), test.want) << test.key << "=" << test.value;
  }
  EXPECT_TRUE(added.IsSpot(*MakeNode("n").Label("example.com/pool", "cheap").Build()));
  EXPECT_FALSE(added.IsSpot(*MakeNode("n").Label("example.com/pool", "dear").Build()));
  EXPECT_TRUE(added.IsSpot(*MakeNode("n").Label("example.com/any", "thing").Build()));
  EXPECT_TRUE(added.IsSpot(*Spot("n").Build()));
  EXPECT_FALSE(known.IsSpot(*MakeNode("n").Build()));
}

TEST(SpotFirstArgs, AreReadAndChecked) {
  const auto read = [](const std::string& json) {
    const auto args = ReadSpotFirstArgs(config::RawArgs{json});
    return args.ok() ? std::string("ok") : args.error().message;
  };
  const auto args = ReadSpotFirstArgs(config::RawArgs{
      R"({"spotLabels":[{"key":"a/b","value":"c"},{"key":"d"}],"onDemandShare":30,"default":"never"})"});
  ASSERT_TRUE(args.ok()) << args.error().message;
  EXPECT_EQ(args->on_demand_share, 30);
  EXPECT_EQ(args->default_wish, SpotWish::kNever);
  ASSERT_EQ(args->spot_labels.size(), 2U);
  EXPECT_EQ(args->spot_labels[0].value, "c");
  EXPECT_EQ(args->spot_labels[1].value, std::nullopt);
  EXPECT_TRUE(ReadSpotFirstArgs(config::PluginArgs()).ok());
  const std::string prefix = "plugin \"SpotFirst\": args.";
  EXPECT_EQ(read(R"({"onDemandShare":101})"),
            prefix + "onDemandShare: Invalid value: 101: must be a percentage from 0 to 100");
  EXPECT_EQ(read(R"({"onDemandShare":-1})"),
            prefix + "onDemandShare: Invalid value: -1: must be a percentage from 0 to 100");
  EXPECT_EQ(read(R"({"default":"maybe"})"),
            prefix + "default: Unsupported value: \"maybe\": supported values: \"preferred\", \"required\", \"never\"");
  EXPECT_EQ(read(R"({"spotLabels":[{"value":"c"}]})"), prefix + "spotLabels[0].key: Required value");
  EXPECT_EQ(read(R"({"spotLabels":[{"key":"a b"}]})"),
            prefix + "spotLabels[0].key: Invalid value: \"a b\": not a label's name");
  EXPECT_EQ(read(R"({"spotLabels":[{"key":"a","value":"b c"}]})"),
            prefix + "spotLabels[0].value: Invalid value: \"b c\": not a label's value");
  for (const char* bad : {R"({"onDemandShare":"30%"})", R"({"onDemandShare":3.5})", R"({"spotLabels":7})",
                          R"({"spotLabels":[7]})", R"({"share":1})", "[]", "{"}) {
    EXPECT_NE(read(bad), "ok") << bad;
  }
}

class SpotFirstTest : public ::testing::Test {
 protected:
  // What the pod meets on the spot node and on the other one: the filter's answer and the raw score.
  std::string Meets(const TestedPlugin& plugin, const testing::PodBuilder& pod) {
    const auto info = pod.Info();
    cluster_.Forget();
    const auto pre_filter = plugin.PreFilter(cluster_.cycle(), *info);
    if (pre_filter.status.IsRejected()) return TestCluster::Describe(pre_filter.status);
    std::string text;
    for (const char* node : {"spot", "on-demand"}) {
      const bool is_skipped = pre_filter.status.IsSkip();
      if (is_skipped) {
        EXPECT_EQ(cluster_.Filter(plugin, *info, node), "ok");
      }
      const std::string said = cluster_.Filter(plugin, *info, node);
      text += std::string(node) + ": " + (said == "ok" ? std::to_string(cluster_.Score(plugin, *info, node)) : said);
      if (node == std::string("spot")) text += ", ";
    }
    EXPECT_TRUE(!plugin.RefusesNone(cluster_.cycle(), *info) || text.find("Unsch") == std::string::npos);
    return text;
  }

  // Pods of web on the two nodes, and what the next one meets.
  std::string AfterPods(const TestedPlugin& plugin, int on_spot, int on_demand) {
    cluster_ = TestCluster({Spot("spot"), OnDemand("on-demand")});
    int i = 0;
    for (; i < on_spot; ++i) cluster_.Add(Web("w" + std::to_string(i)).Node("spot"));
    for (; i < on_spot + on_demand; ++i) cluster_.Add(Web("w" + std::to_string(i)).Node("on-demand"));
    return Meets(plugin, Web("next"));
  }

  testing::FakeHandle handle_;
  TestCluster cluster_{{Spot("spot"), OnDemand("on-demand")}};
};

constexpr const char* kSpotFirstOfBoth = "spot: 0, on-demand: 1";
constexpr const char* kOnlySpot =
    "spot: 0, on-demand: UnschedulableAndUnresolvable: node(s) weren't spot nodes, which the pod requires";
constexpr const char* kOnlyOnDemand =
    "spot: UnschedulableAndUnresolvable: node(s) were spot nodes, which the pod stays off, on-demand: 0";
constexpr const char* kShareIsDue =
    "spot: UnschedulableAndUnresolvable: node(s) were spot nodes, of which the pod's controller may use no more yet, "
    "on-demand: 0";

TEST_F(SpotFirstTest, APodsWish) {
  const TestedPlugin plugin = CreateSpotFirst({}, handle_);
  EXPECT_EQ(Meets(plugin, MakePod("p")), kSpotFirstOfBoth);
  EXPECT_EQ(Meets(plugin, Wishing("preferred")), kSpotFirstOfBoth);
  EXPECT_EQ(Meets(plugin, Wishing("required")), kOnlySpot);
  EXPECT_EQ(Meets(plugin, Wishing("never")), kOnlyOnDemand);
}

TEST_F(SpotFirstTest, ABadWishIsRefusedInItsOwnWords) {
  const TestedPlugin plugin = CreateSpotFirst({}, handle_);
  const std::string refused = "UnschedulableAndUnresolvable: annotation berth.dev/spot: ";
  EXPECT_EQ(Meets(plugin, Wishing("maybe")), refused + "\"maybe\" is none of preferred, required, never");
  EXPECT_EQ(Meets(plugin, Wishing("")), refused + "\"\" is none of preferred, required, never");
  EXPECT_EQ(Meets(plugin, Wishing("Never")), refused + "\"Never\" is none of preferred, required, never");
  EXPECT_LT(Meets(plugin, Wishing(std::string(100'000, 'x'))).size(), 200U);
  // No half a character, with which no API server would take the condition.
  EXPECT_EQ(Meets(plugin, Wishing(std::string(63, 'x') + "\xc3\xa9")),
            refused + '"' + std::string(63, 'x') + "\" is none of preferred, required, never");
}

TEST_F(SpotFirstTest, TheProfilesDefaultIsForPodsThatSayNothing) {
  const TestedPlugin never = CreateSpotFirst({.spot_labels = {}, .default_wish = SpotWish::kNever}, handle_);
  EXPECT_EQ(Meets(never, MakePod("p")), kOnlyOnDemand);
  EXPECT_EQ(Meets(never, Wishing("required")), kOnlySpot);
  EXPECT_EQ(Meets(never, Wishing("preferred")), kSpotFirstOfBoth);
  const auto daemon = MakePod("p").Controller("apps/v1", "DaemonSet", "logs");
  EXPECT_EQ(Meets(never, daemon), kSpotFirstOfBoth) << "a DaemonSet's pods are bound to their nodes";
  EXPECT_EQ(Meets(never, testing::PodBuilder(daemon).Annotation("berth.dev/spot", "never")), kOnlyOnDemand);
  EXPECT_FALSE(never.ReadsPlacementOnly());
  EXPECT_TRUE(TestedPlugin(CreateSpotFirst({}, handle_)).ReadsPlacementOnly());
}

TEST_F(SpotFirstTest, AShareStaysOnDemand) {
  const struct {
    int share, on_spot, on_demand;
    const char* want;
  } kCases[] = {
      {30, 0, 0, kShareIsDue},       // 30 % of one pod, rounded up, is one
      {30, 0, 1, kSpotFirstOfBoth},  //
      {30, 1, 1, kSpotFirstOfBoth},  // one of three
      {30, 2, 1, kShareIsDue},       // one of four would be too few
      {30, 2, 2, kSpotFirstOfBoth},  // two of five and six
      {30, 4, 2, kShareIsDue},       // but not of seven
      {50, 1, 1, kShareIsDue},       //
      {50, 1, 2, kSpotFirstOfBoth},  //
      {1, 99, 1, kShareIsDue},       //
      {1, 98, 1, kSpotFirstOfBoth},  //
      {100, 0, 5, kShareIsDue},      //
      {0, 5, 0, kSpotFirstOfBoth},   //
  };
  for (const auto& test : kCases) {
    const TestedPlugin plugin = CreateSpotFirst({.spot_labels = {}, .on_demand_share = test.share}, handle_);
    EXPECT_EQ(AfterPods(plugin, test.on_spot, test.on_demand), test.want)
        << test.share << " %, " << test.on_spot << " on spot nodes, " << test.on_demand << " on demand";
  }
}

TEST_F(SpotFirstTest, WhoHasNoShare) {
  const TestedPlugin plugin = CreateSpotFirst({.spot_labels = {}, .on_demand_share = 50}, handle_);
  EXPECT_EQ(Meets(plugin, MakePod("p")), kSpotFirstOfBoth) << "no controller";
  EXPECT_EQ(Meets(plugin, MakePod("p").Controller("apps/v1", "DaemonSet", "logs")), kSpotFirstOfBoth);
  EXPECT_EQ(Meets(plugin, Web("p").Annotation("berth.dev/spot", "required")), kOnlySpot);
  EXPECT_EQ(Meets(plugin, Web("p").Annotation("berth.dev/spot", "preferred")), kShareIsDue);
}

TEST_F(SpotFirstTest, OtherControllersAndPodsThatAreGoingDoNotCount) {
  const TestedPlugin plugin = CreateSpotFirst({.spot_labels = {}, .on_demand_share = 50}, handle_);
  cluster_.Add(MakePod("other").Controller("apps/v1", "ReplicaSet", "db").Node("on-demand"));
  cluster_.Add(Web("going").Node("on-demand").Deleted(Time{}));
  EXPECT_EQ(Meets(plugin, Web("next")), kShareIsDue);
  cluster_.Add(Web("w").Node("on-demand"));
  EXPECT_EQ(Meets(plugin, Web("next")), kSpotFirstOfBoth);
  // The node has become a spot node.
  cluster_.Add(Spot("on-demand"));
  EXPECT_EQ(plugin.Filter(cluster_.cycle(), *Web("next").Info(), cluster_.Node("spot")).Message(),
            "node(s) were spot nodes, of which the pod's controller may use no more yet");
}

TEST_F(SpotFirstTest, WhatAnswersRestOn) {
  const TestedPlugin by_node = CreateSpotFirst({}, handle_);
  const TestedPlugin by_pods = CreateSpotFirst({.spot_labels = {}, .on_demand_share = 1}, handle_);
  for (const auto& [plugin, want] :
       {std::pair(&by_node, framework::Dependency::kNode), std::pair(&by_pods, framework::Dependency::kCycle)}) {
    EXPECT_EQ(plugin->PreFilterDependsOn(), want);
    EXPECT_EQ(plugin->FilterDependsOn(), want);
    EXPECT_EQ(plugin->ScoreDependsOn(), want);
  }
  EXPECT_EQ(by_node.PodAnnotationsRead(), std::vector<std::string>{"berth.dev/spot"});
}

TEST_F(SpotFirstTest, OneScoreOfAllNodesOfOneKind) {
  const TestedPlugin plugin = CreateSpotFirst({}, handle_);
  const auto score_of_all = [&](const testing::PodBuilder& pod) {
    return plugin.ScoreOfAll(cluster_.cycle(), *pod.Info());
  };
  EXPECT_EQ(score_of_all(MakePod("p")), std::nullopt) << "the handle has no nodes";
  handle_.table = &cluster_.table();
  EXPECT_EQ(score_of_all(MakePod("p")), std::nullopt);
  cluster_.table().RemoveNode("on-demand");
  EXPECT_EQ(score_of_all(MakePod("p")), 0);
  EXPECT_EQ(score_of_all(Wishing("never")), 1);
  cluster_.Add(OnDemand("spot"));
  EXPECT_EQ(score_of_all(MakePod("p")), 1);
  EXPECT_EQ(score_of_all(Wishing("never")), 0);
  cluster_.table().RemoveNode("spot");
  EXPECT_EQ(score_of_all(MakePod("p")), 1) << "no node: nobody asks about one";
}

TEST_F(SpotFirstTest, NodesThatMayHelp) {
  const TestedPlugin plain = CreateSpotFirst({}, handle_);
  const TestedPlugin sharing = CreateSpotFirst({.spot_labels = {}, .on_demand_share = 50}, handle_);
  const auto spot = Spot("n").Build();
  const auto on_demand = OnDemand("n").Build();
  const struct {
    const char* name;
    const TestedPlugin& plugin;
    testing::PodBuilder pod;
    const api::Node *before, *after;
    bool want;
  } kCases[] = {
      {"a spot node comes", plain, Wishing("required"), nullptr, spot.get(), true},
      {"an on-demand node comes", plain, Wishing("required"), nullptr, on_demand.get(), false},
      {"one becomes a spot node", plain, Wishing("required"), on_demand.get(), spot.get(), true},
      {"one was a spot node before", plain, Wishing("required"), spot.get(), spot.get(), false},
      {"a spot node comes", plain, Wishing("never"), nullptr, spot.get(), false},
      {"an on-demand node comes", plain, Wishing("never"), nullptr, on_demand.get(), true},
      {"one is a spot node no longer", plain, Wishing("never"), spot.get(), on_demand.get(), true},
      {"a node goes", plain, Wishing("never"), on_demand.get(), nullptr, false},
      {"an on-demand node comes", sharing, Web("p"), nullptr, on_demand.get(), true},
      {"a node of counted pods goes", sharing, Web("p"), spot.get(), nullptr, true},
      {"another label changes", sharing, Web("p"), on_demand.get(), on_demand.get(), false},
      {"a bad wish", plain, Wishing("maybe"), nullptr, spot.get(), false},
  };
  for (const auto& test : kCases) {
    framework::EventObjects objects;
    objects.old_node = test.before;
    objects.new_node = test.after;
    const auto actions = test.before == nullptr  ? action::kAdd
                         : test.after == nullptr ? action::kDelete
                                                 : action::kUpdateNodeLabel;
    EXPECT_EQ(HintFor(test.plugin, {framework::EventResource::kNode, actions}, *test.pod.Info(), objects),
              QueueIf(test.want))
        << test.name;
  }
}

TEST_F(SpotFirstTest, PodsThatMayHelp) {
  const TestedPlugin plain = CreateSpotFirst({}, handle_);
  const TestedPlugin sharing = CreateSpotFirst({.spot_labels = {}, .on_demand_share = 50}, handle_);
  const auto waiting = Web("p").Info();
  const auto hint = [&](const TestedPlugin& plugin, const framework::PodInfoPtr& before,
                        const framework::PodInfoPtr& after, const framework::PodInfo& pod) {
    framework::EventObjects objects;
    objects.old_pod = before.get();
    objects.new_pod = after.get();
    const bool is_waiting = (after ? after : before)->node_name.empty();
    const auto resource =
        is_waiting ? framework::EventResource::kUnschedulablePod : framework::EventResource::kAssignedPod;
    const auto actions = !before ? action::kAdd : !after ? action::kDelete : action::kUpdate;
    return HintFor(plugin, {resource, actions}, pod, objects);
  };
  const auto placed = Web("w").Node("n").Info();
  EXPECT_EQ(hint(sharing, nullptr, placed, *waiting), QueueingHint::kQueue);
  EXPECT_EQ(hint(sharing, placed, nullptr, *waiting), QueueingHint::kQueue);
  EXPECT_EQ(hint(sharing, placed, Web("w").Node("n").Deleted(Time{}).Info(), *waiting), QueueingHint::kQueue);
  EXPECT_EQ(hint(plain, nullptr, placed, *waiting), QueueingHint::kSkip);
  EXPECT_EQ(hint(sharing, nullptr, MakePod("x").Node("n").Info(), *waiting), QueueingHint::kSkip);
  EXPECT_EQ(hint(sharing, nullptr, Web("w2").Info(), *waiting), QueueingHint::kSkip) << "is on no node";
  // Its own annotation.
  const auto bad = Wishing("maybe").Info();
  EXPECT_EQ(hint(plain, bad, Wishing("never").Info(), *bad), QueueingHint::kQueue);
  EXPECT_EQ(hint(plain, bad, MakePod("p").Info(), *bad), QueueingHint::kQueue);
  EXPECT_EQ(hint(plain, bad, Wishing("maybe").Label("a", "1").Info(), *bad), QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
