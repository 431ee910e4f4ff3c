// SPDX-License-Identifier: Apache-2.0
// Claims that are one pod's: they go with it.
#include "berth/whatif/own_claims.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/framework/object_kinds.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/drain.h"
#include "berth/whatif/headroom.h"
#include "berth/whatif/pod_templates.h"
#include "berth/whatif/shapes.h"
#include "berth/whatif/simulation.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

framework::AnyObject ObjectOf(framework::ObjectKind kind, const std::string& text) {
  auto object = DecodeAny(kind, codec::json::parse(text).as_object());
  BERTH_CHECK(object.ok(), object.error().message);
  return std::move(*object);
}

// Two devices on each of `nodes`.
void AddDevices(ClusterState& state, const std::vector<std::string>& nodes) {
  using enum framework::ObjectKind;
  state.objects.push_back(ObjectOf(kDeviceClass, R"({"metadata":{"name":"k"},"spec":{}})"));
  for (const std::string& node : nodes) {
    state.objects.push_back(ObjectOf(
        kResourceSlice, R"({"metadata":{"name":")" + node + R"("},"spec":{"driver":"d","nodeName":")" + node +
                            R"(","pool":{"name":")" + node +
                            R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0"},{"name":"d1"}]}})"));
  }
}

// A claim that has the first device of the node, for the pod.
framework::AnyObject ClaimOf(const std::string& name, const std::string& pod_uid, const std::string& node,
                             const std::string& more_meta = "") {
  return ObjectOf(
      framework::ObjectKind::kResourceClaim,
      R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":"c-)" + name + "\"" + more_meta +
          R"(},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"k","allocationMode":"ExactCount","count":1}}]}},"status":{"allocation":{
          "devices":{"results":[{"request":"r","driver":"d","pool":")" +
          node + R"(","device":"d0"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",
          "operator":"In","values":[")" +
          node + R"("]}]}]}},"reservedFor":[{"resource":"pods","name":"p","uid":")" + pod_uid + R"("}]}})");
}

ClusterState Devices() {
  std::vector<testing::NodeBuilder> nodes;
  for (const char* name : {"a", "b", "c"}) {
    nodes.push_back(MakeNode(name).Label("kubernetes.io/hostname", name));
  }
  ClusterState state = StateOf(nodes, {});
  AddDevices(state, {"a", "b", "c"});
  return state;
}

api::Pod RunningWith(api::PodResourceClaim claim) {
  api::Pod pod = MakePod("dev-0").Controller("apps/v1", "ReplicaSet", "dev").Node("a").ResourceClaim(claim).Build();
  pod.status.phase = api::PodPhase::kRunning;
  return pod;
}

std::vector<std::string> DrainOfA(const ClusterState& state) {
  const auto cluster = ClusterOf(state);
  std::vector<std::string> said;
  for (const DrainedPod& pod : PlanDrain(*cluster, state, {"a"}, {}).pods)
    said.push_back(pod.key + (pod.obstacle.empty() ? " -> a node" : ": " + pod.obstacle));
  const auto* const claim = cluster->objects().Of<api::ResourceClaim>().Find("default/mine");
  if (claim != nullptr) {
    EXPECT_TRUE(claim->allocation) << "all is taken back";
  }
  return said;
}

TEST(OwnClaimsTest, AClaimThatThePodAloneHoldsGoesWithIt) {
  ClusterState state = Devices();
  const api::Pod pod = RunningWith({"x", "mine", {}});
  state.pods.push_back(std::make_shared<const api::Pod>(pod));
  state.objects.push_back(ClaimOf("mine", pod.metadata.uid, "a"));
  EXPECT_THAT(DrainOfA(state), ElementsAre("default/dev-0 -> a node"));
  const auto cluster = ClusterOf(state);
  const Headroom headroom = MeasureHeadroom(*cluster, state, {});
  ASSERT_EQ(headroom.workloads.size(), 1U);
  EXPECT_EQ(headroom.workloads[0].survives, 2U) << "a, and then b or c";

  // Another pod holds it too: it stays where it is.
  auto shared =
      std::make_shared<api::ResourceClaim>(*std::get<std::shared_ptr<const api::ResourceClaim>>(state.objects.back()));
  shared->reserved_for.push_back(shared->reserved_for.front());
  shared->reserved_for.back().uid = "other";
  state.objects.back() = std::shared_ptr<const api::ResourceClaim>(shared);
  ASSERT_EQ(DrainOfA(state).size(), 1U);
  EXPECT_THAT(DrainOfA(state)[0], ::testing::HasSubstr("fits nowhere"));
}

