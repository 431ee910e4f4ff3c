// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/image_locality/image_locality.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr std::int64_t kMi = 1024 * 1024;

TestedPlugin Locality(const framework::Release& release = {}) {
  testing::FakeHandle handle;
  handle.SetRelease(release);
  return CreateImageLocality(handle);
}

TEST(ImageLocality, Score) {
  // Two nodes; one has what the cases ask for.
  const auto node = MakeNode("n")
                        .Image({"images.example/app:1", "images.example/app@sha256:0"}, 1000 * kMi)
                        .Image({"images.example/small:1"}, 40 * kMi)
                        .Image({"images.example/web:latest"}, 2000 * kMi)
                        .Image({"images.example:5000/huge:latest"}, 9000 * kMi);
  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::int64_t want;
  } cases[] = {
      {"half of 1000Mi, since one of two nodes has it", MakePod("p").Image("images.example/app:1"),
       100 * (500 - 23) / (1000 - 23)},
      {"by another of its names", MakePod("p").Image("images.example/app@sha256:0"), 48},
      {"not here", MakePod("p").Image("images.example/other:1"), 0},
      {"small ones do not count", MakePod("p").Image("images.example/small:1"), 0},
      {"no tag is latest", MakePod("p").Image("images.example/web"), 100},
      {"a port is no tag", MakePod("p").Image("images.example:5000/huge"), 100},
      {"a tag behind a port stays", MakePod("p").Image("images.example:5000/huge:latest"), 100},
      {"a tag stays", MakePod("p").Image("images.example/web:latest"), 100},
      {"two containers", MakePod("p").Image("images.example/app:1").Container("images.example/other:1"),
       100 * (500 - 23) / (2000 - 23)},
      {"init containers count", MakePod("p").Image("images.example/other:1").InitContainer("images.example/app:1"),
       100 * (500 - 23) / (2000 - 23)},
      {"the same image twice counts twice",
       MakePod("p").Image("images.example/app:1").Container("images.example/app:1"), 100 * (1000 - 23) / (2000 - 23)},
      {"image volumes count, but not as containers",
       MakePod("p").Image("images.example/other:1").ImageVolume("images.example/app:1"), 48},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    TestCluster cluster({node, MakeNode("m")});
    EXPECT_EQ(cluster.Score(Locality(), *test.pod.Info(), "n"), test.want);
    EXPECT_EQ(cluster.Score(Locality(), *test.pod.Info(), "m"), 0);
  }
}

TEST(ImageLocality, ImageVolumesRaiseTheThresholdFrom137On) {
  TestCluster cluster({MakeNode("n").Image({"images.example/app:1"}, 1000 * kMi), MakeNode("m")});
  const auto pod = MakePod("p").Image("images.example/other:1").ImageVolume("images.example/app:1").Info();
  EXPECT_EQ(cluster.Score(Locality(framework::ReleaseOf(36)), *pod, "n"), 100 * (500 - 23) / (1000 - 23));
  EXPECT_EQ(cluster.Score(Locality(framework::ReleaseOf(37)), *pod, "n"), 100 * (500 - 23) / (2000 - 23));
}

TEST(ImageLocality, ImageVolumesCountFrom136On) {
  TestCluster cluster({MakeNode("n").Image({"images.example/app:1"}, 1000 * kMi), MakeNode("m")});
  const auto pod = MakePod("p").Image("images.example/other:1").ImageVolume("images.example/app:1").Info();
  EXPECT_EQ(cluster.Score(Locality(framework::ReleaseOf(35)), *pod, "n"), 0);
  EXPECT_EQ(cluster.Score(Locality(framework::ReleaseOf(36)), *pod, "n"), 100 * (500 - 23) / (1000 - 23));
}

TEST(ImageLocality, TheFirstNodesSizeCountsForAll) {
  TestCluster cluster({MakeNode("n").Image({"images.example/app:1"}, 400 * kMi),
                       MakeNode("m").Image({"images.example/app:1"}, 900 * kMi)});
  const std::int64_t want = 100 * (400 - 23) / (1000 - 23);
  EXPECT_EQ(cluster.Score(Locality(), *MakePod("p").Info(), "n"), want);
  EXPECT_EQ(cluster.Score(Locality(), *MakePod("p").Info(), "m"), want);
}

}  // namespace
}  // namespace berth::plugins
