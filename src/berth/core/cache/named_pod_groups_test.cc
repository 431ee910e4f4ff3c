// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/named_pod_groups.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::cache {
namespace {

using testing::MakePod;

TEST(NamedPodGroups, TheObjectFollowsWhatItsPodsSay) {
  NamedPodGroups groups;
  const auto a = MakePod("a").Priority(3).Info();
  const auto b = MakePod("b").Priority(7).Info();
  auto change = groups.Note(*a, {"g", 2});
  ASSERT_TRUE(change && change->object);
  EXPECT_EQ(change->group.Text(), "default/berth.dev/pod-group=g");
  EXPECT_EQ(change->object->metadata.name, "berth.dev/pod-group=g");
  EXPECT_EQ(change->object->min_count, 2);
  EXPECT_EQ(change->object->priority, 3);
  EXPECT_FALSE(groups.Note(*a, {"g", 2})) << "nothing is new";

  change = groups.Note(*b, {"g", 5});
  EXPECT_EQ(change->object->min_count, 5);
  EXPECT_EQ(change->object->priority, 7);
  EXPECT_EQ(*groups.Find(b->uid), "berth.dev/pod-group=g");

  change = groups.Note(*b, {"other", 1});
  EXPECT_EQ(change->group.name, "berth.dev/pod-group=g") << "it stays where it is";
  EXPECT_EQ(change->object->min_count, 2);

  change = groups.Forget(b->uid);
  EXPECT_EQ(change->object->priority, 3);
  change = groups.Forget(a->uid);
  EXPECT_TRUE(change && change->object == nullptr);
  EXPECT_EQ(groups.size(), 0u);
  EXPECT_EQ(groups.Find(a->uid), nullptr);
  EXPECT_FALSE(groups.Forget(a->uid));
}

}  // namespace
}  // namespace berth::cache
