// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/priority_sort/priority_sort.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/plugin_testing.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using std::chrono::seconds;
using testing::MakePod;

TEST(PrioritySort, Table) {
  const struct {
    const char* name;
    testing::PodBuilder a;
    int seconds_a;
    testing::PodBuilder b;
    int seconds_b;
    bool a_first;
  } cases[] = {
      {"higher priority goes first", MakePod("a").Priority(2), 9, MakePod("b").Priority(1), 1, true},
      {"lower priority goes last", MakePod("a").Priority(-1), 1, MakePod("b"), 9, false},
      {"no priority is priority 0", MakePod("a").Priority(0), 1, MakePod("b"), 2, true},
      {"equal priority: the older one", MakePod("a").Priority(5), 1, MakePod("b").Priority(5), 2, true},
      {"equal in all: neither", MakePod("a"), 1, MakePod("b"), 1, false},
  };
  const TestedPlugin plugin = CreatePrioritySort();
  const auto& sort = plugin.As<const framework::QueueSortPlugin>();
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto a = test.a.Info();
    const auto b = test.b.Info();
    EXPECT_EQ(sort.Less({*a, Time(seconds(test.seconds_a))}, {*b, Time(seconds(test.seconds_b))}), test.a_first);
  }
}

}  // namespace
}  // namespace berth::plugins
