// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/metered_transport.h"

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/rest_client.h"

namespace berth::client {
namespace {

class MeteredTransportTest : public ::testing::Test {
 protected:
  using Values = std::map<std::string, double>;

  void Send(std::string method, std::string body = {}) {
    metered_.Send({std::move(method), "/api/v1/pods", {}, std::move(body)}, {},
                  [this](const Expected<net::Response>& result) { answered_ += result.ok() ? 1 : 100; });
  }
  // By the label values, joined with blanks; of a histogram the observations.
  Values Read(const std::string& name) {
    Values values;
    for (const MetricFamily* family : registry_.Read()) {
      if (family->description().name != name) continue;
      for (const MetricSeries& series : family->Collect()) {
        std::string key;
        for (const std::string& value : series.label_values) key += (key.empty() ? "" : " ") + value;
        values[key] =
            series.counts.empty() ? series.value : std::accumulate(series.counts.begin(), series.counts.end(), 0.0);
      }
    }
    return values;
  }

  double Sum(const std::string& name) {
    double sum = 0;
    for (const MetricFamily* family : registry_.Read()) {
      if (family->description().name != name) continue;
      for (const MetricSeries& series : family->Collect()) sum += series.sum;
    }
    return sum;
  }

  FakeLoop clock_;
  FakeTransport transport_;
  MetricRegistry registry_;
  MeteredTransport metered_{std::make_unique<BorrowedTransport>(transport_), registry_, "https://10.0.0.1:6443/prefix",
                            clock_};
  int answered_ = 0;
};

TEST_F(MeteredTransportTest, CountsARequest) {
  Send("POST", "{}");
  transport_.Next()->Answer(201, "{\"a\":1}");
  EXPECT_EQ(answered_, 1);
  EXPECT_EQ(Read("rest_client_requests_total"), (Values{{"201 POST 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_request_duration_seconds"), (Values{{"POST 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_request_size_bytes"), (Values{{"POST 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_response_size_bytes"), (Values{{"POST 10.0.0.1:6443", 1}}));
}

TEST_F(MeteredTransportTest, ARequestWithoutAnAnswerIsAnError) {
  Send("GET");
  transport_.Next()->Fail(ErrorCode::kTimeout, true);
  EXPECT_EQ(answered_, 100);
  EXPECT_EQ(Read("rest_client_requests_total"), (Values{{"<error> GET 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_response_size_bytes"), (Values{{"GET 10.0.0.1:6443", 0}}));
}

TEST_F(MeteredTransportTest, CountsWhatTheRestClientSendsAgain) {
  RestClient client(clock_, metered_, nullptr, 1, {.qps = 1, .burst = 2});
  const auto get = [&] {
    client.Do({"GET", "/api/v1/pods", {}, {}}, {.tries = 3}, [this](const auto& result) { answered_ += result.ok(); });
  };
  get();
  transport_.Next()->Fail(ErrorCode::kUnavailable, false);
  clock_.Advance(std::chrono::seconds(5));
  transport_.Next()->Answer(503, "{}");
  EXPECT_EQ(Read("rest_client_request_retries_total"), (Values{{"503 GET 10.0.0.1:6443", 1}}));
  clock_.Advance(std::chrono::seconds(5));
  transport_.Next()->Answer(200, "{}");
  EXPECT_EQ(answered_, 1);
  EXPECT_EQ(Read("rest_client_request_retries_total"),
            (Values{{"200 GET 10.0.0.1:6443", 1}, {"503 GET 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_requests_total").size(), 3u);
  // The limit holds back the first try alone: once for each request, also for those that need not wait.
  EXPECT_EQ(Read("rest_client_rate_limiter_duration_seconds"), (Values{{"GET 10.0.0.1:6443", 1}}));
  for (int i = 0; i < 3; ++i) get();
  transport_.Next()->Answer(200, "{}");
  transport_.Next()->Answer(200, "{}");
  EXPECT_EQ(transport_.Waiting(), 0u);
  clock_.Advance(std::chrono::seconds(1));
  transport_.Next()->Answer(200, "{}");
  EXPECT_EQ(Read("rest_client_rate_limiter_duration_seconds"), (Values{{"GET 10.0.0.1:6443", 4}}));
  EXPECT_DOUBLE_EQ(Sum("rest_client_rate_limiter_duration_seconds"), 1);
  EXPECT_EQ(Read("rest_client_requests_total")["200 GET 10.0.0.1:6443"], 4);
}

TEST_F(MeteredTransportTest, WithoutARateLimitNoWaitIsObserved) {
  Send("GET");
  transport_.Next()->Answer(200, "{}");
  EXPECT_EQ(Read("rest_client_rate_limiter_duration_seconds"), Values{});
  EXPECT_EQ(Read("rest_client_request_retries_total"), Values{});
}

TEST_F(MeteredTransportTest, AWatchIsARequestWithoutADuration) {
  int ends = 0;
  net::StreamCallbacks callbacks;
  callbacks.on_head = [](const net::Response&) {};
  callbacks.on_end = [&ends](const Expected<void>&) { ++ends; };
  const auto opened = metered_.Stream({"GET", "/api/v1/pods?watch=1", {}, {}}, {}, callbacks);
  transport_.LastStream()->Open();
  transport_.LastStream()->End();
  const auto refused = metered_.Stream({"GET", "/api/v1/pods?watch=1", {}, {}}, {}, callbacks);
  transport_.LastStream()->End(Error{ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(Read("rest_client_requests_total"),
            (Values{{"200 GET 10.0.0.1:6443", 1}, {"<error> GET 10.0.0.1:6443", 1}}));
  EXPECT_EQ(Read("rest_client_request_duration_seconds")["GET 10.0.0.1:6443"], 0);
}

}  // namespace
}  // namespace berth::client
