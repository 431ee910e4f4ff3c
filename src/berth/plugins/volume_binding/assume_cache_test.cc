// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/assume_cache.h"

#include <gtest/gtest.h>

#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

class AssumeCacheTest : public ::testing::Test {
 protected:
  VolumeBuilder Assumed(std::string version = "1") {
    return MakeVolume("pv").Version(std::move(version)).With([](auto& v) { v.phase = "assumed"; });
  }
  std::string Phase() {
    const auto volume = cache_->Get("pv");
    if (!volume) return "none";
    EXPECT_EQ(cache_->Find("pv"), volume.get());
    return volume->phase;
  }
  std::string Assume(const VolumeBuilder& volume) { return TestCluster::Describe(cache_->Assume(volume.Build())); }

  framework::ObjectStore<api::PersistentVolume> store_;
  std::shared_ptr<VolumeCache> cache_ = VolumeCache::Make(store_, "persistentvolumes");
};

TEST_F(AssumeCacheTest, ShowsTheStoredObjectUntilOneIsAssumed) {
  EXPECT_EQ(Phase(), "none");
  store_.Set(MakeVolume("pv").Build());
  EXPECT_EQ(Phase(), "Available");
  EXPECT_EQ(cache_->FindAssumed("pv"), nullptr);
  EXPECT_EQ(Assume(Assumed()), "ok");
  EXPECT_EQ(Phase(), "assumed");
  EXPECT_NE(cache_->FindAssumed("pv"), nullptr);
}

TEST_F(AssumeCacheTest, RefusesWhatIsNotMadeFromTheStoredObject) {
  EXPECT_EQ(Assume(Assumed()), "Error: persistentvolumes \"pv\" not found");
  store_.Set(MakeVolume("pv").Version("2").Build());
  EXPECT_EQ(Assume(Assumed()), "Error: \"pv\" is out of sync (stored: 2, assume: 1)");
  EXPECT_EQ(cache_->assumed_count(), 0u);
}

TEST_F(AssumeCacheTest, ForgetsTheAssumptionWhenTheObjectChanges) {
  store_.Set(MakeVolume("pv").Build());
  EXPECT_EQ(Assume(Assumed()), "ok");
  store_.Set(MakeVolume("pv").Build());  // the same version, as after a new list
  EXPECT_EQ(Phase(), "assumed");
  store_.Set(MakeVolume("pv").Version("2").Build());
  EXPECT_EQ(Phase(), "Available");
  EXPECT_EQ(Assume(Assumed("2")), "ok");
  store_.Remove("pv");
  EXPECT_EQ(Phase(), "none");
  EXPECT_EQ(cache_->assumed_count(), 0u);
}

TEST_F(AssumeCacheTest, WithoutVersionsEveryStoredObjectIsANewOne) {
  store_.Set(MakeVolume("pv").Version("").Build());
  EXPECT_EQ(Assume(Assumed("")), "ok");
  store_.Set(MakeVolume("pv").Version("").Build());
  EXPECT_EQ(Phase(), "Available");
}

TEST_F(AssumeCacheTest, RestoreGivesUpTheSameVersionAlone) {
  store_.Set(MakeVolume("pv").Build());
  EXPECT_EQ(Assume(Assumed()), "ok");
  cache_->Restore(Assumed("2").Value());
  EXPECT_EQ(Phase(), "assumed");
  cache_->Restore(Assumed().Value());
  EXPECT_EQ(Phase(), "Available");
  cache_->Restore(Assumed().Value());
}

TEST_F(AssumeCacheTest, MayBeGoneBeforeTheStore) {
  store_.Set(MakeVolume("pv").Build());
  EXPECT_EQ(Assume(Assumed()), "ok");
  cache_.reset();
  store_.Remove("pv");
}

}  // namespace
}  // namespace berth::plugins::volumes
