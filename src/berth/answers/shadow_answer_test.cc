// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/shadow_answer.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/answers/page.h"

namespace berth::answers {
namespace {

using shadow::Comparison, shadow::Match, shadow::ShadowReport;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

Comparison Of(Match match, std::string pod) {
  Comparison comparison;
  comparison.match = match;
  comparison.pod = std::move(pod);
  comparison.their_node = "n1";
  comparison.our_node = "n2";
  return comparison;
}

ShadowReport Sample() {
  ShadowReport report;
  report.scheduler_names = {"default-scheduler"};
  report.source = "https://api.example.com";
  report.began_at = Time{} + 1h;
  report.ended_at = Time{} + 2h;
  report.node_count = 3;
  report.pod_count = 5;
  for (int i = 0; i < 9; ++i) report.Add(Of(Match::kSameNode, "default/p"));
  Comparison worse = Of(Match::kWorseNode, "default/<b>");
  worse.points = 7;
  worse.plugins = {{"NodeResourcesFit", 90, 80}, {"ImageLocality", 0, 3}};
  report.Add(worse);
  Comparison refused = Of(Match::kRefusedHere, "default/r");
  refused.our_node = "";
  refused.our_message = "0/3 nodes are available: 3 Insufficient cpu.";
  refused.is_explained_by_order = true;
  report.Add(refused);
  report.left_out.had_node = 2;
  for (int i = 0; i < 10; ++i) report.cost.Add(200us, 100us);
  return report;
}

TEST(ShadowTextTest, Tables) {
  EXPECT_THAT(
      ShadowLines(Sample(), false, {false, kAnswerColumns}),
      ElementsAre(
          "Compared:   11 decisions of default-scheduler in 1h0m0s, with 3 nodes and 5 pods on them",
          "Agreement:  81.82 % (9), and 1 explained by the order of decisions; 1 differ",
          "Time:       0.20 ms a decision (half within 0.20 ms, 99 % within 0.20 ms), CPU 0.10 ms", "",
          "OUTCOME                                 DECISIONS     SHARE   BY ORDER",
          "the same node                                   9   81.82 %",
          "another node, equally good                      0    0.00 %",
          "refused by both, for the same reasons           0    0.00 %",
          "another node, with fewer points                 1    9.09 %          0",
          "placed, but refused by berth                    1    9.09 %          1", "",
          "LEFT OUT                     PODS", "had a node when seen first      2", "",
          "POD           SCHEDULER   BERTH    POINTS   BY ORDER   WHY",
          "default/<b>   n1          n2            7              NodeResourcesFit 80 against 90, ImageLocalit…",
          "default/r     n1          <none>            yes        0/3 nodes are available: 3 Insufficient cpu."));
}

TEST(ShadowTextTest, FitsAHundredColumns) {
  ShadowReport report = Sample();
  for (int i = 0; i < 40; ++i) {
    Comparison other =
        Of(Match::kOtherReasons, "a-namespace-with-a-name/a-deployment-with-a-name-5d4c9b7f8-x" + std::to_string(i));
    other.their_message = other.our_message = std::string(300, 'x');
    report.Add(other);
  }
  const auto lines = ShadowLines(report, false, {false, kAnswerColumns});
  for (const std::string& line : lines) EXPECT_LE(cli::DisplayWidth(line), kAnswerColumns) << line;
  EXPECT_THAT(lines, Contains("The newest 20 of 42 differences"));
  const auto wide = ShadowLines(report, true, {false, 0});
  EXPECT_THAT(wide, Not(Contains(HasSubstr("The newest"))));
}

// Decisions of one turn are seen at the same time.
TEST(ShadowTextTest, DifferencesAreInTheOrderOfDecisions) {
  ShadowReport report;
  for (const Match match : {Match::kPlacedHere, Match::kUnfitNode, Match::kPlacedHere}) report.Add(Of(match, "p"));
  std::vector<Match> order;
  for (const Comparison& each : report.Differences()) order.push_back(each.match);
  EXPECT_THAT(order, ElementsAre(Match::kPlacedHere, Match::kUnfitNode, Match::kPlacedHere));
}

TEST(ShadowTextTest, NothingToReport) {
  const ShadowReport report;
  EXPECT_THAT(ShadowLines(report, false, {})[1], "Agreement:  - (0)");
}

TEST(ShadowTextTest, PercentIsNeverRoundedToAll) {
  EXPECT_EQ(PercentText(1, 1), "100.00 %");
  EXPECT_EQ(PercentText(999'999, 1'000'000), "99.99 %");
  EXPECT_EQ(PercentText(1, 1'000'000), "0.01 %");
  EXPECT_EQ(PercentText(0, 5), "0.00 %");
  EXPECT_EQ(PercentText(0, 0), "-");
}

TEST(ShadowTextTest, Json) {
  const codec::json::object json = ShadowJson(Sample());
  EXPECT_EQ(json.at("decisions"), 11U);
  EXPECT_EQ(json.at("agreements"), 9U);
  EXPECT_EQ(json.at("unexplained"), 1U);
  EXPECT_EQ(json.at("matches").at("refusedHere").at("explainedByOrder"), 1U);
  EXPECT_EQ(json.at("leftOut").at("hadNode"), 2U);
  EXPECT_EQ(json.at("points").at("max"), 7);
  const auto& worse = json.at("differences").as_array()[0];
  EXPECT_EQ(worse.at("match"), "worseNode");
  EXPECT_EQ(worse.at("theirs").at("node"), "n1");
  EXPECT_EQ(worse.at("plugins").as_array()[0].at("plugin"), "NodeResourcesFit");
}

}  // namespace
}  // namespace berth::answers
