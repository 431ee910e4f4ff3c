// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/pod_traces.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/uuid.h"
#include "berth/core/instruments/scheduler_metrics.h"

namespace berth::instruments {
namespace {

using namespace std::chrono_literals;
using framework::Code;

constexpr std::string_view kUid = "0af76519-16cd-43dd-8448-eb211c80319c";

class ManualClock final : public Clock {
 public:
  Time Now() const override { return now; }
  Time now{std::chrono::seconds(1'000'000'000)};
};

framework::PodInfo Pod(std::string uid) {
  auto pod_class = std::make_shared<framework::PodClass>();
  pod_class->namespace_name = "default";
  framework::PodInfo pod;
  pod.name = "web-1";
  pod.uid = std::move(uid);
  pod.pod_class = pod_class;
  return pod;
}

class PodTracesTest : public ::testing::Test {
 protected:
  PodTracesTest() {
    stopwatch.BeginTurn(clock.now);
    traces.SetStopwatch(stopwatch);
  }
  void After(Duration duration) {
    clock.now += duration;
    stopwatch.Read();
  }
  std::vector<Span> Take() {
    std::vector<Span> spans;
    operations.clear();
    dropped = traces.TakeInto(spans, operations);
    return spans;
  }

  ManualClock clock;
  Stopwatch stopwatch{&clock};
  PodTraces traces{1'000'000, 7};
  std::vector<TracedOperation> operations;
  std::uint64_t dropped = 0;
};

std::string TextOf(const Span& span, std::string_view key) {
  for (const SpanAttribute& attribute : span.attributes) {
    if (attribute.key != key) continue;
    const auto* text = std::get_if<std::string>(&attribute.value);
    return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(attribute.value));
  }
  return "";
}

TEST(TraceIdTest, IsThePodsUid) {
  const TraceContext root = RootOf(kUid);
  EXPECT_EQ(root.trace_high, 0x0af7651916cd43ddU);
  EXPECT_EQ(root.trace_low, 0x8448eb211c80319cU);
  EXPECT_NE(root.span, 0U);
  // Every process of the same pod has the same first span.
  EXPECT_EQ(RootOf(kUid), root);
  for (const std::string_view other :
       {"uid-1", "", "0af76519-16cd-43dd-8448-eb211c80319x", "00000000-0000-0000-0000-000000000000"}) {
    EXPECT_TRUE(RootOf(other).IsSet()) << other;
    EXPECT_NE(RootOf(other).trace_high, root.trace_high) << other;
  }
}

TEST_F(PodTracesTest, SamplesByTheUid) {
  Random random(3);
  PodTraces some(100'000, 7);
  PodTraces again(100'000, 8);
  PodTraces none(0, 7);
  some.SetStopwatch(stopwatch);
  again.SetStopwatch(stopwatch);
  none.SetStopwatch(stopwatch);
  int count = 0;
  for (int i = 0; i < 20'000; ++i) {
    const framework::PodInfo pod = Pod(UuidOf(random.Next(), random.Next()));
    const bool is_traced = some.Begin(pod);
    count += is_traced ? 1 : 0;
    EXPECT_EQ(again.Begin(pod), is_traced);
    EXPECT_FALSE(none.Begin(pod));
    EXPECT_TRUE(traces.Begin(pod));
  }
  EXPECT_NEAR(count, 2'000, 200);
}

TEST_F(PodTracesTest, FromAddedToBound) {
  ASSERT_TRUE(traces.Begin(Pod(std::string(kUid))));
  const Time added = clock.now;
  traces.Enter(kUid, "activeQ", "PodAdd", "");
  After(5ms);
  traces.Pop(kUid);
  const Time popped = clock.now;
  ASSERT_TRUE(traces.BeginFocus(kUid));
  EXPECT_FALSE(traces.BeginFocus(kUid));
  After(2ms);
  traces.NotePoint(Point::kFilter, Code::kSuccess, 2ms);
  traces.NotePoint(Point::kPreScore, Code::kSuccess, 0ms);  // too short to be shown
  traces.AddOperation(kUid, 42, true);
  traces.EndFocus();
  After(3ms);
  ASSERT_TRUE(traces.BeginFocus(kUid));
  traces.NotePoint(Point::kBind, Code::kSuccess, 3ms);
  traces.EndAttempt(kUid, {.result = "scheduled", .node_name = "n1", .profile = "p", .began = popped, .number = 1});
  traces.EndFocus();
  traces.End(kUid, "bound", "n1");
  EXPECT_EQ(traces.open_count(), 0U);

  const std::vector<Span> spans = Take();
  ASSERT_EQ(spans.size(), 5U);
  const auto& [wait, filter, bind, attempt, root] = std::tie(spans[0], spans[1], spans[2], spans[3], spans[4]);
  EXPECT_EQ(wait.name, "activeQ");
  EXPECT_EQ(wait.begin, added);
  EXPECT_EQ(wait.end, added + 5ms);
  EXPECT_EQ(TextOf(wait, "berth.queue.cause"), "PodAdd");
  EXPECT_EQ(wait.parent, root.context.span);
  EXPECT_EQ(filter.name, "Filter");
  EXPECT_EQ(filter.begin, popped);
  EXPECT_EQ(filter.end, popped + 2ms);
  EXPECT_EQ(filter.parent, attempt.context.span);
  EXPECT_EQ(bind.name, "Bind");
  EXPECT_EQ(bind.parent, attempt.context.span);
  EXPECT_EQ(attempt.begin, popped);
  EXPECT_EQ(attempt.end, popped + 5ms);
  EXPECT_EQ(TextOf(attempt, "berth.attempt"), "1");
  EXPECT_EQ(attempt.parent, root.context.span);
  EXPECT_EQ(root.context, RootOf(kUid));
  EXPECT_EQ(root.parent, 0U);
  EXPECT_EQ(root.begin, added);
  EXPECT_EQ(root.end, added + 10ms);
  EXPECT_EQ(TextOf(root, "k8s.pod.name"), "web-1");
  EXPECT_EQ(TextOf(root, "k8s.node.name"), "n1");
  // The request belongs to Bind, whose span ended later.
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].operation, 42U);
  EXPECT_EQ(operations[0].parent.span, bind.context.span);
  std::set<std::uint64_t> ids;
  for (const Span& span : spans) {
    EXPECT_TRUE(ids.insert(span.context.span).second);
    EXPECT_EQ(span.context.trace_low, root.context.trace_low);
  }
}

TEST_F(PodTracesTest, ARefusedAttemptAndItsWait) {
  ASSERT_TRUE(traces.Begin(Pod(std::string(kUid))));
  traces.Enter(kUid, "gated", "PodAdd", "SchedulingGates");
  After(1s);
  traces.Enter(kUid, "activeQ", "UpdatePodSchedulingGatesEliminated", "");
  EXPECT_FALSE(traces.HasNews());  // a standby exports nothing
  traces.Pop(kUid);
  traces.EndAttempt(kUid, {.result = "error", .message = std::string(2000, 'x'), .began = clock.now, .number = 1});
  traces.Enter(kUid, "unschedulable", "ScheduleAttemptFailure", "NodeResourcesFit");
  After(2s);
  traces.Enter(kUid, "activeQ", "AssignedPodDelete", "");
  const std::vector<Span> spans = Take();
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].name, "gated");
  EXPECT_EQ(spans[0].end - spans[0].begin, 1s);
  EXPECT_EQ(TextOf(spans[0], "berth.queue.plugins"), "SchedulingGates");
  EXPECT_EQ(spans[2].name, "attempt");
  EXPECT_EQ(spans[2].error.size(), PodTraces::kMessageBytesMax);
  EXPECT_EQ(spans[3].name, "unschedulable");
  EXPECT_EQ(TextOf(spans[3], "berth.queue.ended_by"), "AssignedPodDelete");
}

TEST_F(PodTracesTest, APodThatWasNeverTriedLeavesNothing) {
  ASSERT_TRUE(traces.Begin(Pod(std::string(kUid))));
  for (int i = 0; i < 100; ++i) traces.Enter(kUid, "gated", "x", "");
  traces.End(kUid, "removed");
  EXPECT_FALSE(traces.HasNews());
  EXPECT_EQ(traces.open_count(), 0U);
}

TEST_F(PodTracesTest, CallsAboutOtherPodsHaveNoEffect) {
  traces.Enter("other", "activeQ", "x", "");
  traces.Pop("other");
  EXPECT_FALSE(traces.BeginFocus("other"));
  traces.NotePoint(Point::kFilter, Code::kSuccess, 1ms);
  traces.AddOperation("other", 1, true);
  traces.EndAttempt("other", {.result = "scheduled"});
  traces.End("other", "bound");
  EXPECT_FALSE(traces.HasNews());
}

TEST_F(PodTracesTest, IsBounded) {
  for (std::size_t i = 0; i < PodTraces::kPodsMax + 10; ++i) traces.Begin(Pod("uid-" + std::to_string(i)));
  EXPECT_EQ(traces.open_count(), PodTraces::kPodsMax);
  const std::string last = "uid-" + std::to_string(PodTraces::kPodsMax);
  for (std::size_t i = 0; i < PodTraces::kSpansMax + 10; ++i) {
    traces.Pop(last);
    traces.EndAttempt(last, {.result = "unschedulable"});
    traces.AddOperation(last, i, false);
  }
  EXPECT_EQ(Take().size(), PodTraces::kSpansMax);
  EXPECT_EQ(dropped, 10U);
  EXPECT_EQ(operations.size(), PodTraces::kSpansMax);
  EXPECT_FALSE(traces.HasNews());
}

}  // namespace
}  // namespace berth::instruments
