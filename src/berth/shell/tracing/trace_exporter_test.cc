// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/trace_exporter.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::tracing {
namespace {

using namespace std::chrono_literals;
using client::BorrowedTransport;
using client::FakeLoop;
using client::FakeTransport;
using instruments::Span;

class CountingMetrics final : public framework::Metrics {
 public:
  struct Value final : framework::Counter, framework::Gauge {
    void Add(double amount) override { value += amount; }
    void Set(double to) override { value = to; }
    double value = 0;
  };
  framework::Counter& GetCounter(std::string_view name, std::string_view, const Labels& labels) override {
    return values[std::string(name) + (labels.empty() ? "" : " " + labels.front().second)];
  }
  framework::Gauge& GetGauge(std::string_view name, std::string_view, const Labels&) override {
    return values[std::string(name)];
  }
  framework::Histogram& GetHistogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                                     const Labels& labels) override {
    return framework::Metrics::None().GetHistogram(name, help, bounds, labels);
  }
  double Of(const std::string& name) { return values["berth_trace_" + name].value; }

  std::map<std::string, Value> values;
};

class TraceExporterTest : public ::testing::Test {
 protected:
  void Start(OtlpProtocol protocol = OtlpProtocol::kHttp, std::size_t batch = 10, std::size_t bytes = 1 << 20) {
    TracingConfig config;
    config.protocol = protocol;
    if (protocol == OtlpProtocol::kHttp) config.path = "/v1/traces";
    TraceExporterOptions options;
    options.version = "1";
    options.batch_spans_max = batch;
    options.buffer_bytes_max = bytes;
    exporter =
        std::make_unique<TraceExporter>(loop, std::make_unique<BorrowedTransport>(transport), config, options, metrics);
  }
  void Add(std::size_t count) {
    std::vector<Span> spans(count);
    for (Span& span : spans) span.name = "x";
    exporter->Add(std::move(spans));
    loop.Run();
  }
  // Answers the request that waits for one.
  void Answer(int status, std::vector<net::Header> headers = {}, std::string body = "") {
    ASSERT_EQ(transport.Waiting(), 1U);
    transport.Next()->Answer(status, std::move(body), std::move(headers));
    loop.Run();
  }

  FakeLoop loop;
  FakeTransport transport;
  CountingMetrics metrics;
  std::unique_ptr<TraceExporter> exporter;
};

TEST_F(TraceExporterTest, GathersAndSends) {
  Start();
  Add(3);
  EXPECT_EQ(transport.Waiting(), 0U);
  loop.Advance(5s);
  ASSERT_EQ(transport.Waiting(), 1U);
  const auto call = transport.Next();
  EXPECT_EQ(call->request.method, "POST");
  EXPECT_EQ(call->request.target, "/v1/traces");
  EXPECT_EQ(client::FindHeader(call->request, "Content-Type"), "application/x-protobuf");
  EXPECT_EQ(call->options.timeout, 10s);
  call->Answer(200, "");
  loop.Run();
  EXPECT_EQ(metrics.Of("spans_exported_total"), 3);
  EXPECT_EQ(metrics.Of("buffer_bytes"), 0);
}

TEST_F(TraceExporterTest, AFullBatchGoesAtOnceAndOneRequestAtATime) {
  Start();
  Add(25);
  Answer(200);
  Answer(200);
  EXPECT_EQ(transport.Waiting(), 0U);
  EXPECT_EQ(metrics.Of("spans_exported_total"), 20);
  loop.Advance(5s);
  Answer(200);
  EXPECT_EQ(metrics.Of("spans_exported_total"), 25);
}

