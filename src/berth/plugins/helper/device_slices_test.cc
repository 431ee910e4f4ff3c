// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_slices.h"

#include <gtest/gtest.h>

#include "berth/plugins/dynamic_resources/device_testing.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;

struct Fixture {
  framework::Objects objects;
  DeviceSlices slices{objects.Of<api::ResourceSlice>()};
  std::shared_ptr<const api::Node> n1 = MakeNode("n1").Label("zone", "a").Build();
  std::shared_ptr<const api::Node> n2 = MakeNode("n2").Label("zone", "b").Build();

  Fixture() {
    objects.Of<api::ResourceSlice>().Listen(
        [this](const auto& before, const auto& after) { slices.Changed(before, after); });
  }
  void Set(const std::string& name, const std::string& where, const std::string& device, const std::string& more = "") {
    objects.Set(MakeSlice(name, where, device.empty() ? "" : "{'name': '" + device + "'}", more));
  }
  // Device ids that the node can reach; what is kept must be what is found anew.
  std::string On(const std::shared_ptr<const api::Node>& node) {
    const std::string kept = Show(slices.PoolsOf(node));
    EXPECT_EQ(kept, Show(slices.GatherPools(*node)));
    return kept;
  }
  static std::string Show(const NodePools& pools) {
    std::string text;
    for (const DevicePool& pool : pools.pools) {
      if (pool.is_incomplete) text += "(" + pool.id + " incomplete)";
      if (pool.is_invalid) text += "(" + pool.id + " invalid)";
    }
    for (const ReachableDevice& device : pools.devices) {
      if (device.is_for_node) text += (text.empty() ? "" : " ") + device.id();
    }
    return text;
  }
};

std::string Pool(const std::string& name, int generation, int count) {
  return "'pool': {'name': '" + name + "', 'generation': " + std::to_string(generation) +
         ", 'resourceSliceCount': " + std::to_string(count) + "}";
}

constexpr const char* kOnN1 = "'nodeName': 'n1'";
constexpr const char* kOnN2 = "'nodeName': 'n2'";
constexpr const char* kInZoneA =
    "'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': "
    "['a']}]}]}";

TEST(DeviceSlices, SlicesOfANodeComeChangeAndGo) {
  Fixture f;
  EXPECT_TRUE(f.slices.empty());
  EXPECT_EQ(f.On(f.n1), "");
  f.Set("s", kOnN1, "a");
  EXPECT_EQ(f.On(f.n1), "d/s/a");
  EXPECT_EQ(f.On(f.n2), "");
  f.Set("s", kOnN1, "b");
  EXPECT_EQ(f.On(f.n1), "d/s/b");
  f.Set("s", kOnN2, "b");
  EXPECT_EQ(f.On(f.n1), "");
  EXPECT_EQ(f.On(f.n2), "d/s/b");
  (void)f.objects.Remove(framework::ObjectKind::kResourceSlice, "s");
  EXPECT_EQ(f.On(f.n2), "");
  EXPECT_TRUE(f.slices.empty());
  EXPECT_EQ(f.slices.version(), 4U);
}

TEST(DeviceSlices, OtherNodesSlicesOfAPoolMatter) {
  Fixture f;
  f.Set("s", kOnN1, "a", Pool("p", 1, 2));
  EXPECT_EQ(f.On(f.n1), "(d/p incomplete)");
  f.Set("t", kOnN2, "b", Pool("p", 1, 2));
  EXPECT_EQ(f.On(f.n1), "d/p/a");
  EXPECT_EQ(f.On(f.n2), "d/p/b");
  f.Set("t", kOnN2, "b", Pool("p", 2, 1));
  EXPECT_EQ(f.On(f.n1), "");
  f.Set("t", kOnN2, "b", Pool("other", 1, 1));
  EXPECT_EQ(f.On(f.n1), "(d/p incomplete)");
}

TEST(DeviceSlices, SharedSlices) {
  Fixture f;
  EXPECT_EQ(f.On(f.n1), "");
  f.Set("s", kInZoneA, "a");
  EXPECT_EQ(f.On(f.n1), "d/s/a");
  EXPECT_EQ(f.On(f.n2), "");
  f.Set("s", "'allNodes': true", "a");
  EXPECT_EQ(f.On(f.n2), "d/s/a");
  f.Set("s", kOnN1, "a");
  EXPECT_EQ(f.On(f.n2), "");
}

