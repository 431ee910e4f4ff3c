// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/records.h"

#include <gtest/gtest.h>

namespace berth::recording {
namespace {

constexpr const char* kClaim =
    R"({"kind":"PersistentVolumeClaim","metadata":{"name":"c","uid":"u","resourceVersion":"7","managedFields":[{"x":1}],)"
    R"("annotations":{"volume.kubernetes.io/selected-node":"n","secret":"s"}},"spec":{"volumeName":"v"}})";

TEST(Answers, KeepWhatPluginsRead) {
  const AnswerFilter filter(AnnotationFilter({"volume.kubernetes.io/selected-node"}));
  EXPECT_EQ(filter.Of(kClaim),
            R"({"metadata":{"name":"c","uid":"u","resourceVersion":"7",)"
            R"("annotations":{"volume.kubernetes.io/selected-node":"n"}},"spec":{"volumeName":"v"}})");
  EXPECT_EQ(filter.Of(R"({"kind":"Pod","spec":{"containers":[{"env":[{"value":"secret"}]}]}})"), "");
  EXPECT_EQ(filter.Of("no JSON"), "no JSON");
  EXPECT_EQ(filter.Of(""), "");
}

TEST(Answers, AreKeptWholeForPluginsThatNobodyKnows) { EXPECT_EQ(AnswerFilter(AnnotationFilter()).Of(kClaim), kClaim); }

}  // namespace
}  // namespace berth::recording
