// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/tracer.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::tracing {
namespace {

using client::BorrowedTransport;
using client::FakeLoop;
using client::FakeTransport;

TEST(TracerTest, MakesSpansOfRequests) {
  FakeLoop loop;
  FakeTransport transport;
  Tracer tracer(1'000'000, 1, loop,
                std::make_unique<TraceExporter>(loop, std::make_unique<BorrowedTransport>(transport), TracingConfig{},
                                                TraceExporterOptions{}, framework::Metrics::None()));
  instruments::Stopwatch stopwatch(&loop);
  tracer.pods().SetStopwatch(stopwatch);
  auto pod_class = std::make_shared<framework::PodClass>();
  framework::PodInfo pod;
  pod.uid = "0af76519-16cd-43dd-8448-eb211c80319c";
  pod.pod_class = pod_class;
  ASSERT_TRUE(tracer.pods().Begin(pod));
  tracer.pods().Pop(pod.uid);
  tracer.pods().AddOperation(pod.uid, 5, true);
  tracer.TakeTurn();

  EXPECT_EQ(tracer.BeginCall(4, "POST pods/binding"), nullptr);
  const TracedCallPtr call = tracer.BeginCall(5, "POST pods/binding");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(tracer.BeginCall(5, "POST pods/binding"), nullptr);  // once
  EXPECT_TRUE(call->traceparent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
  EXPECT_NE(call->span.parent, 0U);
  EXPECT_NE(call->span.context.span, call->span.parent);
  std::vector<net::Header> headers;
  AddTraceParent(call, headers);
  AddTraceParent(nullptr, headers);
  ASSERT_EQ(headers.size(), 1U);
  EXPECT_EQ(headers[0].value, call->traceparent);
  tracer.EndCall(call, "conflict");
  tracer.EndCall(nullptr, "");
  loop.Advance(std::chrono::seconds(5));
  ASSERT_EQ(transport.Waiting(), 1U);
  const std::string body = transport.Next()->request.body;
  EXPECT_NE(body.find("POST pods/binding"), std::string::npos);
  EXPECT_NE(body.find("conflict"), std::string::npos);
}

TEST(TracerTest, ForgetsOperationsThatNobodyPerforms) {
  FakeLoop loop;
  FakeTransport transport;
  Tracer tracer(1'000'000, 1, loop,
                std::make_unique<TraceExporter>(loop, std::make_unique<BorrowedTransport>(transport), TracingConfig{},
                                                TraceExporterOptions{}, framework::Metrics::None()));
  instruments::Stopwatch stopwatch(&loop);
  tracer.pods().SetStopwatch(stopwatch);
  framework::PodInfo pod;
  pod.uid = "a";
  pod.pod_class = std::make_shared<framework::PodClass>();
  ASSERT_TRUE(tracer.pods().Begin(pod));
  for (std::uint64_t i = 1; i <= 2 * Tracer::kOperationsMax; ++i) {
    tracer.pods().AddOperation(pod.uid, i, false);
    if (i % 1000 == 0) tracer.TakeTurn();
  }
  EXPECT_EQ(tracer.BeginCall(1, "x"), nullptr);
  EXPECT_NE(tracer.BeginCall(2 * Tracer::kOperationsMax, "x"), nullptr);
}

}  // namespace
}  // namespace berth::tracing
