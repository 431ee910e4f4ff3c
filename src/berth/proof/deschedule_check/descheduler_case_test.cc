// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/deschedule_check/descheduler_case.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::conformance {
namespace {

using ::testing::HasSubstr;

// Two nodes, of which one has a taint and a pod.
std::string Case(const std::string& answers) {
  return R"({"name":"one","now":"2026-01-01T00:00:00Z","policy":{"apiVersion":"descheduler/v1alpha2",)"
         R"("kind":"DeschedulerPolicy","profiles":[{"name":"p","pluginConfig":[{"name":"RemovePodsViolatingNodeTaints"}],)"
         R"("plugins":{"deschedule":{"enabled":["RemovePodsViolatingNodeTaints"]}}}]},)"
         R"("nodes":[{"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}},)"
         R"({"metadata":{"name":"n2"}}],"pods":[{"metadata":{"name":"web","namespace":"x","uid":"u",)"
         R"("ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"r","controller":true}]},)"
         R"("spec":{"nodeName":"n1","containers":[{"name":"c"}]},"status":{"phase":"Running"}}],)"
         R"("ordered":true,"answers":)" +
         answers + "}";
}

TEST(DeschedulerCaseTest, AnAnswerOfTheDeschedulerIsNoDifference) {
  const auto test = ReadDeschedulerCase(Case(R"([[],[{"strategy":"RemovePodsViolatingNodeTaints","pod":"x/web"}]])"));
  ASSERT_TRUE(test.ok()) << test.error().message;
  const auto difference = DifferenceOf(*test);
  ASSERT_TRUE(difference.ok()) << difference.error().message;
  EXPECT_EQ(*difference, "");
}

TEST(DeschedulerCaseTest, AnotherAnswerIsADifference) {
  const auto test = ReadDeschedulerCase(Case("[[]]"));
  ASSERT_TRUE(test.ok()) << test.error().message;
  EXPECT_EQ(*DifferenceOf(*test),
            "one: berth objects to\n    RemovePodsViolatingNodeTaints x/web\n  the descheduler to\n    nothing\n");
}

TEST(DeschedulerCaseTest, WhatIsNoCaseIsSaid) {
  EXPECT_THAT(ReadDeschedulerCase("{").error().message, HasSubstr("no JSON"));
  EXPECT_EQ(ReadDeschedulerCase(R"({"name":"a"})").error().message, "a: a case has now, policy and answers");
  EXPECT_THAT(ReadDeschedulerCase(R"({"name":"a","error":"why"})").error().message, HasSubstr("no answer: why"));
}

}  // namespace
}  // namespace berth::conformance
