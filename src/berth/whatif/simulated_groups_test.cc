// SPDX-License-Identifier: Apache-2.0
// Simulations with pod groups: gangs of manifests and of the cluster, from the manifest to the report.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/simulation_answer.h"
#include "berth/testing/builders.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/pod_group_warnings.h"
#include "berth/whatif/simulation.h"
#include "berth/whatif/snapshot_file.h"
#include "berth/whatif/state_builder.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::SimulationText, answers::SimulationJson, answers::ComparisonText, answers::ComparisonJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using ::testing::Not;

const std::vector<std::string> kGate = {"GenericWorkload=true"};
const std::vector<std::string> kTreeGates = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true",
                                             "CompositePodGroup=true"};

std::string Group(const std::string& name, const std::string& spec) {
  return "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: " + name + "}\nspec: {" + spec +
         "}\n---\n";
}
std::string GangOf(int min_count) {
  return Group("g", "schedulingPolicy: {gang: {minCount: " + std::to_string(min_count) + "}}");
}
// Pods of a group, of a Job, with four CPUs each.
std::string JobOf(int pods, const std::string& more = "", const std::string& group = "g") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train-" + group +
         "}\nspec:\n  parallelism: " + std::to_string(pods) +
         "\n  template:\n    spec: {restartPolicy: Never, schedulingGroup: {podGroupName: " + group + "}, " + more +
         "containers: [{name: c, image: i, resources: {requests: {cpu: \"4\"}}}]}\n---\n";
}

constexpr std::string_view kRef = "workloadRef: {workloadName: w, templateName: x}";
std::string Composite(const std::string& name, const std::string& spec) {
  return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: CompositePodGroup\nmetadata: {name: " + name + "}\nspec: {" +
         spec + ", " + std::string(kRef) + "}\n---\n";
}
// A gang of two pods in the composite group t.
std::string TreeGroup(const std::string& name, const std::string& more = "") {
  return Group(name,
               "parentCompositePodGroupName: t, schedulingPolicy: {gang: {minCount: 2}}, " + more + std::string(kRef));
}
std::string Tree(int min_group_count) {
  return Composite("t", "schedulingPolicy: {gang: {minGroupCount: " + std::to_string(min_group_count) + "}}") +
         TreeGroup("a") + TreeGroup("b");
}

class SimulatedGroupsTest : public ::testing::Test {
 protected:
  // Nodes of four CPUs.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) state.nodes.push_back(MakeNode("n" + std::to_string(state.nodes.size())).Build());
  }
  void AddPod(const testing::PodBuilder& pod) { state.pods.push_back(std::make_shared<const api::Pod>(pod.Build())); }
  void AddGroup(const std::string& name, int min_count) {
    api::PodGroup group;
    group.metadata.name = name;
    group.metadata.namespace_name = "default";
    group.metadata.uid = "uid-" + name;
    group.min_count = min_count;
    state.objects.emplace_back(std::make_shared<const api::PodGroup>(group));
  }

  Simulation Simulated(const std::string& manifests, const std::vector<std::string>& gates = kGate, int release = 37) {
    Simulation none;
    Additions additions;
    if (!manifests.empty()) {
      const auto read = ReadManifests({{"m.yaml", manifests}}, "default");
      EXPECT_TRUE(read.ok()) << read.error().message;
      if (!read.ok()) return none;
      auto made = MakeAdditions(*read, state, {});
      EXPECT_TRUE(made.ok()) << made.error().message;
      if (!made.ok()) return none;
      additions = std::move(*made);
    }
    for (const auto& node : new_nodes) additions.nodes.push_back(node.Build());
    auto answer = Simulate({state, additions, removed}, OptionsOf(ConfigurationOf(release, gates, plugins)));
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? std::move(*answer) : none;
  }
  // The state is then what a snapshot of these has, by kind.
  void ThroughASnapshot(const std::vector<std::pair<std::string, std::string>>& objects, const Anonymizer* anonymizer) {
    const std::string path = (std::filesystem::temp_directory_path() / "berth-simulated-groups.zst").string();
    SnapshotWriteOptions options;
    options.path = path;
    options.overwrites = true;
    options.anonymizer = anonymizer;
    auto writer = SnapshotWriter::Create(options);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    for (const auto& [kind, object] : objects) {
      simdjson::dom::parser parser;
      simdjson::dom::element parsed;
      ASSERT_EQ(parser.parse(object).get(parsed), simdjson::SUCCESS) << object;
      ASSERT_TRUE((*writer)->Take(*KindNamed(kind), parsed).ok());
    }
    ClusterState end;
    end.read_at = kNow;
    ASSERT_TRUE((*writer)->Finish(end).ok());
    auto read = ReadSnapshot(path);
    std::remove(path.c_str());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_THAT(read->left_out, IsEmpty());
    state = std::move(*read);
  }
  static std::size_t Placed(const Simulation& answer) {
    return static_cast<std::size_t>(
        std::ranges::count_if(answer.pods, [](const auto& pod) { return !pod.node.empty(); }));
  }

  ClusterState state;
  std::vector<config::PluginRef> plugins;  // beside the defaults
  std::vector<testing::NodeBuilder> new_nodes;
  std::vector<std::string> removed;
};

