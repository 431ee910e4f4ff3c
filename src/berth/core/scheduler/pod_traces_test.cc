// SPDX-License-Identifier: Apache-2.0
// The spans that a core makes of its pods.
#include "berth/core/instruments/pod_traces.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using framework::Operation;
using framework::Status;
using instruments::Span;
using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

// A clock that moves 10 microseconds with each reading.
class CostlyClock final : public Clock {
 public:
  Time Now() const override { return time += std::chrono::microseconds(10); }
  mutable Time time{std::chrono::seconds(1'000'000'020)};
};

class PodTracesTest : public ::testing::Test {
 protected:
  void Start(Profiles profiles = DefaultProfiles()) {
    metrics.traces = &traces;
    SchedulerOptions options = PatientOptions();
    options.metrics = &metrics;
    options.stopwatch = &clock;
    harness = std::make_unique<Harness>(std::move(profiles), std::move(options));
  }
  void Take() {
    harness->Take();
    traces.TakeInto(spans, operations);
  }
  // The names of the spans so far; those of an attempt behind it, in brackets.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Span& span : spans) {
      const auto parent = std::ranges::find(spans, span.parent, [](const Span& one) { return one.context.span; });
      if (parent != spans.end() && parent->name == "attempt") continue;
      std::string name = span.name;
      for (const Span& child : spans) {
        if (child.parent == span.context.span && span.name == "attempt") name += "," + child.name;
      }
      names.push_back(std::move(name));
    }
    return names;
  }
  std::string TextOf(std::string_view name, std::string_view key) const {
    for (const Span& span : spans) {
      if (span.name != name) continue;
      for (const auto& attribute : span.attributes) {
        if (attribute.key == key && std::holds_alternative<std::string>(attribute.value))
          return std::get<std::string>(attribute.value);
      }
    }
    return "";
  }

  CostlyClock clock;
  MetricRegistry registry;
  instruments::SchedulerMetrics metrics{registry};
  instruments::PodTraces traces{1'000'000, 1};
  std::unique_ptr<Harness> harness;
  std::vector<Span> spans;
  std::vector<instruments::TracedOperation> operations;
};

TEST_F(PodTracesTest, APodThatIsBound) {
  Start();
  harness->Set(MakeNode("n1").Allocatable("cpu", "4"));
  harness->Set(MakePod("web").Request("cpu", "1"));
  harness->Run();
  Take();
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].operation, harness->operation);
  harness->Answer();
  Take();
  EXPECT_THAT(Names(),
              ElementsAre("activeQ", "attempt,PreFilter,Filter,Reserve,PreBindPreFlight,Bind", "schedule pod"));
  EXPECT_EQ(TextOf("attempt", "berth.result"), "scheduled");
  EXPECT_EQ(TextOf("attempt", "k8s.node.name"), "n1");
  EXPECT_EQ(TextOf("schedule pod", "berth.result"), "bound");
  const auto bind = std::ranges::find(spans, "Bind", &Span::name);
  ASSERT_NE(bind, spans.end());
  EXPECT_EQ(operations[0].parent.span, bind->context.span);
  EXPECT_EQ(traces.open_count(), 0U);
}

TEST_F(PodTracesTest, APodThatIsRefusedAndWoken) {
  Start();
  harness->Set(MakeNode("n1").Allocatable("cpu", "1"));
  harness->Set(MakePod("web").Request("cpu", "2"));
  harness->Run();
  harness->Set(MakeNode("n2").Allocatable("cpu", "4"));
  harness->Run(std::chrono::seconds(3));
  Take();
  harness->Answer();
  Take();
  std::vector<std::string> names = Names();
  std::erase_if(names, [](const std::string& name) { return name == "activeQ" || name == "backoffQ"; });
  ASSERT_EQ(names.size(), 4U);
  EXPECT_THAT(names[0], ::testing::HasSubstr("PostFilter"));
  EXPECT_EQ(names[1], "unschedulable");
  EXPECT_THAT(names[2], ::testing::HasSubstr("Bind"));
  EXPECT_EQ(names[3], "schedule pod");
  EXPECT_EQ(TextOf("unschedulable", "berth.queue.plugins"), "NodeResourcesFit");
  EXPECT_EQ(TextOf("unschedulable", "berth.queue.ended_by"), "NodeAdd");
  EXPECT_THAT(TextOf("attempt", "berth.message"), ::testing::HasSubstr("Insufficient cpu"));
}

TEST_F(PodTracesTest, GatesPermitAndPreBind) {
  Lines calls;
  Profiles profiles = DefaultProfiles();
  Actor& actor = Enable(*profiles.front(), std::make_shared<Actor>("Actor", calls));
  actor.permit = [](const framework::PodInfo&) {
    return framework::PermitResult{Status::Wait(), std::chrono::seconds(100)};
  };
  actor.pre_bind = [](const framework::PodInfo&) { return Operation::Run([] { return Status(); }); };
  Start(std::move(profiles));
  harness->Set(MakeNode("n1").Allocatable("cpu", "4"));
  harness->Set(MakePod("web").Request("cpu", "1").Gate("wait"));
  harness->Run(std::chrono::seconds(1));
  clock.time = harness->now;  // the stopwatch has not gone on meanwhile
  harness->Set(MakePod("web").Request("cpu", "1"));
  harness->Run();
  harness->Decide(MakePod("web"), "Actor", true);
  harness->Take();
  harness->AnswerWork();
  Take();
  harness->Answer();
  Take();
  EXPECT_THAT(Names(), ElementsAre("gated", "activeQ",
                                   "attempt,PreFilter,Filter,Reserve,Permit,PreBindPreFlight,WaitOnPermit,PreBind,Bind",
                                   "PostBind", "schedule pod"));
  EXPECT_EQ(TextOf("gated", "berth.queue.plugins"), "SchedulingGates");
}

TEST_F(PodTracesTest, ABindingThatFails) {
  Start();
  harness->Set(MakeNode("n1").Allocatable("cpu", "4"));
  harness->Set(MakePod("web").Request("cpu", "1"));
  harness->Run();
  harness->Take();
  harness->Answer(Error{ErrorCode::kInvalid, "no"});
  Take();
  EXPECT_EQ(TextOf("attempt", "berth.result"), "error");
  EXPECT_THAT(TextOf("attempt", "berth.message"), ::testing::HasSubstr("no"));
  EXPECT_EQ(traces.open_count(), 1U);
  harness->Remove(MakePod("web").Request("cpu", "1"));
  Take();
  EXPECT_EQ(TextOf("schedule pod", "berth.result"), "removed");
  EXPECT_EQ(traces.open_count(), 0U);
}

// Decisions are the same with tracing and without.
TEST_F(PodTracesTest, ChangesNoDecision) {
  const auto run = [](Harness& with) {
    for (int i = 0; i < 8; ++i) with.Set(MakeNode("n" + std::to_string(i)).Allocatable("cpu", "4"));
    for (int i = 0; i < 20; ++i) with.Set(MakePod("p" + std::to_string(i)).Request("cpu", "1"));
    with.Run();
    return with.Take();
  };
  Start();
  Harness plain;
  EXPECT_EQ(run(*harness), run(plain));
}

}  // namespace
}  // namespace berth::scheduler
