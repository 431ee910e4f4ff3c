// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/blocking_objects.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/explanation_json.h"
#include "berth/answers/explanation_text.h"
#include "berth/codec/json_reader.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/state_builder.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::ExplanationLines, answers::ExplanationJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Objects = std::vector<std::pair<std::string_view, std::string>>;

std::string Node(const std::string& name, const std::string& zone) {
  return R"({"metadata":{"name":")" + name + R"(","labels":{"zone":")" + zone +
         R"("}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})";
}

// Nodes a-1, b-1 and b-2, and the objects.
ClusterState StateWith(const Objects& objects) {
  StateBuilder builder;
  codec::JsonReader reader;
  const auto add = [&](std::string_view kind, const std::string& object) {
    const auto parsed = reader.Parse(object);
    ASSERT_TRUE(parsed.ok()) << object;
    EXPECT_TRUE(builder.Add(*KindNamed(kind), *parsed)) << object;
  };
  for (const auto& [name, zone] : {std::pair("a-1", "a"), std::pair("b-1", "b"), std::pair("b-2", "b")})
    add("Node", Node(name, zone));
  for (const auto& [kind, object] : objects) add(kind, object);
  return std::move(builder).Take();
}

std::string Pod(const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"name":"p","namespace":"shop"},"spec":{"schedulerName":"default-scheduler","containers":[
      {"name":"c","image":"i"}],)" +
         spec + R"(},"status":)" + status + "}";
}

constexpr const char* kVolume = R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}])";
constexpr const char* kDevices = R"("resourceClaims":[{"name":"gpu","resourceClaimName":"g"}])";

std::string Claim(const std::string& spec, const std::string& meta = "") {
  return R"({"metadata":{"name":"data","namespace":"shop")" + meta + R"(},"spec":{)" + spec + "}}";
}
std::string Volume(const std::string& zone) {
  return R"({"metadata":{"name":"pv-3"},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"zone","operator":"In","values":[")" +
         zone + R"("]}]}]}}}})";
}
std::string DeviceClaim(const std::string& requests, const std::string& status = "{}") {
  return R"({"metadata":{"name":"g","namespace":"shop"},"spec":{"devices":{"requests":[)" + requests +
         R"(]}},"status":)" + status + "}";
}
constexpr const char* kOneGpu =
    R"({"name":"r","exactly":{"deviceClassName":"gpus","allocationMode":"ExactCount","count":1}})";

