// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/candidates.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using Candidate = framework::PreemptionReport::Candidate;
using testing::MakePod;

constexpr Time kNow{std::chrono::hours(1000)};

struct Victim {
  std::int32_t priority;
  int started;  // seconds; below 0: not yet
};

Candidate MakeCandidate(std::int64_t violations, const std::vector<Victim>& victims) {
  Candidate candidate;
  candidate.pdb_violations = violations;
  for (const Victim& victim : victims) {
    testing::PodBuilder pod = MakePod("v").Priority(victim.priority);
    if (victim.started >= 0) pod.Started(Time{std::chrono::seconds(victim.started)});
    candidate.victims.push_back(pod.Info());
  }
  return candidate;
}

TEST(Candidates, CriteriaInTheirOrder) {
  const struct {
    const char* name;
    std::vector<Candidate> candidates;
    std::vector<std::size_t> want;
  } cases[] = {
      {"none", {}, {}},
      {"fewest violations, whatever else",
       {MakeCandidate(1, {{0, 9}}), MakeCandidate(0, {{5, 1}, {5, 1}, {5, 1}})},
       {1}},
      {"lowest highest priority, though there are more victims",
       {MakeCandidate(0, {{10, 9}}), MakeCandidate(0, {{9, 1}, {9, 1}, {9, 1}})},
       {1}},
      {"smallest sum of priorities",
       {MakeCandidate(0, {{10, 9}, {8, 9}}), MakeCandidate(0, {{10, 1}, {7, 1}}), MakeCandidate(0, {{10, 9}, {9, 9}})},
       {1}},
      {"one victim more costs more, also of negative priority",
       {MakeCandidate(0, {{-10, 9}, {-10, 9}}), MakeCandidate(0, {{-10, 1}})},
       {1}},
      {"fewer victims where the sums are equal",
       // 2^31 a victim: only a victim of the lowest priority can make up for itself.
       {MakeCandidate(0, {{0, 9}, {INT32_MIN, 9}}), MakeCandidate(0, {{0, 1}})},
       {1}},
      {"latest start of the most important ones",
       {MakeCandidate(0, {{10, 100}, {5, 1}}), MakeCandidate(0, {{10, 99}, {5, 900}})},
       {0}},
      {"the earliest of the most important ones counts",
       {MakeCandidate(0, {{10, 900}, {10, 50}}), MakeCandidate(0, {{10, 60}, {10, 61}})},
       {1}},
      // Victims that a group's priority put in their places.
      {"the first victim's priority, though a later one has a higher",
       {MakeCandidate(0, {{5, 9}, {20, 9}}), MakeCandidate(0, {{6, 9}, {6, 9}})},
       {0}},
      {"the start of the one with the highest priority, wherever it is",
       {MakeCandidate(0, {{5, 1}, {20, 300}}), MakeCandidate(0, {{5, 900}, {20, 200}})},
       {0}},
      {"not started yet: now", {MakeCandidate(0, {{10, 900}}), MakeCandidate(0, {{10, -1}})}, {1}},
      {"equal", {MakeCandidate(0, {{10, 5}}), MakeCandidate(1, {{10, 5}}), MakeCandidate(0, {{10, 5}})}, {0, 2}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(Cheapest(test.candidates, kNow), test.want);
  }
}

TEST(Candidates, HowManyAreWanted) {
  const struct {
    std::int64_t nodes, percentage, absolute, want;
  } cases[] = {
      {5000, 10, 100, 500}, {500, 10, 100, 100}, {50, 10, 100, 50}, {1, 10, 100, 1}, {50, 1, 0, 0},
      {99, 1, 0, 0},        {100, 1, 0, 1},      {10, 100, 0, 10},  {10, 0, 3, 3},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(CandidatesWanted(test.nodes, test.percentage, test.absolute), test.want)
        << test.nodes << " nodes, " << test.percentage << " %, " << test.absolute;
  }
}

}  // namespace
}  // namespace berth::plugins