TEST(OwnClaimsTest, AClaimOfATemplateIsRecreated) {
  ClusterState state = Devices();
  api::Pod pod = RunningWith({"x", {}, "t"});
  pod.status.resource_claim_statuses.push_back({"x", "mine"});
  state.pods.push_back(std::make_shared<const api::Pod>(pod));
  const std::string owned = R"(,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"dev-0","uid":")" +
                            pod.metadata.uid + R"(","controller":true}])";
  state.objects.push_back(ClaimOf("mine", pod.metadata.uid, "a", owned));
  EXPECT_THAT(DrainOfA(state), ElementsAre("default/dev-0 -> a node"));
  const auto cluster = ClusterOf(state);
  EXPECT_EQ(MeasureHeadroom(*cluster, state, {}).workloads[0].survives, 2U);
  const auto shape = ShapeLike(state, cluster->objects(), "default/dev-0");
  ASSERT_TRUE(shape.ok());
  const auto capacity = MeasureCapacity(*cluster, {*shape}, {});
  ASSERT_TRUE(capacity.ok()) << capacity.error().message;
  EXPECT_EQ(capacity->shapes[0].fits, 5U) << "six devices, one of which the pod has";

  // The claim is not there: nobody knows what it asked for.
  state.objects.pop_back();
  EXPECT_THAT(DrainOfA(state), ElementsAre("default/dev-0: where it would go is not known: the claim of its "
                                           "ResourceClaimTemplate t is not known"));
  const auto unknown = ShapeLike(state, ClusterOf(state)->objects(), "default/dev-0");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "--like default/dev-0: the claim of its ResourceClaimTemplate t is not known");
}

// A volume on each of `nodes`, the first of them bound to the claim.
void AddVolumes(ClusterState& state, const std::vector<std::string>& nodes, const std::string& claim) {
  using enum framework::ObjectKind;
  state.objects.push_back(
      ObjectOf(kStorageClass, R"({"metadata":{"name":"loc"},"provisioner":"kubernetes.io/no-provisioner",
      "volumeBindingMode":"WaitForFirstConsumer"})"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string bound = i > 0 ? "" : R"("claimRef":{"namespace":"default","name":")" + claim + R"("},)";
    state.objects.push_back(ObjectOf(
        kPersistentVolume,
        R"({"metadata":{"name":"v)" + std::to_string(i) + R"("},"spec":{)" + bound +
            R"("capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"loc","local":{"path":"/x"},
            "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname",
            "operator":"In","values":[")" +
            nodes[i] + R"("]}]}]}}},"status":{"phase":"Available"}})"));
  }
  state.objects.push_back(ObjectOf(
      kPersistentVolumeClaim,
      R"({"metadata":{"namespace":"default","name":")" + claim +
          R"(","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"v0","storageClassName":"loc",
          "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"}})"));
}