TEST_F(SimulatedGroupsTest, AGangThatFitsIsPlacedWhole) {
  AddNodes(4);
  const Simulation answer = Simulated(GangOf(3) + JobOf(3));
  EXPECT_EQ(Placed(answer), 3u);
  EXPECT_THAT(answer.groups, ElementsAre(SimulatedGroup{"default", "g", 3, 3, 0, "Scheduled", ""}));
  EXPECT_THAT(SimulationText(answer, {}), HasSubstr("POD GROUP   MIN COUNT   SCHEDULED   PENDING   REASON\n"
                                                    "default/g           3           3         0   Scheduled\n"));
}

TEST_F(SimulatedGroupsTest, AGangThatDoesNotFitIsPlacedNowhere) {
  AddNodes(2);
  const Simulation answer = Simulated(GangOf(3) + JobOf(3));
  EXPECT_EQ(Placed(answer), 0u);
  EXPECT_EQ(answer.PendingCount(), 3u);
  const std::string message =
      "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: No preemption victims found "
      "for incoming preemptor";
  EXPECT_THAT(answer.groups, ElementsAre(SimulatedGroup{"default", "g", 3, 0, 3, "Unschedulable", message}));
  const std::string text = SimulationText(answer, {});
  EXPECT_THAT(text, HasSubstr("3 pods of PodGroup default/g stay pending:\n  minCount (3) cannot be satisfied: 2 "));
  EXPECT_THAT(text, HasSubstr("\n  pod train-")) << "what the pod says that was refused";
  EXPECT_THAT(text, HasSubstr(": 0/2 nodes are available: 2 Insufficient cpu."));
  EXPECT_THAT(text, Not(HasSubstr("of Job default/train stay"))) << "each is told once";
  const auto json = SimulationJson(answer, {});
  EXPECT_EQ(std::string(json.at("podGroups").at(0).at("message").as_string()), message);
  EXPECT_EQ(json.at("podGroups").at(0).at("minCount"), 3);
  EXPECT_EQ(json.at("pods").at(0).at("podGroup"), "g");
}

TEST_F(SimulatedGroupsTest, AGangPreemptsAsAWhole) {
  AddNodes(3);
  for (const char* name : {"a", "b"}) {
    AddPod(MakePod(name)
               .Request("cpu", "3")
               .Controller("apps/v1", "ReplicaSet", "web")
               .Node(name == std::string_view("a") ? "n0" : "n1"));
  }
  const std::string high =
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n---\n" +
      Group("g", "schedulingPolicy: {gang: {minCount: 3}}, priorityClassName: high") +
      JobOf(3, "priorityClassName: high, ");
  const Simulation answer = Simulated(high);
  EXPECT_EQ(answer.groups.size(), 1u);
  ASSERT_EQ(answer.evictions.size(), 2u);
  for (const SimulatedEviction& each : answer.evictions) {
    EXPECT_EQ(each.preemptor, "default/g");
    EXPECT_EQ(each.group_kind, "PodGroup");
  }
  EXPECT_EQ(Placed(answer), 3u);
  EXPECT_THAT(SimulationText(answer, {}), HasSubstr("default/a   n0     PodGroup default/g\n"));
  EXPECT_EQ(SimulationJson(answer, {}).at("evictions").at(0).at("preemptorKind"), "PodGroup");
}

