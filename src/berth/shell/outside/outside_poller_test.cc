// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/outside_poller.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/metrics/prometheus_metrics.h"

namespace berth::outside {
namespace {

using namespace std::chrono_literals;
using client::BorrowedTransport;
using client::FakeTransport;

struct Text final : framework::OutsideData {
  explicit Text(std::string_view said) : text(said) {}
  std::string text;
};

class OutsidePollerTest : public ::testing::Test {
 protected:
  static framework::OutsideSource Source(std::string url) {
    framework::OutsideSource source;
    source.name = "prices";
    source.url = std::move(url);
    source.interval = 10s;
    source.timeout = 3s;
    source.parse = [](std::string_view body) -> Expected<std::shared_ptr<const framework::OutsideData>> {
      if (body == "bad") return InvalidError("line 1: not a price");
      if (body == "throws") throw std::runtime_error("oops");
      return std::shared_ptr<const framework::OutsideData>(std::make_shared<Text>(body));
    };
    return source;
  }

  Expected<std::unique_ptr<OutsidePoller>> Make(framework::OutsideSource source) {
    return OutsidePoller::Make(
        {{"cheap", "BestPrice", std::move(source)}}, rest,
        [this](net::HttpClientOptions options) -> Expected<std::unique_ptr<net::Transport>> {
          base_urls.push_back(options.base_url);
          return std::unique_ptr<net::Transport>(std::make_unique<BorrowedTransport>(other));
        },
        [](const std::function<void()>& work) { work(); }, metrics, 1,
        [this](std::size_t, OutsidePoller::Data data) {
          said.push_back(data.ok() ? static_cast<const Text&>(**data).text : "error: " + data.error().message);
        });
  }

  client::FakeLoop loop;
  FakeTransport api_server, other;
  client::RestClient rest{loop, api_server, nullptr, 1};
  metrics::PrometheusMetrics metrics;
  std::vector<std::string> base_urls, said;
};

TEST_F(OutsidePollerTest, AsksAtIntervals) {
  const auto poller = Make(Source("http://prices:9090/list?zone=a"));
  ASSERT_TRUE(poller.ok()) << poller.error().message;
  EXPECT_EQ(base_urls, (std::vector<std::string>{"http://prices:9090"}));
  (*poller)->Start();
  const auto first = other.Next();
  EXPECT_EQ(first->request.target, "/list?zone=a");
  EXPECT_EQ(first->options.timeout, 3s);
  first->Answer(200, "0.10");
  loop.Run();
  EXPECT_EQ(said, (std::vector<std::string>{"0.10"}));
  loop.Advance(8s);
  EXPECT_EQ(other.Waiting(), 0U) << "the interval is not over, nor nine tenths of it";
  loop.Advance(4s);
  ASSERT_EQ(other.Waiting(), 1U);
  other.Next()->Answer(200, "0.20");
  loop.Run();
  EXPECT_EQ(said.back(), "0.20");
}

TEST_F(OutsidePollerTest, AsksTheApiServerWithItsOwnClient) {
  const auto poller = Make(Source("/apis/metrics.k8s.io/v1beta1/nodes"));
  ASSERT_TRUE(poller.ok());
  EXPECT_TRUE(base_urls.empty());
  (*poller)->Start();
  const auto call = api_server.Next();
  EXPECT_EQ(call->request.target, "/apis/metrics.k8s.io/v1beta1/nodes");
  call->Answer(404, R"({"kind":"Status","message":"the server could not find the requested resource"})");
  loop.Run();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("could not find the requested resource"), std::string::npos) << said[0];
}

TEST_F(OutsidePollerTest, FailuresAreDeliveredAndAskedForLessOften) {
  const auto poller = Make(Source("http://prices:9090"));
  (*poller)->Start();
  other.Next()->Answer(500, "down");
  loop.Run();
  loop.Advance(12s);
  EXPECT_EQ(other.Waiting(), 0U) << "twice the interval after a failure";
  loop.Advance(12s);
  other.Next()->Fail(ErrorCode::kTimeout, false, "no answer within 3 s");
  loop.Run();
  loop.Advance(50s);
  other.Next()->Answer(200, "bad");
  loop.Run();
  loop.Advance(100s);
  other.Next()->Answer(200, "throws");
  loop.Run();
  EXPECT_EQ(said,
            (std::vector<std::string>{"error: answered with status 500", "error: no answer within 3 s",
                                      "error: line 1: not a price", "error: the answer could not be read: oops"}));
  for (int i = 0; i < 20; ++i) {  // never less often than every five minutes, and a tenth
    loop.Advance(331s);
    ASSERT_EQ(other.Waiting(), 1U) << i;
    other.Next()->Answer(503, "");
    loop.Run();
  }
  loop.Advance(331s);
  other.Next()->Answer(200, "fine");
  loop.Run();
  loop.Advance(12s);
  EXPECT_EQ(other.Waiting(), 1U) << "back at the interval";
  EXPECT_NE(metrics.Text().find(R"(berth_outside_requests_total{plugin="BestPrice",profile="cheap",result="error",)"
                                R"(source="prices"} 24)"),
            std::string::npos)
      << metrics.Text();
}

TEST_F(OutsidePollerTest, AClockAsksNobody) {
  framework::OutsideSource source;
  source.name = "clock";
  source.is_clock = true;
  source.interval = 10s;
  int ticks = 0;
  const auto poller = OutsidePoller::Make(
      {{"cheap", "BestPrice", source}}, rest,
      [](net::HttpClientOptions) -> Expected<std::unique_ptr<net::Transport>> { return InvalidError("asked"); },
      [](const std::function<void()>& work) { work(); }, metrics, 1,
      [&](std::size_t, const OutsidePoller::Data& data) { ticks += data.ok() && *data == nullptr ? 1 : 0; });
  ASSERT_TRUE(poller.ok()) << poller.error().message;
  (*poller)->Start();
  loop.Run();
  EXPECT_EQ(ticks, 1);
  for (int i = 0; i < 3; ++i) loop.Advance(12s);
  EXPECT_EQ(ticks, 4);
  EXPECT_EQ(api_server.Waiting() + other.Waiting(), 0U);
  EXPECT_EQ(metrics.Text().find("berth_outside_requests_total"), std::string::npos) << "it is no request";
}

TEST_F(OutsidePollerTest, AFileIsDeliveredWhenItChanges) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "outside_poller_file";
  fs::remove_all(folder);
  fs::create_directories(folder / "v1");
  fs::create_directories(folder / "v2");
  const std::string path = folder / "data";
  const auto write = [](const fs::path& to, std::string_view text) { std::ofstream(to) << text; };
  // As if nobody had touched it for an hour.
  const auto age = [](const fs::path& of) { fs::last_write_time(of, fs::last_write_time(of) - std::chrono::hours(1)); };
  write(folder / "v1" / "data", "one");
  fs::create_symlink("v1", folder / "current");
  fs::create_symlink("current/data", path);
  framework::OutsideSource source = Source("");
  source.file = path;
  source.body_bytes_max = 100;
  const auto poller = Make(source);
  ASSERT_TRUE(poller.ok()) << poller.error().message;
  (*poller)->Start();
  const std::vector<std::string>& heard = said;
  using Said = std::vector<std::string>;
  const auto look = [&] { loop.Advance(12s); };
  loop.Run();
  EXPECT_EQ(heard, (Said{"one"}));
  look();
  EXPECT_EQ(heard.size(), 1U) << "it is what it was";

