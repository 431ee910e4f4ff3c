// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_claims.h"

#include <gtest/gtest.h>

#include "berth/plugins/dynamic_resources/device_testing.h"
#include "berth/plugins/helper/device_classes.h"

namespace berth::plugins {
namespace {

DeviceClaims::Ptr Versioned(const std::string& version, const std::string& status, const std::string& uid = "u",
                            const std::string& metadata = "") {
  return DecodeOrDie(&api::DecodeResourceClaim, "{'metadata': {'name': 'x', 'namespace': 'default', 'uid': '" + uid +
                                                    "', 'resourceVersion': '" + version + "'" + metadata +
                                                    "}, 'status': {" + status + "}}");
}

struct Fixture {
  framework::Objects objects;
  DeviceClaims claims{objects.Of<api::ResourceClaim>()};
  Fixture() {
    objects.Of<api::ResourceClaim>().Listen(
        [this](const auto& before, const auto& after) { claims.Changed(before, after); });
  }
  void Show(const DeviceClaims::Ptr& claim) { objects.Set(claim); }
  void Remove() { (void)objects.Remove(framework::ObjectKind::kResourceClaim, "default/x"); }
  std::string Version() const {
    const auto claim = claims.Find("default", "x");
    return claim == nullptr ? "none" : claim->metadata.resource_version;
  }
  bool IsTaken(std::string_view device = "d/s/a") const {
    const DeviceUsage* usage = claims.UsageOf(device);
    return usage != nullptr && usage->IsAllocated();
  }
};

const std::string kTaken = Allocated("s", {"a"});

TEST(DeviceClaims, AssumptionsLastUntilTheWatchCatchesUp) {
  Fixture f;
  f.Show(Versioned("5", ""));
  EXPECT_FALSE(f.IsTaken());
  EXPECT_TRUE(f.claims.Assume(Versioned("7", kTaken)));
  EXPECT_EQ(f.Version(), "7");
  EXPECT_TRUE(f.IsTaken());
  // An event from between the writes changes nothing.
  f.Show(Versioned("6", ""));
  EXPECT_EQ(f.Version(), "7");
  EXPECT_TRUE(f.IsTaken());
  f.Show(Versioned("7", kTaken));
  EXPECT_EQ(f.Version(), "7");
  f.Show(Versioned("8", ""));
  EXPECT_EQ(f.Version(), "8");
  EXPECT_FALSE(f.IsTaken());
  // Numbers, not texts, are compared.
  EXPECT_TRUE(f.claims.Assume(Versioned("10", kTaken)));
  f.Show(Versioned("9", ""));
  EXPECT_TRUE(f.IsTaken());
  f.Remove();
  EXPECT_EQ(f.Version(), "none");
  EXPECT_FALSE(f.IsTaken());
}

TEST(DeviceClaims, AssumptionsThatComeTooLate) {
  Fixture f;
  EXPECT_FALSE(f.claims.Assume(Versioned("7", kTaken)));  // unknown
  f.Show(Versioned("8", ""));
  EXPECT_FALSE(f.claims.Assume(Versioned("7", kTaken)));
  EXPECT_FALSE(f.claims.Assume(Versioned("9", kTaken, "another")));
  EXPECT_FALSE(f.claims.Assume(Versioned("x", kTaken)));
  EXPECT_FALSE(f.IsTaken());
  // A claim of the same name made anew ends an assumption whatever its version.
  EXPECT_TRUE(f.claims.Assume(Versioned("9", kTaken)));
  f.Show(Versioned("2", "", "another"));
  EXPECT_EQ(f.Version(), "2");
  EXPECT_FALSE(f.IsTaken());
}

TEST(DeviceClaims, Restore) {
  Fixture f;
  f.Show(Versioned("5", ""));
  EXPECT_TRUE(f.claims.Assume(Versioned("7", kTaken)));
  f.claims.Restore("default", "x");
  f.claims.Restore("default", "x");
  EXPECT_EQ(f.Version(), "5");
  EXPECT_FALSE(f.IsTaken());
}

TEST(DeviceClaims, Pending) {
  Fixture f;
  EXPECT_EQ(f.claims.PendingAllocation("u"), nullptr);
  const std::uint64_t revision = f.claims.revision();
  f.claims.AddPending("u", Versioned("1", kTaken));
  EXPECT_GT(f.claims.revision(), revision);
  EXPECT_NE(f.claims.PendingAllocation("u"), nullptr);
  EXPECT_TRUE(f.IsTaken());
  f.claims.RemovePending("u");
  f.claims.RemovePending("u");
  EXPECT_FALSE(f.IsTaken());
}

TEST(DeviceClaims, WhatIsPendingCanBeShared) {
  Fixture f;
  f.claims.AddPending("u", Versioned("1", kTaken), "default/g");
  EXPECT_NE(f.claims.OpenAllocation("u", "default/g"), nullptr);
  EXPECT_EQ(f.claims.OpenAllocation("u", "default/h"), nullptr);
  EXPECT_EQ(f.claims.OpenAllocation("u", ""), nullptr);
  EXPECT_TRUE(f.claims.SharePending("u"));
  f.claims.ClosePending("u");
  EXPECT_EQ(f.claims.OpenAllocation("u", "default/g"), nullptr);
  EXPECT_FALSE(f.claims.ReleasePending("u"));
  EXPECT_TRUE(f.IsTaken());
  EXPECT_TRUE(f.claims.ReleasePending("u"));
  EXPECT_FALSE(f.IsTaken());
  EXPECT_FALSE(f.claims.ReleasePending("u"));
  EXPECT_FALSE(f.claims.SharePending("u"));
  f.claims.AddPending("v", Versioned("1", kTaken));
  EXPECT_EQ(f.claims.OpenAllocation("v", ""), nullptr) << "of no group";
}

TEST(DeviceClaims, WritersTakeTurns) {
  Fixture f;
  auto turn = f.claims.TakeWriteTurn("u");
  ASSERT_NE(turn, nullptr);
  EXPECT_EQ(f.claims.TakeWriteTurn("u"), nullptr);
  EXPECT_NE(f.claims.TakeWriteTurn("v"), nullptr);
  turn = nullptr;
  EXPECT_NE(f.claims.TakeWriteTurn("u"), nullptr);
}

TEST(DeviceClaims, CreatedClaimsAreAwaited) {
  const auto made = Versioned("7", kTaken);
  Fixture f;
  f.claims.AddPending("memory", made);
  f.claims.AssumeWhenSeen("memory", made);
  EXPECT_EQ(f.Version(), "none");
  EXPECT_TRUE(f.IsTaken());
  f.Show(Versioned("6", ""));
  EXPECT_EQ(f.claims.PendingAllocation("memory"), nullptr);
  EXPECT_EQ(f.Version(), "7");
  EXPECT_TRUE(f.IsTaken());
  f.Remove();
  EXPECT_FALSE(f.IsTaken());
  // It never comes.
  f.claims.AddPending("memory", made);
  f.claims.AssumeWhenSeen("memory", made);
  f.claims.StopWaitingFor("other");
  EXPECT_TRUE(f.IsTaken());
  f.claims.StopWaitingFor("memory");
  EXPECT_FALSE(f.IsTaken());
  // It is there already.
  f.Show(Versioned("6", ""));
  f.claims.AddPending("memory", made);
  f.claims.AssumeWhenSeen("memory", made);
  EXPECT_EQ(f.Version(), "7");
  EXPECT_EQ(f.claims.PendingAllocation("memory"), nullptr);
}

TEST(DeviceClaims, UsageByKind) {
  Fixture f;
  f.Show(Versioned("1", Allocated("s", {"a"}, ", 'adminAccess': true")));
  EXPECT_FALSE(f.IsTaken());
  f.Show(Versioned("2", Allocated("s", {"a"}, ", 'shareID': 'i', 'consumedCapacity': {'bw': '3'}")));
  EXPECT_EQ(f.claims.UsageOf("d/s/a")->exclusive_count, 0);
  EXPECT_EQ(f.claims.UsageOf("d/s/a")->consuming_share_count, 1);
  EXPECT_EQ(f.claims.UsageOf("d/s/a")->consumed.at("bw"), api::Quantity::FromValue(3).nanos());
  f.claims.AddPending("p", Versioned("2", Allocated("s", {"a"}, ", 'shareID': 'j', 'consumedCapacity': {'bw': '4'}")));
  EXPECT_EQ(f.claims.UsageOf("d/s/a")->consumed.at("bw"), api::Quantity::FromValue(7).nanos());
  f.Show(Versioned("3", ""));
  EXPECT_EQ(f.claims.UsageOf("d/s/a")->consumed.at("bw"), api::Quantity::FromValue(4).nanos());
  f.claims.RemovePending("p");
  EXPECT_EQ(f.claims.UsageOf("d/s/a"), nullptr);
}

TEST(DeviceClaims, ClaimsOfExtendedResources) {
  Fixture f;
  const auto pod = testing::MakePod("p").Info();
  const std::string owner =
      ", 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': 'uid-default-p', 'controller': "
      "true}]";
  f.Show(Versioned("1", "", "u", owner));
  EXPECT_EQ(f.claims.FindExtendedResourceClaim(*pod), nullptr);
  f.Show(
      Versioned("2", "", "u", owner + ", 'annotations': {'resource.kubernetes.io/extended-resource-claim': 'true'}"));
  EXPECT_NE(f.claims.FindExtendedResourceClaim(*pod), nullptr);
  EXPECT_EQ(f.claims.FindExtendedResourceClaim(*testing::MakePod("q").Uid("uid-default-p").Info()), nullptr);
  f.Remove();
  EXPECT_EQ(f.claims.FindExtendedResourceClaim(*pod), nullptr);
}

std::shared_ptr<const api::DeviceClass> Dated(const std::string& name, const std::string& resource,
                                              const std::string& year) {
  return DecodeOrDie(&api::DecodeDeviceClass, "{'metadata': {'name': '" + name + "', 'creationTimestamp': '" + year +
                                                  "-01-01T00:00:00Z'}, 'spec': {'extendedResourceName': '" + resource +
                                                  "'}}");
}

TEST(DeviceClasses, TheNewerClassHasTheName) {
  const auto holder = [](const std::vector<std::shared_ptr<const api::DeviceClass>>& added) {
    DeviceClasses classes;
    for (const auto& device_class : added) classes.Changed(nullptr, device_class);
    const auto found = classes.Find("example.com/gpu");
    return found == nullptr ? "none" : found->metadata.name;
  };
  const auto old_class = Dated("z", "example.com/gpu", "2020");
  const auto new_class = Dated("y", "example.com/gpu", "2021");
  const auto same_age = Dated("a", "example.com/gpu", "2021");
  EXPECT_EQ(holder({old_class, new_class}), "y");
  EXPECT_EQ(holder({new_class, old_class}), "y");
  EXPECT_EQ(holder({new_class, same_age}), "a");
  EXPECT_EQ(holder({same_age, new_class}), "a");
}

TEST(DeviceClasses, FollowsChanges) {
  DeviceClasses classes;
  const auto first = Dated("c", "example.com/gpu", "2020");
  const auto renamed = Dated("c", "example.com/nic", "2020");
  EXPECT_TRUE(classes.empty());
  classes.Changed(nullptr, first);
  EXPECT_EQ(classes.Find("deviceclass.resource.kubernetes.io/c"), first);
  classes.Changed(first, renamed);
  EXPECT_EQ(classes.Find("example.com/gpu"), nullptr);
  EXPECT_EQ(classes.Find("example.com/nic"), renamed);
  classes.Changed(renamed, nullptr);
  EXPECT_TRUE(classes.empty());
  EXPECT_EQ(classes.version(), 3U);
}

// From 1.38 on the class that has lost a name keeps its own, and takes the other when the winner goes.
TEST(DeviceClasses, LosersAreRememberedFrom138On) {
  const auto loser = Dated("z", "example.com/gpu", "2020");
  const auto winner = Dated("y", "example.com/gpu", "2021");
  const struct {
    int minor;
    std::shared_ptr<const api::DeviceClass> own, after_winner;
  } cases[] = {{37, nullptr, nullptr}, {38, loser, loser}};
  for (const auto& test : cases) {
    DeviceClasses classes(framework::ReleaseOf(test.minor).devices);
    classes.Changed(nullptr, winner);
    classes.Changed(nullptr, loser);
    EXPECT_EQ(classes.Find("example.com/gpu"), winner);
    EXPECT_EQ(classes.Find("deviceclass.resource.kubernetes.io/z"), test.own) << test.minor;
    classes.Changed(winner, nullptr);
    EXPECT_EQ(classes.Find("example.com/gpu"), test.after_winner) << test.minor;
    EXPECT_EQ(classes.Find("deviceclass.resource.kubernetes.io/y"), nullptr);
    if (test.after_winner == nullptr) continue;
    classes.Changed(loser, nullptr);
    EXPECT_TRUE(classes.empty());
  }
}

TEST(DeviceClasses, NoneIsAnExtendedResourceWhereTheGateIsOff) {
  DeviceClasses classes(framework::ReleaseOf(35).devices);
  classes.Changed(nullptr, Dated("z", "example.com/gpu", "2020"));
  EXPECT_TRUE(classes.empty());
}

// From 1.38 on a share of less than nothing is told, and does not free what others use.
TEST(DeviceClaims, NegativeUsage) {
  const auto share = [](const std::string& amount) {
    return Allocated("s", {"a"}, ", 'shareID': 'u', 'consumedCapacity': {'bw': '" + amount + "'}");
  };
  framework::Objects objects;
  objects.Set(MakeClaim("odd", "", share("-7")));
  objects.Set(MakeClaim("other", "", share("3")));
  const auto& store = objects.Of<api::ResourceClaim>();
  const auto consumed = [](const DeviceClaims& claims) {
    return api::Quantity::FromNanos(claims.UsageOf("d/s/a")->consumed.find("bw")->second).Value();
  };
  DeviceClaims in_137(store, framework::ReleaseOf(37).devices);
  EXPECT_TRUE(in_137.negative_usages().empty());
  EXPECT_EQ(consumed(in_137), -4);
  DeviceClaims in_138(store, framework::ReleaseOf(38).devices);
  ASSERT_EQ(in_138.negative_usages().size(), 1U);
  EXPECT_EQ(in_138.negative_usages().begin()->second.claim, "default/odd");
  EXPECT_EQ(consumed(in_138), 3);
  in_138.Changed(in_138.Find("default", "odd"), nullptr);
  EXPECT_TRUE(in_138.negative_usages().empty());
  EXPECT_EQ(consumed(in_138), 3);
}

TEST(DeviceClasses, Names) {
  EXPECT_TRUE(IsDeviceBackedResourceName("example.com/gpu"));
  EXPECT_TRUE(IsDeviceBackedResourceName("deviceclass.resource.kubernetes.io/c"));
  EXPECT_FALSE(IsDeviceBackedResourceName("cpu"));
  EXPECT_FALSE(IsDeviceBackedResourceName("kubernetes.io/x"));
}

}  // namespace
}  // namespace berth::plugins
