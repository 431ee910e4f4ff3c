// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

using framework::ClusterEvent;
using framework::EventResource;
using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

std::optional<framework::AnyObject> None() { return std::nullopt; }

template <typename T>
std::optional<framework::AnyObject> Any(const ObjectBuilder<T>& object) {
  return framework::AnyObject(object.Build());
}

auto Class(std::vector<std::vector<api::TopologySelectorRequirement>> topologies) {
  return Any(MakeClass("c").With([&](auto& c) { c.allowed_topologies = std::move(topologies); }));
}
auto Claim(std::string name, std::string namespace_name = "default") {
  return Any(MakeClaim(std::move(name)).With([&](auto& c) { c.metadata.namespace_name = std::move(namespace_name); }));
}
auto CsiNode(std::string migrated) {
  return Any(ObjectBuilder<api::CsiNode>("n").Annotate("storage.alpha.kubernetes.io/migrated-plugins", migrated));
}
auto Driver(std::string name, std::optional<bool> capacity) {
  return Any(ObjectBuilder<api::CsiDriver>(std::move(name)).With([&](auto& d) { d.storage_capacity = capacity; }));
}
auto Capacity(std::optional<int> size, std::optional<int> largest) {
  return Any(ObjectBuilder<api::CsiStorageCapacity>("c").With([&](auto& c) {
    if (size) c.capacity = api::Quantity::FromValue(*size);
    if (largest) c.maximum_volume_size = api::Quantity::FromValue(*largest);
  }));
}

