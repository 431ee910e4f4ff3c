// SPDX-License-Identifier: Apache-2.0
#include "berth/api/meta.h"

#include <gtest/gtest.h>

#include "berth/api/pod.h"

namespace berth::api {
namespace {

TEST(StringMapTest, IsSortedAndTheLastOfEqualKeysWins) {
  const StringMap map{{"b", "1"}, {"a", "2"}, {"b", "3"}, {"a", "4"}};
  EXPECT_EQ(map, (StringMap{{"a", "4"}, {"b", "3"}}));
  ASSERT_EQ(map.size(), 2U);
  EXPECT_EQ(map.begin()->first, "a");
  EXPECT_EQ(*map.Find("b"), "3");
  EXPECT_EQ(map.Find("c"), nullptr);
  EXPECT_EQ((StringMap{{"a", "1"}, {"a", "2"}}), (StringMap{{"a", "2"}}));
}

TEST(StringMapTest, SetAndErase) {
  StringMap map;
  map.Set("b", "1");
  map.Set("a", "2");
  map.Set("b", "3");
  EXPECT_EQ(map, (StringMap{{"a", "2"}, {"b", "3"}}));
  map.Erase("a");
  map.Erase("x");
  EXPECT_EQ(map, (StringMap{{"b", "3"}}));
  map.Erase("b");
  EXPECT_TRUE(map.empty());
}

TEST(ResourceListTest, Find) {
  const ResourceList list = {{"cpu", Quantity::FromMilli(5)}, {"memory", Quantity::FromValue(7)}};
  EXPECT_EQ(FindResource(list, "memory")->Value(), 7);
  EXPECT_EQ(FindResource(list, "gpu"), nullptr);
  EXPECT_EQ(FindResource({}, "cpu"), nullptr);
}

TEST(NamesTest, QualifiedNames) {
  const std::string long_name(63, 'a');
  for (const std::string& name :
       {std::string("a"), std::string("A_b.c-9"), "example.com/" + long_name, std::string("a-b.c/X")}) {
    EXPECT_TRUE(IsQualifiedName(name)) << name;
  }
  for (const std::string& name :
       {std::string(), long_name + "a", std::string("a/"), std::string("/a"), std::string("-a"), std::string("a."),
        std::string("A.com/x"), std::string("a..b/x"), std::string("a-.b/x"), std::string("a/b/c"), std::string("a b"),
        std::string(254, 'a') + "/x"}) {
    EXPECT_FALSE(IsQualifiedName(name)) << name;
  }
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("x.Y"));
  EXPECT_FALSE(IsLabelValue("x/y"));
}

TEST(TolerationTest, Tolerates) {
  using enum TaintEffect;
  const Taint taint{"k", "v", kNoSchedule};
  struct Case {
    const char* name;
    Toleration toleration;
    bool want;
  };
  const Case cases[] = {
      {"equal", {"k", "Equal", "v", kNoSchedule}, true},
      {"no operator is Equal", {"k", "", "v", kNoSchedule}, true},
      {"other value", {"k", "", "w", kNoSchedule}, false},
      {"exists", {"k", "Exists", "", kNoSchedule}, true},
      {"other key", {"l", "Exists", "", kNoSchedule}, false},
      {"no key is every key", {"", "Exists", "", kNone}, true},
      {"no key, Equal compares the value", {"", "Equal", "v", kNone}, true},
      {"no effect is every effect", {"k", "Exists", "", kNone}, true},
      {"other effect", {"k", "Exists", "", kNoExecute}, false},
      {"unknown operator", {"k", "Gt", "v", kNoSchedule}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(c.toleration.Tolerates(taint), c.want) << c.name;
}

}  // namespace
}  // namespace berth::api
