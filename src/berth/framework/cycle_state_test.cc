// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/cycle_state.h"

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

struct Count final : StateData {
  explicit Count(int n) : value(n) {}
  std::unique_ptr<StateData> Clone() const override {
    ++clones;
    return std::make_unique<Count>(value);
  }
  int value;
  static inline int clones = 0;
};

struct Fixed final : StateData {
  int value = 1;
};

TEST(CycleState, AbsentIsNull) {
  CycleState state;
  EXPECT_EQ(state.Read<Count>("a"), nullptr);
  EXPECT_EQ(state.Mutable<Count>("a"), nullptr);
}

TEST(CycleState, AChangeStaysInTheClone) {
  Count::clones = 0;
  CycleState state;
  state.Write("a", std::make_shared<Count>(1));
  state.Write("b", std::make_shared<Count>(1));
  CycleState clone = state.Clone();
  EXPECT_EQ(clone.Read<Count>("a"), state.Read<Count>("a")) << "shared as long as nobody changes it";
  clone.Mutable<Count>("a")->value = 2;
  clone.Mutable<Count>("a")->value += 1;
  EXPECT_EQ(state.Read<Count>("a")->value, 1);
  EXPECT_EQ(clone.Read<Count>("a")->value, 3);
  EXPECT_EQ(Count::clones, 1) << "copied once, and only what is changed";
}

TEST(CycleState, AChangeOfTheOriginalDoesNotReachItsClones) {
  CycleState state;
  state.Write("a", std::make_shared<Count>(1));
  const CycleState clone = state.Clone();
  state.Mutable<Count>("a")->value = 2;
  EXPECT_EQ(clone.Read<Count>("a")->value, 1);
}

TEST(CycleState, WhatMergedStatesShareIsCopiedToo) {
  CycleState kept, cycle;
  kept.Write("a", std::make_shared<Count>(1));
  cycle.MergeFrom(kept);
  cycle.Mutable<Count>("a")->value = 2;
  EXPECT_EQ(kept.Read<Count>("a")->value, 1);
}

TEST(CycleState, TheOnlyOwnerChangesInPlace) {
  CycleState state;
  const auto data = [&] { return state.Read<Count>("a"); };
  state.Write("a", std::make_shared<Count>(1));
  const Count* before = data();
  state.Mutable<Count>("a")->value = 2;
  EXPECT_EQ(data(), before);
}

TEST(CycleState, WithoutACopyAChangeIsForAll) {
  CycleState state;
  state.Write("a", std::make_shared<Fixed>());
  CycleState clone = state.Clone();
  clone.Mutable<Fixed>("a")->value = 2;
  EXPECT_EQ(state.Read<Fixed>("a")->value, 2);
}

}  // namespace
}  // namespace berth::framework