  write(path, "two");  // the same size, within one tick of a coarse clock
  look();
  EXPECT_EQ(heard.back(), "two");
  age(path);
  look();
  look();
  EXPECT_EQ(heard.size(), 2U);
  write(path, "bad");
  look();
  look();
  EXPECT_EQ(heard, (Said{"one", "two", "error: line 1: not a price"})) << "each version is told once";

  // As config maps change: the folder's link is replaced.
  write(folder / "v2" / "data", "three");
  fs::create_symlink("v2", folder / "next");
  fs::rename(folder / "next", folder / "current");
  look();
  EXPECT_EQ(heard.back(), "three");
  fs::remove(folder / "v2" / "data");
  look();
  look();
  EXPECT_EQ(heard.size(), 5U);
  EXPECT_EQ(heard.back(), "error: " + path + ": no such file or directory");
  write(folder / "v2" / "data", std::string(101, 'x'));
  look();
  EXPECT_EQ(heard.back(), "error: " + path + ": longer than 100 bytes, is it the right file?");
  write(folder / "v2" / "data", "four");
  look();
  EXPECT_EQ(heard.back(), "four") << "looked at once an interval whatever failed before";
  EXPECT_EQ(heard.size(), 7U);
  EXPECT_EQ(api_server.Waiting() + other.Waiting(), 0U);
  fs::remove_all(folder);
}

TEST_F(OutsidePollerTest, NothingIsDeliveredAfterStop) {
  const auto poller = Make(Source("http://prices:9090"));
  (*poller)->Start();
  const auto call = other.Next();
  (*poller)->Stop();
  call->Answer(200, "late");
  loop.Advance(60s);
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(other.Waiting(), 0U);
}

TEST_F(OutsidePollerTest, CredentialsAreReadForEachRequest) {
  const std::string path = ::testing::TempDir() + "/outside_poller_basic_auth";
  std::ofstream(path) << "berth:secret\n";
  framework::OutsideSource source = Source("https://prices");
  source.basic_auth_file = path;
  const auto poller = Make(source);
  (*poller)->Start();
  const auto call = other.Next();
  const auto header_of = [](const FakeTransport::Call& of) {
    for (const net::Header& header : of.request.headers) {
      if (header.name == "Authorization") return header.value;
    }
    return std::string();
  };
  EXPECT_EQ(header_of(*call), "Basic YmVydGg6c2VjcmV0");
  std::ofstream(path) << "nobody";
  call->Answer(200, "0.1");
  loop.Run();
  loop.Advance(12s);
  EXPECT_EQ(said.back(), "error: " + path + ": want one line, user:password");
  std::filesystem::remove(path);
}

TEST_F(OutsidePollerTest, BadSourcesAreRefusedAtOnce) {
  const struct {
    std::string url;
    std::string ca_file;
    std::string error;
  } kCases[] = {
      {"prices:9090", "", "plugin \"BestPrice\": prices: "},
      {"", "", "plugin \"BestPrice\": prices: "},
      {"ftp://prices", "", "plugin \"BestPrice\": prices: "},
      {"https://prices", "/does/not/exist", "plugin \"BestPrice\": prices: /does/not/exist: "},
  };
  for (const auto& test_case : kCases) {
    framework::OutsideSource source = Source(test_case.url);
    source.ca_file = test_case.ca_file;
    const auto poller = Make(source);
    ASSERT_FALSE(poller.ok()) << test_case.url;
    EXPECT_TRUE(poller.error().message.starts_with(test_case.error)) << poller.error().message;
  }
}

}  // namespace
}  // namespace berth::outside