TEST(BlockingObjectsTest, EachIsASentence) {
  struct {
    const char* name;
    Objects objects;
    std::string pod;
    std::vector<std::string> want;
  } const cases[] = {
      {"no claims", {}, Pod(R"("volumes":[])"), {}},
      {"no such claim",
       {},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data does not exist: the pod waits until somebody creates it"}},
      {"no claim of an ephemeral volume",
       {},
       Pod(R"("volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{}}}])"),
       {"PersistentVolumeClaim shop/p-v does not exist yet: a controller makes it for the pod"}},
      {"a claim on its way out",
       {{"PersistentVolumeClaim", Claim("", R"(,"deletionTimestamp":"2030-01-01T00:00:00Z")")}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is being deleted"}},
      {"a volume that two nodes can mount",
       {{"PersistentVolumeClaim", Claim(R"("volumeName":"pv-3")")}, {"PersistentVolume", Volume("b")}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is bound to PersistentVolume pv-3, which 2 of 3 nodes can mount: b-1, b-2"}},
      {"a volume that no node can mount",
       {{"PersistentVolumeClaim", Claim(R"("volumeName":"pv-3")")}, {"PersistentVolume", Volume("z")}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is bound to PersistentVolume pv-3, which 0 of 3 nodes can mount"}},
      {"a volume that is gone",
       {{"PersistentVolumeClaim", Claim(R"("volumeName":"pv-3")")}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is bound to PersistentVolume pv-3, which does not exist"}},
      {"a volume of every node",
       {{"PersistentVolumeClaim", Claim(R"("volumeName":"pv-3")")},
        {"PersistentVolume", R"({"metadata":{"name":"pv-3"},"spec":{}})"}},
       Pod(kVolume),
       {}},
      {"a volume of a zone",
       {{"PersistentVolumeClaim", Claim(R"("volumeName":"pv-3")")},
        {"PersistentVolume", R"({"metadata":{"name":"pv-3","labels":{"topology.kubernetes.io/zone":"a"}},"spec":{}})"}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is bound to PersistentVolume pv-3, which is labelled "
        "topology.kubernetes.io/zone=a: nodes of other zones are refused"}},
      {"a class that does not exist",
       {{"PersistentVolumeClaim", Claim(R"("storageClassName":"fast")")}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is unbound, and its StorageClass fast does not exist"}},
      {"a class that binds at once",
       {{"PersistentVolumeClaim", Claim(R"("storageClassName":"fast")")},
        {"StorageClass", R"({"metadata":{"name":"fast"},"provisioner":"x","volumeBindingMode":"Immediate"})"}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is unbound, and its StorageClass fast binds at once: the pod waits for its "
        "volume, whichever node it may get"}},
      {"a class of one zone",
       {{"PersistentVolumeClaim", Claim(R"("storageClassName":"fast")")},
        {"StorageClass", R"({"metadata":{"name":"fast"},"provisioner":"x","volumeBindingMode":"WaitForFirstConsumer",
            "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a"]}]}]})"}},
       Pod(kVolume),
       {"PersistentVolumeClaim shop/data is unbound, and its StorageClass fast makes volumes that 1 of 3 nodes can "
        "mount: a-1"}},
      {"no such device claim", {}, Pod(kDevices), {"ResourceClaim shop/g does not exist"}},
      {"no such device class",
       {{"ResourceClaim", DeviceClaim(kOneGpu)}},
       Pod(kDevices),
       {"ResourceClaim shop/g asks for devices of DeviceClass gpus, which does not exist"}},
      {"one of two alternatives has a class",
       {{"DeviceClass", R"({"metadata":{"name":"gpus"},"spec":{}})"},
        {"ResourceClaim", DeviceClaim(R"({"name":"r","firstAvailable":[
            {"name":"a","deviceClassName":"none","allocationMode":"ExactCount","count":1},
            {"name":"b","deviceClassName":"gpus","allocationMode":"ExactCount","count":1}]})")}},
       Pod(kDevices),
       {"ResourceClaim shop/g, request r/b: a device of DeviceClass gpus; no node has one"}},
      {"devices of one node",
       {{"ResourceClaim", DeviceClaim(kOneGpu, R"({"allocation":{"nodeSelector":{"nodeSelectorTerms":[
            {"matchFields":[{"key":"metadata.name","operator":"In","values":["a-1"]}]}]}}})")}},
       Pod(kDevices),
       {"ResourceClaim shop/g is allocated devices that 1 of 3 nodes can reach: a-1"}},
      {"a claim that no template makes",
       {},
       Pod(R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}])"),
       {"the ResourceClaim of gpu is not made yet: there is no ResourceClaimTemplate t"}},
      {"a claim that a template makes",
       {{"ResourceClaimTemplate", R"({"metadata":{"name":"t","namespace":"shop"},"spec":{"spec":{}}})"}},
       Pod(R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}])"),
       {"the ResourceClaim of gpu is not made yet: a controller makes it from ResourceClaimTemplate t"}},
  };
  for (const auto& [name, objects, pod, want] : cases) {
    Objects all = objects;
    all.emplace_back("Pod", pod);
    const ClusterState state = StateWith(all);
    EXPECT_EQ(BlockingObjects(state, *state.pods.front()), want) << name;
  }
}

TEST(BlockingObjectsTest, WhatCouldNotBeReadIsNotSaidToBeMissing) {
  ClusterState state = StateWith({{"Pod", Pod(std::string(kVolume) + "," + kDevices)}});
  EXPECT_EQ(BlockingObjects(state, *state.pods.front()).size(), 2U);
  state.left_out = {"persistentvolumeclaims: forbidden: ...", "resourceclaims: forbidden: ..."};
  EXPECT_THAT(BlockingObjects(state, *state.pods.front()), IsEmpty());
}