// Pods that wait are placed before nodes go, and get devices and volumes there. Without the node they get others.
TEST(OwnClaimsTest, APendingPodOfARemovedNodeIsGivenAnotherDeviceOrVolume) {
  const std::string spec =
      R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"k","allocationMode":"ExactCount","count":1}}]}}})";
  ClusterState state = Devices();
  const api::Pod by_name = MakePod("by-name").ResourceClaim({.name = "dev", .claim_name = "mine"}).Build();
  state.objects.push_back(
      ObjectOf(framework::ObjectKind::kResourceClaim,
               R"({"metadata":{"namespace":"default","name":"mine","uid":"c-mine","resourceVersion":"8123"},)" + spec));

  api::Pod by_template = MakePod("by-template").ResourceClaim({.name = "dev", .template_name = "t"}).Build();
  by_template.status.resource_claim_statuses.push_back({"dev", "made"});
  state.objects.push_back(ObjectOf(
      framework::ObjectKind::kResourceClaim,
      R"({"metadata":{"namespace":"default","name":"made","uid":"c-made","resourceVersion":"8124","ownerReferences":[
          {"apiVersion":"v1","kind":"Pod","name":"by-template","uid":")" +
          by_template.metadata.uid + R"(","controller":true}]},)" + spec));

  const api::Pod by_amount = MakePod("by-amount").Request("example.com/gpu", "1").Build();
  state.objects.push_back(ObjectOf(framework::ObjectKind::kDeviceClass,
                                   R"({"metadata":{"name":"e"},"spec":{"extendedResourceName":"example.com/gpu"}})"));

  const api::Pod by_volume = MakePod("by-volume").Claim("data").Build();
  state.objects.push_back(ObjectOf(
      framework::ObjectKind::kStorageClass,
      R"({"metadata":{"name":"wait"},"provisioner":"csi.example","volumeBindingMode":"WaitForFirstConsumer"})"));
  for (const std::string node : {"a", "b", "c"})
    state.objects.push_back(
        ObjectOf(framework::ObjectKind::kCsiNode, R"({"metadata":{"name":")" + node +
                                                      R"("},"spec":{"drivers":[{"name":"csi.example","nodeID":")" +
                                                      node + R"(","topologyKeys":["kubernetes.io/hostname"]}]}})"));
  state.objects.push_back(
      ObjectOf(framework::ObjectKind::kPersistentVolumeClaim,
               R"({"metadata":{"namespace":"default","name":"data","uid":"c-data","resourceVersion":"8125"},"spec":{
          "accessModes":["ReadWriteOnce"],"storageClassName":"wait","resources":{"requests":{"storage":"1Gi"}}}})"));

  const api::Pod by_local_volume = MakePod("by-local-volume").Claim("local").Build();
  state.objects.push_back(ObjectOf(framework::ObjectKind::kStorageClass,
                                   R"({"metadata":{"name":"disks"},"provisioner":"kubernetes.io/no-provisioner",
                                       "volumeBindingMode":"WaitForFirstConsumer"})"));
  for (const std::string node : {"a", "b"})
    state.objects.push_back(
        ObjectOf(framework::ObjectKind::kPersistentVolume,
                 R"({"metadata":{"name":"disk-)" + node +
                     R"(","resourceVersion":"8126"},"spec":{"storageClassName":"disks","capacity":{"storage":"1Gi"},
            "accessModes":["ReadWriteOnce"],"local":{"path":"/d"},"nodeAffinity":{"required":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" +
                     node + R"("]}]}]}}},"status":{"phase":"Available"}})"));
  state.objects.push_back(
      ObjectOf(framework::ObjectKind::kPersistentVolumeClaim,
               R"({"metadata":{"namespace":"default","name":"local","uid":"c-local","resourceVersion":"8127"},"spec":{
          "accessModes":["ReadWriteOnce"],"storageClassName":"disks","resources":{"requests":{"storage":"1Gi"}}}})"));

  for (const api::Pod& pod : {by_name, by_template, by_amount, by_volume, by_local_volume}) {
    SCOPED_TRACE(pod.metadata.name);
    state.pods = {std::make_shared<const api::Pod>(pod)};
    const auto placed = Simulate({state, {}, {}}, OptionsOf());
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    ASSERT_EQ(placed->pods.size(), 1U);
    const std::string node = placed->pods.front().node;
    EXPECT_NE(node, "") << placed->pods.front().why;

    const std::vector<std::string> removed = {node};
    const auto without = Simulate({state, {}, removed}, OptionsOf());
    ASSERT_TRUE(without.ok()) << without.error().message;
    ASSERT_EQ(without->pods.size(), 1U);
    EXPECT_NE(without->pods.front().node, "") << without->pods.front().why;
  }
}

