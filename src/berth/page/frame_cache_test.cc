// SPDX-License-Identifier: Apache-2.0
#include "berth/page/frame_cache.h"

#include <chrono>

#include <gtest/gtest.h>

#include "berth/page/page_testing.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using serving::ContentCoding;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MakeNode;

class FrameCacheTest : public ::testing::Test {
 protected:
  FrameCacheTest() { fleet_.SetNode(MakeNode("a").Build()); }

  FrameCache::Frame Get(Time now, std::uint32_t revision_min = 0) {
    return cache_.Get(ContentCoding::kIdentity, revision_min, now);
  }

  Fleet fleet_{7};
  FrameCache cache_{fleet_};
  const Time start_{seconds(1'000)};
};

TEST_F(FrameCacheTest, OneFrameForAllWhoComeWithinASecond) {
  const FrameCache::Frame first = Get(start_);
  fleet_.SetNode(MakeNode("b").Build());
  EXPECT_EQ(Get(start_ + milliseconds(900)).bytes, first.bytes);
  ASSERT_TRUE(fleet_.Delta(first.revision).has_value()) << "they go on from there";
  const FrameCache::Frame next = Get(start_ + milliseconds(1'100));
  EXPECT_NE(next.bytes, first.bytes);
  EXPECT_EQ(FrameReader(*next.bytes).Column<std::uint32_t>("node.id").size(), 2U);
  EXPECT_EQ(Get(start_ + seconds(60)).bytes, next.bytes) << "nothing has changed";
}

TEST_F(FrameCacheTest, NoneThatAReaderCouldNotGoOnFrom) {
  const FrameCache::Frame first = Get(start_);
  fleet_.SetNode(MakeNode("b").Build());
  EXPECT_GE(Get(start_, fleet_.counts().revision).revision, fleet_.counts().revision) << "a reader was told so";
  const FrameCache::Frame before = Get(start_);
  fleet_.SetNode(MakeNode("c").Label("rack", "1").Build());
  EXPECT_NE(Get(start_).bytes, before.bytes) << "it has other columns now";
  EXPECT_NE(first.bytes, before.bytes);
}

TEST_F(FrameCacheTest, NoneOfBeforeItWasCleared) {
  const FrameCache::Frame first = Get(start_);
  fleet_.SetNode(MakeNode("b").Build());
  cache_.Clear();
  EXPECT_GT(Get(start_).revision, first.revision);
}

TEST_F(FrameCacheTest, EncodedAsAsked) {
  const FrameCache::Frame plain = Get(start_);
  const FrameCache::Frame packed = cache_.Get(ContentCoding::kZstd, 0, start_);
  EXPECT_EQ(*packed.bytes, serving::Encoded(ContentCoding::kZstd, *plain.bytes));
  EXPECT_EQ(cache_.kept_count(), 2U);
}

TEST_F(FrameCacheTest, KeepsNothingForNobody) {
  (void)Get(start_);
  cache_.DropUnused(start_ + seconds(9));
  EXPECT_EQ(cache_.kept_count(), 1U);
  cache_.DropUnused(start_ + seconds(11));
  EXPECT_EQ(cache_.kept_count(), 0U);
}

}  // namespace
}  // namespace berth::page
