// SPDX-License-Identifier: Apache-2.0
#include "berth/app/kubernetes_release.h"

#include <string_view>

#include <gtest/gtest.h>

namespace berth::app {
namespace {

TEST(KubernetesRelease, TheFlagTakesWhatIsFollowed) {
  EXPECT_TRUE(ParseReleaseChoice("auto")->IsAuto());
  EXPECT_EQ(ParseReleaseChoice("1.34")->minor, 34);
  EXPECT_EQ(ParseReleaseChoice("1.36")->minor, 36);
  EXPECT_EQ(ParseReleaseChoice("1.38")->minor, 38);
  for (const std::string_view text : {"", "1.33", "1.39", "v1.37", "1.37.2", "37", "newest"}) {
    const auto choice = ParseReleaseChoice(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_EQ(choice.error().message, "should be 1.34, 1.35, 1.36, 1.37, 1.38, or auto");
  }
}

TEST(KubernetesRelease, FollowsTheServer) {
  const struct {
    std::string_view server;
    int minor;  // 0: refused
    std::string_view want;
  } cases[] = {
      {"v1.36.3", 36, "Deciding as kube-scheduler 1.36 does"},
      {"v1.37.2", 37, "Deciding as kube-scheduler 1.37 does"},
      {"v1.37.0-eks-1a2b", 37, "Deciding as kube-scheduler 1.37 does"},
      {"v1.37.2+berth", 37, "Deciding as kube-scheduler 1.37 does"},
      {"v1.38.0-beta.0", 38, "Deciding as kube-scheduler 1.38 does"},
      {"v1.35.9", 35, "Deciding as kube-scheduler 1.35 does"},
      {"v1.36.3-eks-abc+", 36, "Deciding as kube-scheduler 1.36 does"},
      {"v1.39.0", 38, "Deciding as kube-scheduler 1.38 does, the newest that is followed"},
      {"v1.33.9", 34, "Deciding as kube-scheduler 1.34 does, the oldest that is followed"},
      {"", 0, ""},
      {"v1", 0, ""},
      {"fork-7", 0, ""},
      {"v2.0.0", 0, ""},
      {"v1.x", 0, ""},
      {"v1.37beta", 0, ""},
      {"v1.99999999999999999999", 0, ""},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.server);
    const auto minor = ReleaseFor(test.server);
    ASSERT_EQ(minor.ok(), test.minor != 0);
    if (!minor.ok()) {
      EXPECT_NE(minor.error().message.find("is no version such as v1.37.0"), std::string::npos);
      continue;
    }
    EXPECT_EQ(*minor, test.minor);
    EXPECT_EQ(DescribeRelease(test.server, *minor), test.want);
  }
}

TEST(KubernetesRelease, AServerThatRefusesItsVersionIsNotAskedAgain) {
  for (const ErrorCode code : {ErrorCode::kForbidden, ErrorCode::kNotFound, ErrorCode::kInvalid})
    EXPECT_FALSE(IsForLater({code, "no"}));
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kTimeout, ErrorCode::kTooManyRequests,
                               ErrorCode::kInternal, ErrorCode::kUnauthorized})
    EXPECT_TRUE(IsForLater({code, "later"}));
  EXPECT_EQ(DescribeReleaseWithoutVersion({ErrorCode::kForbidden, "GET /version: 403 Forbidden"}, 36),
            "Deciding as kube-scheduler 1.36 does, because the API server does not tell its version (GET /version: 403 "
            "Forbidden): --kubernetes-version says which one to follow");
}

TEST(KubernetesRelease, SaysByWhoseRulesAnotherClusterIsAnswered) {
  EXPECT_EQ(DescribeOtherRules("v1.33.4-gke.1", 36),
            "the cluster is of Kubernetes 1.33: answered by the rules of kube-scheduler 1.36");
  EXPECT_EQ(DescribeOtherRules("v1.36.0", 36), std::nullopt);
  EXPECT_EQ(DescribeOtherRules("", 36), std::nullopt);
}

TEST(KubernetesRelease, ReportsTheVersionThatIsFollowed) {
  EXPECT_EQ(KubernetesVersion(34), "v1.34.4");
  EXPECT_EQ(KubernetesVersion(36), "v1.36.3");
  EXPECT_EQ(KubernetesVersion(38), "v1.38.0-beta.0");
  EXPECT_EQ(KubernetesVersion(37), "v1.37.2");
}

TEST(KubernetesRelease, AVersionThatIsNone) {
  for (const char* body : {"", "[]", "{}", R"({"gitVersion":7})", "no JSON"}) EXPECT_EQ(VersionIn(body), "") << body;
}

}  // namespace
}  // namespace berth::app