// The scheduler makes the claim of a pod's extended resource, which is in no list of the pod's.
TEST(OwnClaimsTest, TheClaimOfAnExtendedResourceGoesWithItsPod) {
  ClusterState state = StateOf({MakeNode("a").Label("kubernetes.io/hostname", "a")}, {});
  AddDevices(state, {"a"});
  api::Pod ends = MakePod("ends").Node("a").Deleted(kNow).Build();
  state.objects.push_back(ClaimOf("made", ends.metadata.uid, "a",
                                  R"(,"annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},
      "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"ends","uid":")" +
                                      ends.metadata.uid + R"(","controller":true}])"));
  state.objects.push_back(ObjectOf(framework::ObjectKind::kResourceClaim,
                                   R"({"metadata":{"namespace":"default","name":"both","uid":"c-both"},"spec":{
      "devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"k","allocationMode":"ExactCount","count":2}}]}}})"));
  state.pods.push_back(
      std::make_shared<const api::Pod>(MakePod("waits").ResourceClaim({.name = "dev", .claim_name = "both"}).Build()));
  const auto holds = Simulate({state, {}, {}}, OptionsOf());
  ASSERT_TRUE(holds.ok()) << holds.error().message;
  EXPECT_EQ(holds->pods.at(0).node, "") << "one device of two is taken";
  state.pods.push_back(std::make_shared<const api::Pod>(ends));
  const auto answer = Simulate({state, {}, {}}, OptionsOf());
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->pods.at(0).node, "a") << answer->pods.at(0).why;
}

TEST(OwnClaimsTest, AStatefulSetsClaimStaysButAnotherPodOfTheSetHasItsOwn) {
  ClusterState state = Devices();
  AddVolumes(state, {"a", "b", "c", "c"}, "data-db-0");
  api::Pod pod = MakePod("db-0").Controller("apps/v1", "StatefulSet", "db").Node("a").Claim("data-db-0").Build();
  pod.spec.volumes[0].name = "data";
  pod.status.phase = api::PodPhase::kRunning;
  state.pods.push_back(std::make_shared<const api::Pod>(pod));
  ASSERT_EQ(DrainOfA(state).size(), 1U);
  EXPECT_THAT(DrainOfA(state)[0], ::testing::HasSubstr("fits nowhere")) << "its volume is on a";
  const auto cluster = ClusterOf(state);
  const auto shape = ShapeLike(state, cluster->objects(), "default/db-0");
  ASSERT_TRUE(shape.ok());
  const auto capacity = MeasureCapacity(*cluster, {*shape}, {});
  ASSERT_TRUE(capacity.ok()) << capacity.error().message;
  EXPECT_EQ(capacity->shapes[0].fits, 3U) << "a volume for each of them";
}

TEST(OwnClaimsTest, AnEphemeralVolumeIsRecreated) {
  ClusterState state = Devices();
  AddVolumes(state, {"a", "b"}, "eph-0-v");
  api::Pod pod = MakePod("eph-0").Controller("apps/v1", "ReplicaSet", "eph").Node("a").Build();
  pod.spec.volumes.push_back({"v", {api::VolumeKind::kEphemeral, {}, {}, {}, {}, false, {}}});
  pod.status.phase = api::PodPhase::kRunning;
  state.pods.push_back(std::make_shared<const api::Pod>(pod));
  const auto cluster = ClusterOf(state);
  const DrainPlan plan = PlanDrain(*cluster, state, {"a"}, {});
  ASSERT_EQ(plan.pods.size(), 1U);
  EXPECT_EQ(plan.pods[0].place, "b") << "where the other volume is";
}

}  // namespace
}  // namespace berth::whatif