TEST(DeviceSlices, NodesThatChange) {
  Fixture f;
  f.Set("s", kInZoneA, "a");
  EXPECT_EQ(f.On(f.n2), "");
  f.n2 = MakeNode("n2").Label("zone", "a").Build();
  EXPECT_EQ(f.On(f.n2), "d/s/a");
}

TEST(DeviceSlices, SlicesFromBefore) {
  framework::Objects objects;
  objects.Set(MakeSlice("s", kOnN1, "{'name': 'a'}"));
  DeviceSlices slices(objects.Of<api::ResourceSlice>());
  EXPECT_EQ(Fixture::Show(slices.PoolsOf(MakeNode("n1").Build())), "d/s/a");
}

TEST(DeviceSelectors, AreCompiledOnce) {
  DeviceSelectors selectors;
  const auto first = selectors.Get("true");
  EXPECT_EQ(selectors.Get("true"), first);
  for (std::size_t i = 0; i < DeviceSelectors::kSelectorsMax; ++i) (void)selectors.Get(std::to_string(i) + " == 1");
  const auto again = selectors.Get("true");
  EXPECT_NE(again, first);
  EXPECT_NE(again->id(), first->id());
}

TEST(DeviceSelectors, VerdictsAreRemembered) {
  DeviceSelectors selectors;
  const auto slice = MakeSlice("s", kOnN1, "{'name': 'a', 'attributes': {'n': {'int': 1}}}, {'name': 'b'}");
  SelectorMemory memory;
  const auto selector = selectors.Get("device.attributes['d'].n == 1");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(*selector->Matches(*slice, 0, memory).matches);
    EXPECT_EQ(selector->Matches(*slice, 1, memory).matches.error().message, "CEL runtime error: no such key: n");
    EXPECT_FALSE(*selectors.Get("device.driver == 'x'")->Matches(*slice, 1, memory).matches);
  }
  EXPECT_EQ(memory.verdicts.size(), 2U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(*selectors.Get(std::to_string(i) + " >= 0")->Matches(*slice, 0, memory).matches);
  }
  EXPECT_LE(memory.verdicts.size(), 32U);
  const auto list = MakeSlice("s", kOnN1, "{'name': 'a', 'attributes': {'n': {'ints': [1]}}}");
  EXPECT_EQ(selector->Matches("d", list->devices.front()).matches.error().message,
            "CEL runtime error: attribute n: unsupported attribute value");
}

// Upstream's budget for one evaluation is a million.
TEST(DeviceSelectors, DearVerdictsAreSharedAndSayWhatTheyCost) {
  const std::string list = "[0,1,2,3,4,5,6,7,8,9]";
  const std::string dear = list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c < 99)))";
  DeviceSelectors selectors;
  const auto slice = MakeSlice("s", kOnN1,
                               "{'name': 'a', 'attributes': {'n': {'int': 1}}}, "
                               "{'name': 'b', 'attributes': {'n': {'int': 1}}}, "
                               "{'name': 'c', 'attributes': {'n': {'int': 2}}}");
  for (const bool is_constant : {true, false}) {
    SelectorMemory memory;
    const auto selector = selectors.Get(is_constant ? dear : dear + " && device.attributes['d'].n < 2");
    const SelectorAnswer first = selector->Matches(*slice, 0, memory);
    EXPECT_TRUE(*first.matches);
    EXPECT_GT(first.cost, 1000U);
    const SelectorAnswer twin = selector->Matches(*slice, 1, memory);
    EXPECT_EQ(twin.read, first.read) << "what the selector reads of both is the same";
    EXPECT_EQ(twin.cost, first.cost);
    const SelectorAnswer other = selector->Matches(*slice, 2, memory);
    EXPECT_EQ(other.read == first.read, is_constant);
    EXPECT_EQ(*other.matches, is_constant);
    for (std::size_t i = 0; i < 3; ++i) {
      const SelectorAnswer again = selector->Matches(*slice, i, memory);
      const SelectorAnswer plain = selector->Matches(slice->driver, slice->devices[i]);
      EXPECT_EQ(*again.matches, *plain.matches);
      EXPECT_EQ(again.cost, plain.cost);
      EXPECT_EQ(again.read, plain.read);
    }
  }
  SelectorMemory memory;
  EXPECT_EQ(selectors.Get("device.driver == 'd'")->Matches(*slice, 0, memory).cost, 0U) << "cheap";
}

