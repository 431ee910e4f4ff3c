// SPDX-License-Identifier: Apache-2.0
#include "berth/testing/small_cluster.h"

#include <gtest/gtest.h>

#include "berth/framework/plugin.h"

namespace berth::testing {
namespace {

namespace action = framework::action;
using framework::WithPlugin;

// Pods with the label `label` need a node that has it; nodes with a longer value are preferred.
class Labelled : public framework::FilterPlugin, public framework::ScorePlugin, public framework::EnqueueExtensions {
 public:
  static std::unique_ptr<framework::Plugin> Create(framework::PluginArgs& args, framework::Handle&) {
    auto plugin = std::make_unique<Labelled>();
    args.Require("label", plugin->label_);
    return plugin;
  }

  std::string_view Name() const override { return "Labelled"; }

  framework::Status Filter(const framework::Cycle&, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override {
    if (pod.labels().Find(label_) == nullptr || node.node().metadata.labels.Find(label_) != nullptr) return {};
    return framework::Status::Unschedulable("node(s) have no " + label_);
  }

  std::int64_t Score(const framework::Cycle&, const framework::PodInfo&, framework::NodeIndex,
                     const framework::NodeInfo& node, framework::Status&) const override {
    const std::string* value = node.node().metadata.labels.Find(label_);
    return value == nullptr ? 0 : static_cast<std::int64_t>(value->size());
  }

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override {
    return {{{framework::EventResource::kNode, action::kUpdateNodeLabel}, {}}};
  }

 private:
  std::string label_;
};

// Declares that its answer depends on the node only, but counts its calls.
class Forgetful final : public framework::FilterPlugin {
 public:
  std::string_view Name() const override { return "Forgetful"; }
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo&) const override {
    return ++calls_ % 2 == 1 ? framework::Status() : framework::Status::Unschedulable("node(s) were asked before");
  }

 private:
  mutable int calls_ = 0;
};

// Gates pods until they have the label `ready`.
class Ready final : public framework::PreEnqueuePlugin {
 public:
  std::string_view Name() const override { return "Ready"; }
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override {
    if (pod.labels().Find("ready") != nullptr) return {};
    return framework::Status::Unschedulable("is not ready");
  }
};

SmallCluster LabelledCluster() {
  return SmallCluster::With(WithPlugin("Labelled", Labelled::Create), "label: disk").value();
}

template <typename T>
framework::PluginRegistration Plain(std::string name) {
  return WithPlugin(std::move(name), [](framework::PluginArgs&, framework::Handle&) { return std::make_unique<T>(); });
}

TEST(SmallCluster, AsksAPluginThatIsAlone) {
  SmallCluster cluster = LabelledCluster();
  cluster.Add(MakeNode("bare")).Add(MakeNode("hdd").Label("disk", "hdd")).Add(MakeNode("nvme").Label("disk", "nvme"));
  cluster.Add(MakePod("p").Label("disk", "any"));
  EXPECT_EQ(cluster.Filter("p", "bare"), "node(s) have no disk");
  EXPECT_EQ(cluster.Filter("p", "hdd"), "pass");
  EXPECT_EQ(cluster.Filter("default/p", "nvme"), "pass");
  EXPECT_EQ(cluster.Score("p", "hdd"), 3);
  EXPECT_EQ(cluster.Score("p", "nvme", "Labelled"), 4);
  EXPECT_EQ(cluster.Score("p", "bare"), std::nullopt);  // the node was refused
  EXPECT_EQ(cluster.NodeOf("p"), "");
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "nvme");
  EXPECT_EQ(cluster.Message("p"), "");
  EXPECT_DEATH(static_cast<void>(cluster.Filter("p", "hdd")), "default/p does not wait: it is on a node");
}

TEST(SmallCluster, RoomDoesNotMatterToAPluginAlone) {
  SmallCluster cluster = LabelledCluster();
  cluster.Add(MakeNode("n"));
  EXPECT_EQ(cluster.Place(MakePod("huge").Request("cpu", "500")), "n");
}

TEST(SmallCluster, TriesAgainWhatAnEventHasWokenAndNothingElse) {
  SmallCluster cluster = LabelledCluster();
  cluster.Add(MakeNode("n1").Allocatable("cpu", "4"));
  EXPECT_EQ(cluster.Place(MakePod("p").Label("disk", "any")), "");
  EXPECT_EQ(cluster.Message("p"), "0/1 nodes are available: 1 node(s) have no disk.");
  cluster.Add(MakeNode("n1").Allocatable("cpu", "8"));  // the plugin has not registered for this event
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "");
  cluster.Add(MakeNode("n1").Label("disk", "hdd"));
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
}