TEST_F(SimulatedGroupsTest, WithoutTheGatePodsGoOneByOneAndThatIsSaid) {
  AddNodes(2);
  const std::string manifests = GangOf(3) + JobOf(3);
  for (const int release : {36, 37}) {
    const Simulation answer = Simulated(manifests, {}, release);
    EXPECT_EQ(Placed(answer), 2u);
    EXPECT_THAT(answer.groups, IsEmpty());
    EXPECT_EQ(answer.pods.front().group, "");
  }
  const auto read = ReadManifests({{"m.yaml", manifests}}, "default");
  ASSERT_TRUE(read.ok());
  const auto warned = [&](int release, const std::vector<std::string>& gates) {
    return PodGroupWarnings(*read, ConfigurationOf(release, gates).release);
  };
  EXPECT_THAT(warned(37, {}), ElementsAre("m.yaml:1: PodGroup default/g: pods are scheduled one by one; with "
                                          "--feature-gates GenericWorkload=true as a group"));
  EXPECT_THAT(warned(36, {}), ElementsAre("m.yaml:1: PodGroup default/g: pods are scheduled one by one, as Kubernetes "
                                          "1.36 does; with --kubernetes-version 1.37 and --feature-gates "
                                          "GenericWorkload=true as a group"));
  EXPECT_THAT(warned(37, kGate), IsEmpty());
}

