// SPDX-License-Identifier: Apache-2.0
// Tests BackgroundOperations with real outputs and a clock that the test moves.
#include "berth/core/scheduler/background_operations.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/scheduler/output_lines_testing.h"

namespace berth::scheduler {
namespace {

using namespace std::chrono_literals;
using framework::ObjectPatch;
using framework::Operation;
using framework::Status;
using framework::StepResult;

ObjectPatch Patch(std::string name) {
  return {{"v1", "persistentvolumes", "", std::move(name)}, "", framework::PatchType::kMerge, "{}"};
}
Error Broken() { return {ErrorCode::kConflict, "changed"}; }

class BackgroundOperationsTest : public ::testing::Test {
 protected:
  // The outputs since the last call; `number_` becomes the operation of the last one.
  Lines Take() {
    Lines lines;
    std::vector<Output> outputs;
    outputs_.TakeInto(outputs);
    for (const Output& output : outputs) {
      lines.push_back(LineOf(output));
      if (const auto* write = std::get_if<Write>(&output)) number_ = write->operation;
      if (const auto* work = std::get_if<Work>(&output)) number_ = work->operation;
    }
    return lines;
  }
  bool End(std::optional<Error> error = std::nullopt, Status status = {}) {
    return background_.StepEnded(number_, {std::move(error), std::move(status), {}, now_});
  }
  // A continuation that records how the previous step ended, then returns `operation`.
  Operation::Next Then(Operation operation = Operation::Done()) {
    return [this, operation](const StepResult& result) {
      seen_.push_back(result.error ? result.error->message : result.status.IsSuccess() ? "" : result.status.Message());
      return operation;
    };
  }

  Time now_{1000s};
  Outputs outputs_;
  OperationRunner runner_{outputs_};
  BackgroundOperations background_{outputs_, runner_};
  Lines seen_;
  std::uint64_t number_ = 0;
};

TEST_F(BackgroundOperationsTest, GoesOnAsItsContinuationSays) {
  background_.Start(Operation::Write(Patch("one"), Then(Operation::Write(Patch("two"), Then()))), now_);
  EXPECT_EQ(Take(), Lines{"patch one"});
  EXPECT_TRUE(End());
  EXPECT_EQ(Take(), Lines{"patch two"});
  EXPECT_TRUE(End(Broken()));
  EXPECT_EQ(seen_, (Lines{"", "changed"}));
  EXPECT_TRUE(background_.empty());
  EXPECT_TRUE(Take().empty());
}

TEST_F(BackgroundOperationsTest, WritesFollowEachOtherUntilOneFails) {
  background_.Start(Operation::WriteAll({Patch("one"), Patch("two"), Patch("three")}, Then()), now_);
  EXPECT_EQ(Take(), Lines{"patch one"});
  const std::uint64_t first = number_;
  EXPECT_TRUE(End());
  EXPECT_EQ(Take(), Lines{"patch two"});
  EXPECT_GT(number_, first) << "each step has a number of its own";
  EXPECT_TRUE(End(Broken()));
  EXPECT_EQ(seen_, Lines{"changed"});
  EXPECT_TRUE(Take().empty());
}

TEST_F(BackgroundOperationsTest, WorkFails) {
  background_.Start(Operation::Run([] { return Status(); }), now_);
  EXPECT_EQ(Take(), Lines{"work"});
  EXPECT_TRUE(End(std::nullopt, Status::Error("oops"))) << "nobody asks for it: it is logged";
  EXPECT_TRUE(background_.empty());
}

TEST_F(BackgroundOperationsTest, Waits) {
  background_.Start(Operation::After(2s, Then()), now_);
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(runner_.NextWake(), now_ + 2s);
  now_ += 1s;
  EXPECT_EQ(runner_.TakeDue(now_, outputs_.next_operation()), std::nullopt);
  now_ += 1s;
  const std::optional<std::uint64_t> due = runner_.TakeDue(now_, outputs_.next_operation());
  ASSERT_TRUE(due.has_value());
  EXPECT_TRUE(background_.StepEnded(*due, {.now = now_}));
  EXPECT_EQ(seen_, Lines{""});
  EXPECT_EQ(runner_.NextWake(), std::nullopt);
}

TEST_F(BackgroundOperationsTest, WaitsHaveBounds) {
  background_.Start(Operation::After(-1s, Then()), now_);
  EXPECT_EQ(runner_.NextWake(), now_);
  background_.Start(Operation::After(Duration::max(), Then()), now_);
  ASSERT_TRUE(runner_.TakeDue(now_, outputs_.next_operation()).has_value());
  EXPECT_EQ(runner_.NextWake(), now_ + 24h);
}

TEST_F(BackgroundOperationsTest, WhatBeganAfterANumberIsNotDueBeforeIt) {
  const std::uint64_t end = outputs_.next_operation();
  background_.Start(Operation::After(0s, Then()), now_);
  EXPECT_EQ(runner_.TakeDue(now_, end), std::nullopt);
  EXPECT_TRUE(runner_.TakeDue(now_, end + 1).has_value());
}

TEST_F(BackgroundOperationsTest, OutcomesOfOthersAreNotItsOwn) {
  EXPECT_FALSE(background_.StepEnded(7, {.now = now_}));
  background_.Start(Operation::Write(Patch("one")), now_);
  Take();
  EXPECT_FALSE(background_.StepEnded(number_ + 1, {.now = now_}));
  EXPECT_TRUE(End(Broken()));
  EXPECT_FALSE(End()) << "twice";
}

TEST_F(BackgroundOperationsTest, WhatCannotBeCarriedOutIsDropped) {
  struct Case {
    const char* name;
    Operation operation;
  };
  Operation both = Operation::Run([] { return Status(); });
  both.writes.push_back(Patch("one"));
  const std::vector<Case> cases = {
      {"nothing to do", Operation::Done()},
      {"a failure that nobody waits for", Operation::Done(Status::Error("oops"))},
      {"writes and work at once", both},
      {"a write that is the scheduler's own", Operation::Write(framework::PodRead{})},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    background_.Start(Operation(c.operation), now_);
    EXPECT_TRUE(background_.empty());
    EXPECT_TRUE(Take().empty());
  }
}

TEST_F(BackgroundOperationsTest, WhatAContinuationThrowsEndsTheOperation) {
  background_.Start(
      Operation::Write(Patch("one"), [](const StepResult&) -> Operation { throw std::runtime_error("oops"); }), now_);
  Take();
  EXPECT_TRUE(End());
  EXPECT_TRUE(background_.empty());
}

}  // namespace
}  // namespace berth::scheduler