TEST(BlockingObjectsTest, AnExplanationNamesThoseThatDoNotExist) {
  // A volume's claim is missed by VolumeRestrictions; a resource claim that is not made yet is a gate.
  for (const auto& [of_pod, want] : std::map<std::string, std::string>{
           {kVolume, "PersistentVolumeClaim shop/data does not exist: the pod waits until somebody creates it"},
           {kDevices, "ResourceClaim shop/g does not exist"}}) {
    const ClusterState state = StateWith({{"Pod", Pod(of_pod)}});
    const auto cluster = ClusterOf(state);
    const auto said = ExplainPod(*cluster, state, "shop", "p");
    ASSERT_TRUE(said.ok()) << said.error().message;
    EXPECT_THAT(said->blocking_objects, ElementsAre(HasSubstr(want))) << said->message;
  }
}

TEST(BlockingObjectsTest, AnExplanationNamesThem) {
  const ClusterState state =
      StateWith({{"PersistentVolumeClaim",
                  Claim(R"("volumeName":"pv-3")", R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})")},
                 {"PersistentVolume", Volume("z")},
                 {"Pod", Pod(kVolume)}});
  const auto cluster = ClusterOf(state);
  const auto said = ExplainPod(*cluster, state, "shop", "p");
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, PodState::kRefused);
  const char* const want =
      "PersistentVolumeClaim shop/data is bound to PersistentVolume pv-3, which 0 of 3 nodes can mount";
  EXPECT_THAT(said->blocking_objects, ElementsAre(want));
  EXPECT_THAT(codec::WriteJson(ExplanationJson(*said)), HasSubstr(want));
  std::string text;
  for (const std::string& line : ExplanationLines(*said, {})) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("Claims in the way\n  PersistentVolumeClaim shop/data is bound"));
}

// --- What is free ---

TEST(FreeDevicesTest, ARequestIsDescribedWithWhatIsFreeWhere) {
  const auto slice = [](const std::string& node) {
    return R"({"metadata":{"name":")" + node + R"("},"spec":{"driver":"d","nodeName":")" + node +
           R"(","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0"},
           {"name":"d1"},{"name":"d2","taints":[{"key":"k","effect":"NoSchedule"}]}]}})";
  };
  const std::string taken =
      R"({"metadata":{"name":"taken","namespace":"shop","uid":"t"},"spec":{"devices":{"requests":[{"name":"r",
          "exactly":{"deviceClassName":"gpu"}}]}},"status":{"allocation":{"devices":{"results":[{"request":"r",
          "driver":"d","pool":"b-1","device":"d0"}]}}}})";
  const std::string wanted =
      R"({"metadata":{"name":"g","namespace":"shop","uid":"g"},"spec":{"devices":{"requests":[{"name":"big",
          "exactly":{"deviceClassName":"gpu","count":3}}]}}})";
  ClusterState state = StateWith({{"DeviceClass", R"({"metadata":{"name":"gpu"},"spec":{}})"},
                                  {"ResourceSlice", slice("a-1")},
                                  {"ResourceSlice", slice("b-1")},
                                  {"ResourceClaim", taken},
                                  {"ResourceClaim", wanted},
                                  {"Pod", Pod(kDevices)}});
  EXPECT_THAT(BlockingObjects(state, *state.pods[0]),
              ElementsAre("ResourceClaim shop/g, request big: 3 devices of DeviceClass gpu; free: 2 of 3 on a-1 (1 "
                          "tainted), 1 of 3 on b-1 (1 tainted)"));
}

TEST(BlockingObjectsTest, ANodeThatIsGoneIsNamed) {
  ClusterState state = StateWith(
      {{"StorageClass", R"({"metadata":{"name":"late"},"provisioner":"x","volumeBindingMode":"WaitForFirstConsumer"})"},
       {"PersistentVolumeClaim",
        Claim(R"("storageClassName":"late")", R"(,"annotations":{"volume.kubernetes.io/selected-node":"gone"})")},
       {"Pod", Pod(kVolume)}});
  EXPECT_THAT(BlockingObjects(state, *state.pods[0]),
              ElementsAre("PersistentVolumeClaim shop/data waits for a volume that was asked for on node gone, which "
                          "does not exist: no node takes the pod until its provisioner, or somebody, removes the "
                          "annotation volume.kubernetes.io/selected-node"));
}

}  // namespace
}  // namespace berth::whatif