TEST(SmallCluster, SaysWhereTheWaysToAskDiffer) {
  SmallCluster cluster = SmallCluster::With(Plain<Forgetful>("Forgetful")).value();
  cluster.Add(MakeNode("n")).Add(MakePod("p"));
  EXPECT_TRUE(cluster.Filter("p", "n").starts_with("differs in the column form: filter n: node(s) were asked before"))
      << cluster.Filter("p", "n");
}

TEST(SmallCluster, ReportsWhatHoldsAPodBack) {
  SmallCluster cluster = SmallCluster::With(Plain<Ready>("Ready")).value();
  cluster.Add(MakeNode("n"));
  EXPECT_EQ(cluster.Place(MakePod("p")), "");
  EXPECT_EQ(cluster.Filter("p", "n"), "held back by Ready: is not ready");
  EXPECT_EQ(cluster.Message("p"), "Ready: is not ready");
  EXPECT_EQ(cluster.Place(MakePod("p").Label("ready", "")), "n");
}

TEST(SmallCluster, HasBerthsOwnPluginsWithAConfiguration) {
  SmallCluster cluster = SmallCluster::WithConfiguration({WithPlugin("Labelled", Labelled::Create)}, R"(
schedulerName: labelled
plugins: {multiPoint: {enabled: [{name: Labelled, weight: 100}]}}
pluginConfig: [{name: Labelled, args: {label: disk}}]
)")
                             .value();
  cluster.Add(MakeNode("small").Label("disk", "nvme").Allocatable("cpu", "1"));
  cluster.Add(MakeNode("large").Label("disk", "hdd").Allocatable("cpu", "8"));
  cluster.Add(MakePod("there").Node("large").Request("cpu", "7"));
  EXPECT_EQ(cluster.Place(MakePod("other").SchedulerName("someone-else")), "");
  cluster.Add(MakePod("p").Request("cpu", "2"));
  EXPECT_EQ(cluster.Filter("p", "small"), "Insufficient cpu");
  EXPECT_EQ(cluster.Filter("p", "large"), "Insufficient cpu");
  EXPECT_DEATH(static_cast<void>(cluster.Score("p", "large")), "Several plugins are enabled: name one");
  cluster.RemovePod("there");
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "large");
  cluster.RemoveNode("large");
  EXPECT_EQ(cluster.Place(MakePod("q").Request("cpu", "2")), "");
}

TEST(SmallCluster, HasObjectsThatPluginsRead) {
  SmallCluster cluster = SmallCluster::WithConfiguration({}, "").value();
  cluster.Add(MakeNode("n"));
  EXPECT_EQ(cluster.Place(MakePod("p").Claim("data")), "");
  EXPECT_TRUE(cluster.Message("p").starts_with(R"(0/1 nodes are available: persistentvolumeclaim "data" not found.)"))
      << cluster.Message("p");
  cluster.AddObject(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: v}
)");
  cluster.AddObject(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {claimRef: {name: data, namespace: default}}
)");
  cluster.Run();
  EXPECT_EQ(cluster.NodeOf("p"), "n");
}

TEST(SmallCluster, ReportsWrongArgumentsAsBerthDoes) {
  const auto error = [](std::string_view args) {
    return SmallCluster::With(WithPlugin("Labelled", Labelled::Create), args).error().message;
  };
  EXPECT_EQ(error("lable: disk"),
            R"(initializing plugin "Labelled": plugin "Labelled": [args.label: Required value, args.lable: unknown )"
            "field; known here: apiVersion, kind, label]");
  EXPECT_EQ(error("label: {"), "args: line 1, column 1: end of map flow not found");
  EXPECT_EQ(SmallCluster::WithConfiguration({}, "[]").error().message,
            "configuration: must be a KubeSchedulerConfiguration or one profile of it");
  const auto unknown = SmallCluster::WithConfiguration({}, "plugin: {}");
  EXPECT_NE(unknown.error().message.find("profiles[0].plugin: unknown field"), std::string::npos)
      << unknown.error().message;
}

TEST(SmallCluster, EndsTheTestThatNamesNothing) {
  SmallCluster cluster = LabelledCluster();
  cluster.Add(MakeNode("n")).Add(MakePod("p"));
  EXPECT_DEATH(static_cast<void>(cluster.Filter("q", "n")), "no pod of the test is called default/q");
  EXPECT_DEATH(static_cast<void>(cluster.Filter("p", "m")), "no node of the test is called m");
  EXPECT_DEATH(cluster.AddObject("kind: Unknown"), "kind");
}

}  // namespace
}  // namespace berth::testing
