// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/sighting.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shadow/shadow_testing.h"

namespace berth::shadow {
namespace {

using ::testing::ElementsAre;
using testing::MakePod;

SightingFilter NewFilter() {
  return {[](const api::Pod& pod) { return pod.spec.scheduler_name == api::kDefaultSchedulerName; },
          [](const api::Pod& pod) { return testing::MakePodInfo(pod); }};
}

// A line for each sighting: "p n1", or "p refused: text"; then what was left out.
std::string Seen(const std::vector<scheduler::Input>& before, const std::vector<scheduler::Input>& inputs) {
  SightingFilter filter = NewFilter();
  std::string text;
  for (const scheduler::Input& input : before) EXPECT_FALSE(filter.Look(input).has_value());
  filter.BeginLooking();
  for (const scheduler::Input& input : inputs) {
    const auto sighting = filter.Look(input);
    if (!sighting) continue;
    text += sighting->before->metadata.name + (sighting->is_fresh ? "" : " again");
    text += sighting->is_placed() ? " " + sighting->after->spec.node_name
                                  : " refused: " + sighting->after->status.FindCondition("PodScheduled")->message;
    text += "; ";
  }
  const auto note = [&](const char* name, std::uint64_t count) {
    if (count > 0) text += std::string(name) + " " + std::to_string(count) + "; ";
  };
  note("other scheduler", filter.left_out().other_scheduler);
  note("had node", filter.left_out().had_node);
  note("deleted", filter.left_out().deleted);
  note("failed", filter.left_out().failed);
  note("gated", filter.waiting().gated);
  note("undecided", filter.waiting().undecided);
  note("waits", filter.waiting().refused);
  return text;
}

TEST(SightingTest, WhatInputsShow) {
  const auto p = MakePod("p");
  const auto other = MakePod("p").SchedulerName("other");
  const auto gated = MakePod("p").Gate("example.com/quota");
  const auto deleted = MakePod("p").Deleted(Time{});
  struct Case {
    const char* name;
    std::vector<scheduler::Input> before;
    std::vector<scheduler::Input> inputs;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"placed", {}, {SetOf(p), SetOf(Bound(p, "n1")), SetOf(Bound(p, "n1"))}, "p n1; "},
      {"was there before, pending", {SetOf(p)}, {SetOf(Bound(p, "n1"))}, "p again n1; "},
      {"was there before, placed", {SetOf(Bound(p, "n1"))}, {SetOf(Bound(p, "n1"))}, ""},
      {"placed while nobody looked on", {SetOf(p), SetOf(Bound(p, "n1"))}, {SetOf(Bound(p, "n1"))}, ""},
      {"created with a node", {}, {SetOf(Bound(p, "n1"))}, "had node 1; "},
      {"another scheduler's", {}, {SetOf(other), SetOf(Bound(other, "n1"))}, "other scheduler 1; "},
      {"refused, then placed",
       {},
       {SetOf(p), SetOf(Refused(p, "no room")), SetOf(Refused(p, "no room")), SetOf(Bound(p, "n1"))},
       "p refused: no room; p again n1; "},
      {"refused twice, in other words",
       {},
       {SetOf(p), SetOf(Refused(p, "a")), SetOf(Refused(p, "b"))},
       "p refused: a; p again refused: b; waits 1; "},
      {"refused, and nominated later in the same words",
       {},
       {SetOf(p), SetOf(Refused(p, "a")), SetOf(Refused(p, "a").Nominated("n1"))},
       "p refused: a; p again refused: a; waits 1; "},
      {"refused before", {SetOf(Refused(p, "a"))}, {SetOf(Refused(p, "a"))}, "waits 1; "},
      {"an error of the scheduler",
       {},
       {SetOf(p), SetOf(Refused(p, "x", "SchedulerError"))},
       "failed 1; undecided 1; "},
      {"gated", {}, {SetOf(gated), SetOf(Refused(gated, "x", "SchedulingGated"))}, "gated 1; "},
      {"gate gone, then placed", {}, {SetOf(gated), SetOf(p), SetOf(Bound(p, "n1"))}, "p n1; "},
      {"gone before it was decided", {}, {SetOf(p), Gone(p)}, "deleted 1; "},
      {"gone after a refusal", {}, {SetOf(p), SetOf(Refused(p, "a")), Gone(p)}, "p refused: a; "},
      {"placed while it was being deleted", {}, {SetOf(p), SetOf(deleted), SetOf(Bound(deleted, "n1"))}, "deleted 1; "},
      {"another pod of the same name and uid",
       {},
       {SetOf(p), SetOf(Bound(p, "a")), Gone(p), SetOf(p), SetOf(Bound(p, "b"))},
       "p a; p b; "},
      {"not decided", {}, {SetOf(p)}, "undecided 1; "},
  };
  for (const Case& each : cases) EXPECT_EQ(Seen(each.before, each.inputs), each.want) << each.name;
}

TEST(SightingTest, ArrivalIsWhenTheQueueGetsThePod) {
  SightingFilter filter = NewFilter();
  filter.BeginLooking();
  const auto a = MakePod("a"), b = MakePod("b"), gated = MakePod("gated");
  static_cast<void>(filter.Look(SetOf(MakePod("gated").Gate("g"))));
  static_cast<void>(filter.Look(SetOf(a)));
  static_cast<void>(filter.Look(SetOf(gated)));
  static_cast<void>(filter.Look(SetOf(b)));
  const auto of = [&](const testing::PodBuilder& pod) { return filter.Look(SetOf(Bound(pod, "n1")))->arrival; };
  const std::vector<std::uint64_t> arrivals = {of(a), of(gated), of(b)};
  EXPECT_LT(arrivals[0], arrivals[1]);
  EXPECT_LT(arrivals[1], arrivals[2]);
}

}  // namespace
}  // namespace berth::shadow