TEST(VolumeBindingEvents, Hints) {
  using namespace framework::action;
  const auto plain = MakePod("pod").Claim("data").Info();
  const auto ephemeral =
      MakePod("pod").Volume({"scratch", {api::VolumeKind::kEphemeral, "", "", "", {}, false}}).Info();
  const auto inlined = MakePod("pod").Volume({"v", {api::VolumeKind::kCsi, "h", "d", "", {}, false}}).Info();
  constexpr auto kQueue = QueueingHint::kQueue;
  constexpr auto kSkip = QueueingHint::kSkip;
  const struct {
    const char* name;
    framework::PodInfoPtr pod;
    ClusterEvent event;
    std::optional<framework::AnyObject> before, after;
    QueueingHint want;
  } cases[] = {
      {"class added", plain, {EventResource::kStorageClass, kAdd}, None(), Class({}), kQueue},
      {"class: topologies changed",
       plain,
       {EventResource::kStorageClass, kUpdate},
       Class({}),
       Class({{{"zone", {"a"}}}}),
       kQueue},
      {"class: something else changed", plain, {EventResource::kStorageClass, kUpdate}, Class({}), Class({}), kSkip},
      {"class deleted", plain, {EventResource::kStorageClass, kDelete}, Class({}), None(), kSkip},
      {"own claim added", plain, {EventResource::kPersistentVolumeClaim, kAdd}, None(), Claim("data"), kQueue},
      {"own claim changed",
       plain,
       {EventResource::kPersistentVolumeClaim, kUpdate},
       Claim("data"),
       Claim("data"),
       kQueue},
      {"another claim", plain, {EventResource::kPersistentVolumeClaim, kAdd}, None(), Claim("other"), kSkip},
      {"claim of another namespace",
       plain,
       {EventResource::kPersistentVolumeClaim, kAdd},
       None(),
       Claim("data", "other"),
       kSkip},
      {"own ephemeral claim",
       ephemeral,
       {EventResource::kPersistentVolumeClaim, kAdd},
       None(),
       Claim("pod-scratch"),
       kQueue},
      {"claim named as the volume",
       ephemeral,
       {EventResource::kPersistentVolumeClaim, kAdd},
       None(),
       Claim("scratch"),
       kSkip},
      {"claim deleted", plain, {EventResource::kPersistentVolumeClaim, kDelete}, Claim("data"), None(), kSkip},
      {"volume added", plain, {EventResource::kPersistentVolume, kAdd}, None(), Any(MakeVolume("pv")), kQueue},
      {"volume changed",
       plain,
       {EventResource::kPersistentVolume, kUpdate},
       Any(MakeVolume("pv")),
       Any(MakeVolume("pv")),
       kQueue},
      {"volume deleted", plain, {EventResource::kPersistentVolume, kDelete}, Any(MakeVolume("pv")), None(), kSkip},
      {"CSINode added", plain, {EventResource::kCsiNode, kAdd}, None(), CsiNode(""), kQueue},
      {"CSINode: migrated plugins changed",
       plain,
       {EventResource::kCsiNode, kUpdate},
       CsiNode(""),
       CsiNode("kubernetes.io/gce-pd"),
       kQueue},
      {"CSINode: something else changed", plain, {EventResource::kCsiNode, kUpdate}, CsiNode("a"), CsiNode("a"), kSkip},
      {"driver added", plain, {EventResource::kCsiDriver, kAdd}, None(), Driver("d", true), kSkip},
      {"driver: no longer publishes",
       inlined,
       {EventResource::kCsiDriver, kUpdate},
       Driver("d", true),
       Driver("d", false),
       kQueue},
      {"driver: no longer says",
       inlined,
       {EventResource::kCsiDriver, kUpdate},
       Driver("d", true),
       Driver("d", std::nullopt),
       kQueue},
      {"driver: publishes now",
       inlined,
       {EventResource::kCsiDriver, kUpdate},
       Driver("d", false),
       Driver("d", true),
       kSkip},
      {"driver: still publishes",
       inlined,
       {EventResource::kCsiDriver, kUpdate},
       Driver("d", true),
       Driver("d", true),
       kSkip},
      {"another driver", inlined, {EventResource::kCsiDriver, kUpdate}, Driver("e", true), Driver("e", false), kQueue},
      {"driver gone", plain, {EventResource::kCsiDriver, kDelete}, Driver("d", true), None(), kQueue},
      {"driver gone that published nothing",
       plain,
       {EventResource::kCsiDriver, kDelete},
       Driver("d", false),
       None(),
       kSkip},
      {"driver of a pod with claims",
       plain,
       {EventResource::kCsiDriver, kUpdate},
       Driver("d", true),
       Driver("d", false),
       kQueue},
      {"capacity added", plain, {EventResource::kCsiStorageCapacity, kAdd}, None(), Capacity(1, {}), kQueue},
      {"capacity grown",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity(1, {}),
       Capacity(2, {}),
       kQueue},
      {"capacity known now",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity({}, {}),
       Capacity(1, {}),
       kQueue},
      {"capacity shrunk",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity(2, {}),
       Capacity(1, {}),
       kSkip},
      {"capacity unknown now",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity(2, {}),
       Capacity({}, {}),
       kSkip},
      {"largest volume counts",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity(1, 5),
       Capacity(9, 5),
       kSkip},
      {"largest volume grown",
       plain,
       {EventResource::kCsiStorageCapacity, kUpdate},
       Capacity(9, 5),
       Capacity(9, 6),
       kQueue},
  };
  VolumeCluster cluster;
  for (const auto& c : cases) {
    framework::EventObjects objects;
    objects.old_object = c.before ? &*c.before : nullptr;
    objects.new_object = c.after ? &*c.after : nullptr;
    EXPECT_EQ(HintFor(cluster.plugin(), c.event, *c.pod, objects), c.want) << c.name;
  }
}

TEST(VolumeBindingEvents, Nodes) {
  using namespace framework::action;
  VolumeCluster cluster;
  const auto pod = MakePod("pod").Claim("data").Info();
  const auto node = MakeNode("n").Build();
  const framework::EventObjects objects{.new_node = node.get()};
  const auto hint = [&](framework::ActionType actions) {
    return HintFor(cluster.plugin(), {EventResource::kNode, actions}, *pod, objects);
  };
  EXPECT_EQ(hint(kAdd), QueueingHint::kQueue);
  EXPECT_EQ(hint(kUpdateNodeLabel), QueueingHint::kQueue);
  EXPECT_EQ(hint(kUpdateNodeTaint), QueueingHint::kSkip);
  EXPECT_EQ(hint(kDelete), QueueingHint::kSkip);
}

TEST(VolumeBindingEvents, ReadsSixKindsOfObjects) {
  VolumeCluster cluster;
  EXPECT_EQ(cluster.plugin().ObjectsRead().size(), 6u);
}

}  // namespace
}  // namespace berth::plugins::volumes
