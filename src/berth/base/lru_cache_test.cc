// SPDX-License-Identifier: Apache-2.0
#include "berth/base/lru_cache.h"

#include <initializer_list>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace berth {
namespace {

struct Sized {
  explicit Sized(std::size_t bytes_now) : bytes(bytes_now) {}
  Sized(const Sized&) = delete;
  Sized& operator=(const Sized&) = delete;

  std::size_t Bytes() const { return bytes; }

  std::size_t bytes;
  std::shared_ptr<int> life = std::make_shared<int>(0);
};
using Cache = LruCache<Sized>;

constexpr std::size_t kNoBound = SIZE_MAX;

void Fill(Cache& cache, std::initializer_list<std::uint64_t> ids, std::size_t bytes_max = kNoBound,
          std::size_t count_max = kNoBound) {
  for (const std::uint64_t id : ids) {
    cache.Add(id, std::size_t{10});
    cache.Bound(bytes_max, count_max);
  }
}

// The ids from 1 to 9 that are in the cache. Each of them then counts as used.
std::string Present(Cache& cache) {
  std::string present;
  for (std::uint64_t id = 1; id <= 9; ++id) {
    if (cache.Find(id) != nullptr) present += std::to_string(id);
  }
  return present;
}

TEST(LruCache, FindsWhatWasAdded) {
  Cache cache;
  EXPECT_EQ(cache.Find(1), nullptr);
  Sized& one = cache.Add(1, std::size_t{10});
  Sized& two = cache.Add(2, std::size_t{20});
  EXPECT_EQ(cache.Find(1), &one);
  EXPECT_EQ(cache.Find(2), &two);
  EXPECT_EQ(two.bytes, 20u);
  EXPECT_EQ(cache.Find(3), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(LruCache, KeepsAValueWhereItIs) {
  Cache cache;
  const Sized* one = &cache.Add(1, std::size_t{10});
  for (std::uint64_t id = 2; id <= 1000; ++id) cache.Add(id, std::size_t{10});
  EXPECT_EQ(cache.Find(1), one);
}

TEST(LruCache, DropsWhatWasNotUsedForLongestBeyondTheBytes) {
  Cache cache;
  Fill(cache, {1, 2, 3}, 30);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_NE(cache.Find(1), nullptr);
  Fill(cache, {4}, 30);
  EXPECT_EQ(Present(cache), "134");
}

TEST(LruCache, DropsWhatWasNotUsedForLongestBeyondTheCount) {
  Cache cache;
  Fill(cache, {1, 2, 3}, kNoBound, 3);
  EXPECT_NE(cache.Find(1), nullptr);
  Fill(cache, {4}, kNoBound, 3);
  EXPECT_EQ(Present(cache), "134");
}

TEST(LruCache, CountsTheNewestAsItIsNowAndKeepsIt) {
  Cache cache;
  Fill(cache, {1, 2, 3}, 30);
  cache.Find(1)->bytes = 100;
  cache.Bound(30, 0);
  EXPECT_EQ(Present(cache), "1");
  // A value that shrinks makes room.
  cache.Find(1)->bytes = 10;
  cache.Bound(30);
  Fill(cache, {2, 3}, 30);
  EXPECT_EQ(Present(cache), "123");
}

TEST(LruCache, FreesWhatItDrops) {
  Cache cache;
  Fill(cache, {1});
  const std::weak_ptr<int> one = cache.Find(1)->life;
  EXPECT_FALSE(one.expired());
  Fill(cache, {2}, 10);
  EXPECT_TRUE(one.expired());
}

TEST(LruCache, DropsWhatWasNotUsedInAPeriod) {
  Cache cache;
  Fill(cache, {1, 2, 3});
  cache.DropIdle();
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_NE(cache.Find(2), nullptr);
  Fill(cache, {4});
  cache.DropIdle();
  EXPECT_EQ(cache.size(), 2u);
  cache.DropIdle();
  EXPECT_EQ(cache.size(), 0u);
  cache.DropIdle();
  // The bytes of evicted values no longer count.
  Fill(cache, {5, 6, 7}, 30);
  EXPECT_EQ(Present(cache), "567");
}

TEST(LruCache, IsBoundedWhileEmpty) {
  Cache cache;
  cache.Bound(0, 0);
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace berth