class TaintedSlices : public ::testing::Test {
 protected:
  TaintedSlices() {
    objects_.Of<api::ResourceSlice>().Listen(
        [this](const auto& before, const auto& after) { slices_.Changed(before, after); });
    objects_.Of<api::DeviceTaintRule>().Listen(
        [this](const auto& before, const auto& after) { slices_.RuleChanged(before, after); });
    objects_.Set(
        MakeSlice("s", kOnN1, "{'name': 'a', 'taints': [{'key': 'own', 'effect': 'NoSchedule'}]}, {'name': 'b'}"));
  }
  // "device:key,key" of the node's devices.
  std::string Taints() {
    std::string text;
    for (const ReachableDevice& device : slices_.PoolsOf(n1_).devices) {
      text += (text.empty() ? "" : " ") + device.device().name + ":";
      for (const api::DeviceTaint& taint : device.device().taints) text += (text.back() == ':' ? "" : ",") + taint.key;
    }
    return text;
  }

  framework::Objects objects_;
  DeviceSlices slices_{objects_.Of<api::ResourceSlice>(), framework::DeviceRules(37),
                       &objects_.Of<api::DeviceTaintRule>()};
  std::shared_ptr<const api::Node> n1_ = MakeNode("n1").Build();
};

TEST_F(TaintedSlices, ARuleSelectsByDriverPoolAndDevice) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a:own,k b:k"},
      {"'driver': 'd'", "a:own,k b:k"},
      {"'driver': 'other'", "a:own b:"},
      {"'pool': 's'", "a:own,k b:k"},
      {"'pool': 't'", "a:own b:"},
      {"'device': 'b'", "a:own b:k"},
      {"'driver': 'd', 'pool': 's', 'device': 'a'", "a:own,k b:"},
      {"'driver': 'd', 'pool': 's', 'device': 'c'", "a:own b:"},
  };
  for (const auto& [selector, want] : cases) {
    objects_.Set(MakeTaintRule("r", selector));
    EXPECT_EQ(Taints(), want) << selector;
  }
}

TEST_F(TaintedSlices, ARuleWithoutASelectorSelectsNothing) {
  auto rule = std::make_shared<api::DeviceTaintRule>(*MakeTaintRule("r", ""));
  rule->selector.reset();
  objects_.Set(framework::AnyObject(std::shared_ptr<const api::DeviceTaintRule>(rule)));
  EXPECT_EQ(Taints(), "a:own b:");
}

TEST_F(TaintedSlices, RulesAddUpComeAndGo) {
  objects_.Set(MakeTaintRule("r1", "'device': 'a'", "k1"));
  objects_.Set(MakeTaintRule("r2", "", "k2"));
  EXPECT_EQ(Taints(), "a:own,k1,k2 b:k2");
  // A slice that comes later is tainted, too.
  objects_.Set(MakeSlice("s", kOnN1, "{'name': 'c'}, {'name': 'a'}"));
  EXPECT_EQ(Taints(), "c:k2 a:k1,k2");
  (void)objects_.Remove(framework::ObjectKind::kDeviceTaintRule, "r2");
  EXPECT_EQ(Taints(), "c: a:k1");
  (void)objects_.Remove(framework::ObjectKind::kDeviceTaintRule, "r1");
  EXPECT_EQ(Taints(), "c: a:");
}

TEST_F(TaintedSlices, WhatTheRuleDoesNotChangeStays) {
  objects_.Set(MakeTaintRule("r", "'device': 'a'"));
  const std::uint64_t version = slices_.version();
  objects_.Set(MakeTaintRule("r", "'device': 'a'"));
  objects_.Set(MakeTaintRule("elsewhere", "'pool': 't'"));
  EXPECT_EQ(slices_.version(), version);
}

}  // namespace
}  // namespace berth::plugins
