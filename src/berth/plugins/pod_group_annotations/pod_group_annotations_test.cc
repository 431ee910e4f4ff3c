// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_annotations/pod_group_annotations.h"

#include <gtest/gtest.h>

#include "berth/framework/pod_group_namer.h"
#include "berth/plugins/helper/plugin_testing.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using testing::MakePod;

Expected<std::optional<framework::NamedPodGroup>> NameGroup(const api::Pod& pod) {
  return TestedPlugin(CreatePodGroupAnnotations()).As<framework::PodGroupNamer>().NameGroup(pod);
}

std::string ErrorOf(const testing::PodBuilder& pod) {
  const auto named = NameGroup(pod.Build());
  return named.ok() ? "" : named.error().message;
}

TEST(PodGroupAnnotations, ReadsBoth) {
  const auto named =
      NameGroup(MakePod("a").Annotation("berth.dev/pod-group", "g").Annotation("berth.dev/min-count", "12").Build());
  ASSERT_TRUE(named.ok() && *named);
  EXPECT_EQ((*named)->name, "g");
  EXPECT_EQ((*named)->min_count, 12);
}

TEST(PodGroupAnnotations, WithoutANameThereIsNoGroup) {
  const auto named = NameGroup(MakePod("a").Annotation("berth.dev/min-count", "12").Build());
  EXPECT_TRUE(named.ok() && !*named);
}

TEST(PodGroupAnnotations, SaysWhatIsWrong) {
  EXPECT_EQ(
      ErrorOf(MakePod("a").Annotation("berth.dev/pod-group", "g")),
      "annotation berth.dev/pod-group: \"g\" needs berth.dev/min-count beside it: how many pods of the group have "
      "to fit at once");
  EXPECT_EQ(ErrorOf(MakePod("a").Annotation("berth.dev/pod-group", "a b")),
            "annotation berth.dev/pod-group: \"a b\" should be a name such as \"training-1\"");
  for (const char* count : {"", "0", "-1", "1.5", "2x", "2147483648"}) {
    EXPECT_EQ(
        ErrorOf(MakePod("a").Annotation("berth.dev/pod-group", "g").Annotation("berth.dev/min-count", count)),
        "annotation berth.dev/min-count: \"" + std::string(count) + "\" should be a whole number from 1 to 2147483647");
  }
}

}  // namespace
}  // namespace berth::plugins
