// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/class_cache.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

struct Kept {
  int number = 0;
  std::size_t Bytes() const { return 10; }
};

std::shared_ptr<const framework::PodClass> Class(std::uint64_t id) {
  auto made = std::make_shared<framework::PodClass>();
  made->id = id;
  return made;
}

class ClassCacheTest : public ::testing::Test {
 protected:
  // Those that are made get numbers from 1 on.
  int Get(ClassCache<Kept>& cache, const std::shared_ptr<const framework::PodClass>& pod_class) {
    return cache.Get(pod_class, [this] { return Kept{++made_}; }).number;
  }

  int made_ = 0;
};

TEST_F(ClassCacheTest, MakesOnceForAClass) {
  ClassCache<Kept> cache(10, 1000);
  const auto a = Class(1);
  const auto b = Class(2);
  EXPECT_EQ(Get(cache, a), 1);
  EXPECT_EQ(Get(cache, b), 2);
  EXPECT_EQ(Get(cache, a), 1);
  EXPECT_EQ(Get(cache, Class(1)), 3) << "another class of the same id";
  EXPECT_EQ(cache.size(), 2u);
}

TEST_F(ClassCacheTest, KeepsTheClass) {
  ClassCache<Kept> cache(10, 1000);
  std::weak_ptr<const framework::PodClass> held;
  {
    const auto a = Class(1);
    held = a;
    Get(cache, a);
  }
  EXPECT_FALSE(held.expired());
  cache.DropIdle();
  cache.DropIdle();
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(cache.size(), 0u);
}

TEST_F(ClassCacheTest, TheBytesOfClassesCount) {
  ClassCache<Kept> cache(10, 1000);
  for (std::uint64_t id = 1; id <= 5; ++id) {
    auto large = std::make_shared<framework::PodClass>();
    large->id = id;
    large->bytes = 490;
    Get(cache, large);
  }
  EXPECT_EQ(cache.size(), 2u);
}

TEST_F(ClassCacheTest, IsBounded) {
  const auto a = Class(1);
  const auto b = Class(2);
  const auto c = Class(3);
  for (const auto& [classes_max, bytes_max] : {std::pair<std::size_t, std::size_t>(2, 1000), {10, 20}}) {
    ClassCache<Kept> cache(classes_max, bytes_max);
    made_ = 0;
    Get(cache, a);
    Get(cache, b);
    Get(cache, c);
    EXPECT_EQ(cache.size(), 2u);
    EXPECT_EQ(Get(cache, b), 2);
    EXPECT_EQ(Get(cache, a), 4);
  }
}

}  // namespace
}  // namespace berth::plugins
