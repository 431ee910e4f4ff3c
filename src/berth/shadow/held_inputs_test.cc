// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/held_inputs.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/shadow/shadow_testing.h"

namespace berth::shadow {
namespace {

using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;
using namespace std::chrono_literals;

class HeldInputsTest : public ::testing::Test {
 protected:
  // A binding of a pod that came as the `arrival`th.
  void Push(const std::string& name, std::uint64_t arrival, std::int32_t priority = 0, bool is_fresh = true) {
    const auto pod = MakePod(name).Priority(priority);
    HeldInput held{now_, SetOf(Bound(pod, "n1")), Sighting{}};
    held.sighting->before = std::make_shared<const api::Pod>(pod.Build());
    held.sighting->after = std::get<scheduler::PodSet>(held.input).pod;
    held.sighting->pod = pod.Info();
    held.sighting->arrival = arrival;
    held.sighting->is_fresh = is_fresh;
    held_.Push(std::move(held));
  }
  void PushNode(const std::string& name) { held_.Push({now_, SetOf(MakeNode(name)), {}}); }

  static std::string NameOf(const scheduler::Input& input) {
    if (const auto* set = std::get_if<scheduler::PodSet>(&input))
      return set->pod->metadata.name + (set->pod->spec.node_name.empty() ? " pending" : "");
    return std::get<scheduler::NodeSet>(input).node->metadata.name;
  }
  std::vector<std::string> TakeAll() {
    std::vector<std::string> names;
    while (const auto taken = held_.Take(now_, true)) names.push_back(NameOf(taken->input));
    return names;
  }

  scheduler::Profiles profiles_ = scheduler::DefaultProfiles();
  HeldInputs held_{*profiles_.front()->queue_sort};
  Time now_{};
};

TEST_F(HeldInputsTest, HoldsForTheWindow) {
  PushNode("a");
  now_ += HeldInputs::kWindow / 2;
  PushNode("b");
  EXPECT_FALSE(held_.Take(now_, false).has_value());
  EXPECT_EQ(held_.NextDue(), Time{} + HeldInputs::kWindow);
  now_ += HeldInputs::kWindow / 2;
  EXPECT_EQ(NameOf(held_.Take(now_, false)->input), "a");
  EXPECT_FALSE(held_.Take(now_, false).has_value());
  EXPECT_EQ(NameOf(held_.Take(now_, true)->input), "b");
  EXPECT_FALSE(held_.NextDue().has_value());
}

TEST_F(HeldInputsTest, BindingsOfOnePriorityInOrderOfArrival) {
  PushNode("n1");
  Push("third", 3);
  Push("first", 1);
  PushNode("n2");
  Push("second", 2);
  EXPECT_THAT(TakeAll(), ElementsAre("n1", "first", "second", "third", "n2"));
}

TEST_F(HeldInputsTest, PriorityGoesFirstAmongThoseThatWaitedTogether) {
  Push("low", 2, 0);
  Push("high", 1, 10);
  EXPECT_THAT(TakeAll(), ElementsAre("high", "low"));
}

// It may have come when the other one was decided already: only the order of the bindings tells.
TEST_F(HeldInputsTest, APriorityThatCameLaterStaysInItsPlace) {
  Push("low", 1, 0);
  Push("high", 2, 10);
  EXPECT_THAT(TakeAll(), ElementsAre("low", "high"));
}

TEST_F(HeldInputsTest, APodThatWasRefusedStaysInItsPlace) {
  Push("b", 2);
  Push("a", 1, 0, false);
  EXPECT_THAT(TakeAll(), ElementsAre("b", "a"));
}

TEST_F(HeldInputsTest, OfAPodThatGoesFirstNothingOlderFollows) {
  Push("b", 2);
  held_.Push({now_, SetOf(MakePod("a")), {}});
  Push("a", 1);
  EXPECT_THAT(TakeAll(), ElementsAre("a", "b"));
}

TEST_F(HeldInputsTest, DecisionsThatAreHeld) {
  Push("a", 1);
  PushNode("n");
  Push("b", 2);
  Push("c", 3);
  std::vector<std::string> names;
  held_.ForEachSighting([&](const Sighting& sighting) {
    names.push_back(sighting.before->metadata.name);
    return names.size() < 2;
  });
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace berth::shadow