TEST_F(SimulatedGroupsTest, AGangStaysInOneDomain) {
  for (const auto& [name, rack] : {std::pair("n0", "a"), {"n1", "b"}, {"n2", "b"}})
    state.nodes.push_back(MakeNode(name).Label("rack", rack).Build());
  const std::string gang = Group("g",
                                 "schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: "
                                 "[{key: rack}]}");
  const Simulation answer =
      Simulated(gang + JobOf(2), {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"});
  std::vector<std::string> nodes;
  for (const SimulatedPod& pod : answer.pods) nodes.push_back(pod.node);
  EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("n1", "n2"));
  const auto read = ReadManifests({{"m.yaml", gang}}, "default");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(PodGroupWarnings(*read, ConfigurationOf(37, kGate).release),
              ElementsAre("m.yaml:1: PodGroup default/g: the topology constraint has no effect; it has with "
                          "--feature-gates TopologyAwareWorkloadScheduling=true"));
}

TEST_F(SimulatedGroupsTest, AGangWaitsForItsMembersAndForItsGroup) {
  AddNodes(4);
  const Simulation few = Simulated(GangOf(3) + JobOf(2));
  EXPECT_EQ(Placed(few), 0u);
  ASSERT_EQ(few.groups.size(), 1u);
  EXPECT_EQ(few.groups[0].reason, "Gated");
  EXPECT_EQ(few.groups[0].message,
            "GangScheduling: waiting for minCount pods from a gang to appear in scheduling queue");
  const Simulation none = Simulated(JobOf(2));
  EXPECT_EQ(Placed(none), 0u);
  EXPECT_THAT(none.groups, IsEmpty());
  EXPECT_EQ(none.pods.front().why, "PodGroup: waiting for PodGroup g, or a group that it is in");
}

// The cluster's own gang is refused before the change, and waits for nothing but its back-off.
TEST_F(SimulatedGroupsTest, AGangOfTheClusterIsTriedAgainAfterTheChange) {
  AddNodes(1);
  AddGroup("own", 2);
  for (const char* name : {"own-0", "own-1"}) AddPod(MakePod(name).Request("cpu", "4").InGroup("own"));
  EXPECT_EQ(Placed(Simulated("")), 0u);
  new_nodes = {MakeNode("more")};
  const Simulation answer = Simulated("");
  EXPECT_EQ(Placed(answer), 2u);
  EXPECT_THAT(answer.groups, ElementsAre(SimulatedGroup{"default", "own", 2, 2, 0, "Scheduled", ""}));
  EXPECT_EQ(answer.pods.front().origin, PodOrigin::kPending);
}

TEST_F(SimulatedGroupsTest, AGangByAnnotationIsTriedAgainAfterTheChange) {
  plugins = {{"GangScheduling"}, {"PodGroupAnnotations"}};
  AddNodes(1);
  for (const char* name : {"own-0", "own-1"}) {
    AddPod(MakePod(name)
               .Request("cpu", "4")
               .Annotation("berth.dev/pod-group", "own")
               .Annotation("berth.dev/min-count", "2"));
  }
  EXPECT_EQ(Placed(Simulated("", {}, 36)), 0u);
  new_nodes = {MakeNode("more")};
  EXPECT_EQ(Placed(Simulated("", {}, 36)), 2u);
}

TEST_F(SimulatedGroupsTest, AGangOfTheClusterComesBeforeThatOfAManifest) {
  AddNodes(3);
  AddGroup("own", 2);
  for (const char* name : {"own-0", "own-1"}) AddPod(MakePod(name).Request("cpu", "4").InGroup("own"));
  const Simulation answer = Simulated(GangOf(2) + JobOf(2));
  EXPECT_EQ(Placed(answer), 2u);
  ASSERT_EQ(answer.groups.size(), 2u);
  EXPECT_EQ(answer.groups[0].name, "g");
  EXPECT_FALSE(answer.groups[0].IsPlaced());
  EXPECT_TRUE(answer.groups[1].IsPlaced());
}

TEST_F(SimulatedGroupsTest, AManifestChangesTheMinimumOfAGroupThatIsThere) {
  AddNodes(1);
  AddGroup("g", 2);
  for (const char* name : {"own-0", "own-1"}) AddPod(MakePod(name).Request("cpu", "4").InGroup("g"));
  const Simulation answer = Simulated(GangOf(1));
  EXPECT_EQ(Placed(answer), 1u);
  EXPECT_THAT(answer.groups, ElementsAre(SimulatedGroup{"default", "g", 1, 1, 1, "Scheduled", ""}));
}

TEST_F(SimulatedGroupsTest, APodOfARemovedNodeComesBackToItsGang) {
  AddNodes(3);
  AddGroup("own", 2);
  for (const char* name : {"own-0", "own-1"}) {
    AddPod(MakePod(name)
               .Request("cpu", "4")
               .InGroup("own")
               .Controller("batch/v1", "Job", "own")
               .Node(name == std::string_view("own-0") ? "n0" : "n1"));
  }
  removed = {"n0"};
  const Simulation answer = Simulated("");
  ASSERT_EQ(answer.pods.size(), 1u);
  EXPECT_EQ(answer.pods[0].node, "n2");
  EXPECT_EQ(answer.groups[0].scheduled, 2u);
}

TEST_F(SimulatedGroupsTest, AComparisonReportsBoth) {
  AddNodes(2);
  const Simulation fits = Simulated(GangOf(2) + JobOf(2));
  const Simulation does_not = Simulated(GangOf(3) + JobOf(3));
  const std::string text = ComparisonText({"a", fits}, {"b", does_not}, {});
  EXPECT_THAT(text, HasSubstr("pod groups placed   1   0\n"));
  EXPECT_THAT(text, HasSubstr("b:\n3 pods of PodGroup default/g stay pending:"));
  EXPECT_EQ(
      ComparisonJson({"a", fits}, {"b", does_not}, {}).at("simulations").at(1).at("podGroups").at(0).at("pending"), 3);
}

TEST_F(SimulatedGroupsTest, WhatIsWrongWithAGroupIsNamed) {
  const auto error = [&](const std::string& text) {
    const auto read = ReadManifests({{"m.yaml", text}}, "default");
    if (!read.ok()) return read.error().message;
    const auto made = MakeAdditions(*read, state, {});
    return made.ok() ? "" : made.error().message;
  };
  EXPECT_EQ(error(Group("g", "schedulingPolicy: {gang: {minCount: 0}}")),
            "m.yaml:1: PodGroup default/g: spec.schedulingPolicy.gang.minCount: Required value");
  EXPECT_EQ(error("---\n\n" + Group("g", "schedulingPolicy: {gang: {minimum: 1}}")),
            "m.yaml:6: PodGroup default/g: unknown field \"spec.schedulingPolicy.gang.minimum\"");
  EXPECT_EQ(error(Group("g", "schedulingPolicy: {basic: {}}, priorityClassName: none")),
            "m.yaml:1: PodGroup default/g: spec.priorityClassName: no PriorityClass with name none was found");
  EXPECT_EQ(error(Composite("t", "schedulingPolicy: {gang: {minGroupCount: 0}}")),
            "m.yaml:1: CompositePodGroup default/t: spec.schedulingPolicy.gang.minGroupCount: Required value");
  EXPECT_EQ(error(Composite("t", "schedulingPolicy: {basic: {}}, priorityClassName: none")),
            "m.yaml:1: CompositePodGroup default/t: spec.priorityClassName: no PriorityClass with name none was found");
}

TEST_F(SimulatedGroupsTest, GroupsOfATreeArePlacedTogether) {
  const std::string manifests = Tree(2) + JobOf(2, "", "a") + JobOf(2, "", "b");
  AddNodes(3);
  // Without the gate each stands for itself.
  EXPECT_EQ(Placed(Simulated(manifests)), 2u);
  Simulation answer = Simulated(manifests, kTreeGates);
  EXPECT_EQ(Placed(answer), 0u);
  EXPECT_THAT(answer.composites, ElementsAre(SimulatedComposite{"default", "t", "", 2, 0, 2}));
  ASSERT_EQ(answer.groups.size(), 2u);
  for (const SimulatedGroup& group : answer.groups) EXPECT_EQ(group.parent, "t");
  EXPECT_THAT(SimulationText(answer, {}), HasSubstr("COMPOSITE POD GROUP   MIN GROUPS   PLACED   WAITING   IN\n"
                                                    "default/t                      2        0         2   <none>\n"));
  answer = Simulated(Tree(1) + JobOf(2, "", "a") + JobOf(2, "", "b"), kTreeGates);
  EXPECT_EQ(Placed(answer), 2u);
  EXPECT_THAT(answer.composites, ElementsAre(SimulatedComposite{"default", "t", "", 1, 1, 1}));

  AddNodes(1);
  answer = Simulated(manifests, kTreeGates);
  EXPECT_EQ(Placed(answer), 4u);
  EXPECT_THAT(answer.composites, ElementsAre(SimulatedComposite{"default", "t", "", 2, 2, 0}));
  const auto json = SimulationJson(answer, {});
  EXPECT_EQ(json.at("compositePodGroups").at(0).at("placed"), 2);
  EXPECT_EQ(json.at("compositePodGroups").at(0).at("minGroupCount"), 2);
  EXPECT_TRUE(json.at("compositePodGroups").at(0).at("compositePodGroup").is_null());
  EXPECT_EQ(json.at("podGroups").at(0).at("compositePodGroup"), "t");
}

TEST_F(SimulatedGroupsTest, GroupsOfATreeWithinAnother) {
  AddNodes(4);
  const Simulation answer = Simulated(Composite("top", "schedulingPolicy: {basic: {}}") +
                                          Composite("t",
                                                    "parentCompositePodGroupName: top, schedulingPolicy: {gang: "
                                                    "{minGroupCount: 2}}") +
                                          TreeGroup("a") + TreeGroup("b") + JobOf(2, "", "a") + JobOf(2, "", "b"),
                                      kTreeGates);
  EXPECT_EQ(Placed(answer), 4u);
  EXPECT_THAT(answer.composites, ElementsAre(SimulatedComposite{"default", "t", "top", 2, 2, 0},
                                             SimulatedComposite{"default", "top", "", std::nullopt, 1, 0}));
}

TEST_F(SimulatedGroupsTest, ATreePreemptsAsAWhole) {
  AddNodes(4);
  AddPod(MakePod("low").Request("cpu", "4").Controller("apps/v1", "ReplicaSet", "web").Node("n0"));
  const std::string high =
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n---\n" +
      Composite("t", "schedulingPolicy: {gang: {minGroupCount: 2}}, priorityClassName: high") +
      TreeGroup("a", "priorityClassName: high, ") + TreeGroup("b", "priorityClassName: high, ") +
      JobOf(2, "priorityClassName: high, ", "a") + JobOf(2, "priorityClassName: high, ", "b");
  const Simulation answer = Simulated(high, kTreeGates);
  EXPECT_EQ(Placed(answer), 4u);
  ASSERT_EQ(answer.evictions.size(), 1u);
  EXPECT_EQ(answer.evictions[0].group_kind, "CompositePodGroup");
  EXPECT_EQ(answer.evictions[0].preemptor, "default/t");
  EXPECT_EQ(SimulationJson(answer, {}).at("evictions").at(0).at("preemptorKind"), "CompositePodGroup");
}

TEST_F(SimulatedGroupsTest, ACompositeGroupOfTheClusterKeepsItsAge) {
  api::CompositePodGroup own;
  own.metadata.name = "t";
  own.metadata.namespace_name = "default";
  own.metadata.uid = "uid-t";
  own.metadata.creation_time = kNow - std::chrono::hours(5);
  own.min_group_count = 9;
  state.objects.emplace_back(std::make_shared<const api::CompositePodGroup>(own));
  const auto read = ReadManifests({{"m.yaml", Composite("t", "schedulingPolicy: {basic: {}}")}}, "default");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto made = MakeAdditions(*read, state, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->objects.size(), 1u);
  const auto& group = *std::get<std::shared_ptr<const api::CompositePodGroup>>(made->objects[0]);
  EXPECT_EQ(group.metadata.uid, "uid-t");
  EXPECT_EQ(group.metadata.creation_time, own.metadata.creation_time);
  EXPECT_EQ(group.min_group_count, std::nullopt);
}

TEST_F(SimulatedGroupsTest, WithoutTheGateOfTreesThatIsSaid) {
  const auto read = ReadManifests({{"m.yaml", Tree(2)}}, "default");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(
      PodGroupWarnings(*read, ConfigurationOf(37, kGate).release),
      ElementsAre("m.yaml:1: CompositePodGroup default/t: its groups are placed each by itself; they are placed "
                  "together with --feature-gates "
                  "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"));
  EXPECT_THAT(PodGroupWarnings(*read, ConfigurationOf(37, kTreeGates).release), IsEmpty());
}

// A cluster from a file, whose pods refer to their group by its other name if it is anonymous, decides the same.
TEST_F(SimulatedGroupsTest, AGangInASnapshot) {
  const std::vector<std::pair<std::string, std::string>> objects = {
      {"Node", R"({"metadata":{"name":"a-1"},"status":{"allocatable":{"cpu":"4","pods":"9"}}})"},
      {"Node", R"({"metadata":{"name":"a-2"},"status":{"allocatable":{"cpu":"4","pods":"9"}}})"},
      {"PodGroup", R"({"metadata":{"name":"small","namespace":"shop","uid":"u-1"},
          "spec":{"schedulingPolicy":{"gang":{"minCount":2}},"priority":7}})"},
      {"PodGroup", R"({"metadata":{"name":"large","namespace":"shop","uid":"u-2"},
          "spec":{"schedulingPolicy":{"gang":{"minCount":3}},"schedulingConstraints":{"topology":[{"key":"rack"}]}},
          "status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False","reason":"Unschedulable",
          "message":"minCount (3) ..."}]}})"}};
  const auto pod = [](const std::string& name, const std::string& group, int priority) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"shop","uid":"u-)" + name +
           R"("},"spec":{"schedulerName":"default-scheduler","priority":)" + std::to_string(priority) +
           R"(,"schedulingGroup":{"podGroupName":")" + group +
           R"("},"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}})";
  };
  std::vector<std::vector<SimulatedGroup>> answers;
  const Anonymizer anonymizer({3, 4});
  for (const bool is_anonymous : {false, true}) {
    auto all = objects;
    for (const char* name : {"s-0", "s-1"}) all.emplace_back("Pod", pod(name, "small", 7));
    for (const char* name : {"l-0", "l-1", "l-2"}) all.emplace_back("Pod", pod(name, "large", 0));
    ThroughASnapshot(all, is_anonymous ? &anonymizer : nullptr);
    Simulation answer = Simulated("");
    EXPECT_EQ(Placed(answer), 2u);
    std::ranges::sort(answer.groups, {}, &SimulatedGroup::min_count);
    answers.push_back(answer.groups);
  }
  ASSERT_EQ(answers[1].size(), 2u);
  EXPECT_EQ(answers[0][0].name, "small");
  EXPECT_EQ(answers[0][0].reason, "Scheduled");
  EXPECT_EQ(answers[0][1].reason, "Unschedulable");
  EXPECT_EQ(answers[1][0].name, anonymizer.Text("small"));
  for (std::size_t i = 0; i < 2; ++i) {
    answers[1][i].namespace_name = answers[0][i].namespace_name;
    answers[1][i].name = answers[0][i].name;
  }
  EXPECT_EQ(answers[0], answers[1]);
}