TEST_F(TraceExporterTest, GrpcFramesAndReadsTheStatus) {
  Start(OtlpProtocol::kGrpc);
  Add(10);
  ASSERT_EQ(transport.Waiting(), 1U);
  auto call = transport.Next();
  EXPECT_EQ(call->request.target, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
  EXPECT_EQ(client::FindHeader(call->request, "Content-Type"), "application/grpc");
  EXPECT_EQ(client::FindHeader(call->request, "TE"), "trailers");
  const std::string& body = call->request.body;
  ASSERT_GT(body.size(), 5U);
  const std::size_t length = static_cast<unsigned char>(body[3]) * 256U + static_cast<unsigned char>(body[4]);
  EXPECT_EQ(body.substr(0, 3), std::string(3, '\0'));
  EXPECT_EQ(length, body.size() - 5);
  // UNAVAILABLE passes; the same spans are sent again.
  call->Answer(200, "", {{"grpc-status", "14"}});
  loop.Run();
  loop.Advance(2s);
  ASSERT_EQ(transport.Waiting(), 1U);
  call = transport.Next();
  EXPECT_EQ(call->request.body.size(), length + 5);
  call->Answer(200, std::string(5, '\0'), {{"grpc-status", "0"}});
  loop.Run();
  EXPECT_EQ(metrics.Of("spans_exported_total"), 10);
  // INVALID_ARGUMENT does not, and neither does an answer that is not gRPC's.
  Add(10);
  Answer(200, {{"grpc-status", "3"}, {"grpc-message", "bad"}});
  Add(10);
  Answer(200, {}, "<html>");
  EXPECT_EQ(metrics.Of("spans_dropped_total refused"), 20);
}

TEST_F(TraceExporterTest, ObeysRetryAfter) {
  for (const int status : {429, 503}) {
    Start();
    Add(10);
    Answer(status, {{"Retry-After", "20"}});
    loop.Advance(19s);
    EXPECT_EQ(transport.Waiting(), 0U) << status;
    loop.Advance(7s);
    ASSERT_EQ(transport.Waiting(), 1U) << status;
    Answer(200);
  }
  EXPECT_EQ(metrics.Of("spans_exported_total"), 20);
  EXPECT_EQ(metrics.Of("export_failures_total"), 2);
}

TEST_F(TraceExporterTest, ARetryAfterOfADayIsBounded) {
  Start();
  Add(10);
  Answer(503, {{"Retry-After", "86400"}});
  loop.Advance(40s);
  EXPECT_EQ(transport.Waiting(), 1U);
}

TEST_F(TraceExporterTest, WhatIsRefusedForGoodIsDropped) {
  Start();
  Add(10);
  Answer(400);
  EXPECT_EQ(metrics.Of("spans_dropped_total refused"), 10);
  loop.Advance(100s);
  EXPECT_EQ(transport.Waiting(), 0U);
}

TEST_F(TraceExporterTest, ACollectorThatIsAwayIsGivenUpAfterAMinute) {
  Start();
  Add(10);
  int tries = 0;
  for (; transport.Waiting() == 1 && tries < 20; ++tries) {
    transport.Next()->Fail(ErrorCode::kUnavailable, false, "connection refused");
    loop.Advance(40s);
  }
  EXPECT_GT(tries, 1);
  EXPECT_LT(tries, 10);
  EXPECT_EQ(metrics.Of("spans_dropped_total not_taken_in_time"), 10);
  EXPECT_EQ(metrics.Of("export_failures_total"), tries);
  // The next batch is tried again.
  Add(10);
  Answer(200);
  EXPECT_EQ(metrics.Of("spans_exported_total"), 10);
}

TEST_F(TraceExporterTest, ACollectorThatHangsFillsTheBufferAndNoMore) {
  Start(OtlpProtocol::kHttp, 10, 5'000);
  Add(10);
  ASSERT_EQ(transport.Waiting(), 1U);
  Add(1'000);
  EXPECT_EQ(transport.Waiting(), 1U);
  EXPECT_LE(metrics.Of("buffer_bytes"), 5'000);
  EXPECT_GT(metrics.Of("spans_dropped_total buffer_full"), 900);
  const double kept = 1'000 - metrics.Of("spans_dropped_total buffer_full");
  transport.Next()->Fail(ErrorCode::kTimeout, true, "no answer");
  loop.Run();
  loop.Advance(2s);
  while (transport.Waiting() == 1) Answer(200);
  loop.Advance(5s);
  if (transport.Waiting() == 1) Answer(200);
  EXPECT_EQ(metrics.Of("spans_exported_total"), 10 + kept);
}

TEST_F(TraceExporterTest, CountsWhatTheCollectorLeavesOut) {
  Start();
  Add(10);
  Answer(200, {}, std::string("\x0a\x02\x08\x04", 4));
  EXPECT_EQ(metrics.Of("spans_exported_total"), 6);
  EXPECT_EQ(metrics.Of("spans_dropped_total refused"), 4);
}

TEST_F(TraceExporterTest, FlushSendsAtOnceAndDoesNotWaitForLong) {
  Start();
  Add(3);
  EXPECT_EQ(exporter->Flush(1ms), 3U);  // the fake loop stands still meanwhile
  loop.Run();
  Answer(200);
  EXPECT_EQ(exporter->Flush(1ms), 0U);
}

TEST_F(TraceExporterTest, AnAnswerAfterItsEndIsIgnored) {
  Start();
  Add(10);
  const auto call = transport.Next();
  exporter.reset();
  call->Answer(200, "");
  loop.Advance(100s);
  EXPECT_EQ(metrics.Of("spans_exported_total"), 0);
}

}  // namespace
}  // namespace berth::tracing
