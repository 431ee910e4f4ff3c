// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/object_kinds.h"

#include <set>

#include <gtest/gtest.h>

#include "berth/api/decode.h"

namespace berth::framework {
namespace {

TEST(ObjectKinds, EachIsDecodedAsItself) {
  std::set<std::string> paths;
  for (std::size_t i = 0; i < kObjectKindCount; ++i) {
    const auto kind = static_cast<ObjectKind>(i);
    const std::string name(InfoOf(kind).name);
    EXPECT_TRUE(paths.insert(ListPath(kind)).second) << name;
    const std::string text = R"({"kind": ")" + name + R"(", "metadata": {"name": "x", "namespace": "n"}})";
    const auto object = DecodeObject(kind, *api::ParseObject(name, text));
    ASSERT_TRUE(object.ok()) << name << ": " << object.error().message;
    EXPECT_EQ(KindOf(*object), kind) << name;
    EXPECT_EQ(KeyOf(*object), "n/x") << name;
  }
}

TEST(ObjectKinds, PathsAndKeys) {
  EXPECT_EQ(ListPath(ObjectKind::kPersistentVolume), "/api/v1/persistentvolumes");
  EXPECT_EQ(ListPath(ObjectKind::kStatefulSet), "/apis/apps/v1/statefulsets");
  EXPECT_EQ(ListPath(ObjectKind::kResourceClaim), "/apis/resource.k8s.io/v1/resourceclaims");
  EXPECT_EQ(ListPath(ObjectKind::kDeviceTaintRule), "/apis/resource.k8s.io/v1/devicetaintrules");
  EXPECT_EQ(ListPath(ObjectKind::kDeviceTaintRule, 36), "/apis/resource.k8s.io/v1beta2/devicetaintrules");
  EXPECT_EQ(ListPath(ObjectKind::kDeviceTaintRule, 35), "/apis/resource.k8s.io/v1alpha3/devicetaintrules");
  EXPECT_FALSE(IsServedByAll(ObjectKind::kDeviceTaintRule));
  EXPECT_TRUE(IsServedByAll(ObjectKind::kResourceClaim));
  EXPECT_EQ(ListPath(ObjectKind::kPodGroup), "/apis/scheduling.k8s.io/v1beta1/podgroups");
  EXPECT_EQ(ListPath(ObjectKind::kCompositePodGroup), "/apis/scheduling.k8s.io/v1beta1/compositepodgroups");
  EXPECT_EQ(ListPath(ObjectKind::kCompositePodGroup, 37), "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups");
  const auto node = DecodeObject(ObjectKind::kCsiNode, *api::ParseObject("", R"({"metadata": {"name": "x"}})"));
  EXPECT_EQ(KeyOf(*node), "x");
  const auto broken = DecodeObject(ObjectKind::kCsiNode, *api::ParseObject("", "{}"));
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, "CSINode: metadata.name: is missing");
}

}  // namespace
}  // namespace berth::framework