// One group of the tree fits, and the tree needs both.
TEST_F(SimulatedGroupsTest, ATreeInASnapshot) {
  std::vector<std::pair<std::string, std::string>> objects = {
      {"CompositePodGroup", R"({"metadata":{"name":"all","namespace":"shop","uid":"u-0"},
          "spec":{"schedulingPolicy":{"gang":{"minGroupCount":2}},"priority":0}})"}};
  for (const std::string name : {"n0", "n1", "n2"}) {
    objects.emplace_back("Node",
                         R"({"metadata":{"name":")" + name + R"("},"status":{"allocatable":{"cpu":"4","pods":"9"}}})");
  }
  for (const std::string name : {"a", "b"}) {
    objects.emplace_back("PodGroup", R"({"metadata":{"name":")" + name + R"(","namespace":"shop","uid":"u-)" + name +
                                         R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":2}},"priority":0,
                                         "parentCompositePodGroupName":"all"}})");
    for (const std::string pod : {"0", "1"}) {
      objects.emplace_back("Pod",
                           R"({"metadata":{"name":")" + name + pod + R"(","namespace":"shop","uid":"u-)" + name + pod +
                               R"("},"spec":{"schedulerName":"default-scheduler","priority":0,
                     "schedulingGroup":{"podGroupName":")" +
                               name + R"("},"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}})");
    }
  }
  const Anonymizer anonymizer({3, 4});
  for (const bool is_anonymous : {false, true}) {
    ThroughASnapshot(objects, is_anonymous ? &anonymizer : nullptr);
    EXPECT_EQ(Placed(Simulated("")), 2u);
    const Simulation answer = Simulated("", kTreeGates);
    EXPECT_EQ(Placed(answer), 0u);
    const auto name = [&](const std::string& text) { return is_anonymous ? anonymizer.Text(text) : text; };
    EXPECT_THAT(answer.composites, ElementsAre(SimulatedComposite{name("shop"), name("all"), "", 2, 0, 2}));
  }
}

}  // namespace
}  // namespace berth::whatif
