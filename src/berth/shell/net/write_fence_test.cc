// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/write_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_http2_peer.h"
#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Time kBegin = Time(std::chrono::hours(24 * 365 * 56));

// A clock that stands still until Expire(), or until Now() was called a given number of times. Any thread.
class TestClock final : public Clock {
 public:
  explicit TestClock(int looks = 1'000'000) : looks_(looks) {}
  Time Now() const override { return looks_.fetch_sub(1) > 0 ? kBegin : kBegin + seconds(60); }
  void Expire() { looks_ = 0; }

 private:
  mutable std::atomic<int> looks_;
};

Request Fenced(std::shared_ptr<const WriteFence> fence, std::string body = "x") {
  return {"POST", "/", {}, std::move(body), std::move(fence)};
}

std::shared_ptr<WriteFence> OpenFence(const Clock& clock) {
  auto fence = std::make_shared<WriteFence>(clock);
  fence->HoldUntil(kBegin + seconds(10));
  return fence;
}

TEST(WriteFenceTest, IsOpenUntilItsTime) {
  TestClock clock;
  WriteFence fence(clock);
  EXPECT_FALSE(fence.IsOpen());
  fence.HoldUntil(kBegin + Duration(1));
  EXPECT_TRUE(fence.IsOpen());
  fence.HoldUntil(kBegin);
  EXPECT_FALSE(fence.IsOpen());
  fence.HoldUntil(kBegin + seconds(10));
  clock.Expire();
  EXPECT_FALSE(fence.IsOpen());
}

TEST(WriteFenceTest, IsClosedForGood) {
  const TestClock clock;
  WriteFence fence(clock);
  fence.Close();
  fence.HoldUntil(kBegin + seconds(10));
  EXPECT_FALSE(fence.IsOpen());
}

TEST(BootClockTest, GoesOnAndBeganAsTimeOfDay) {
  const BootClock clock;
  const Time first = clock.Now();
  EXPECT_LT(std::chrono::abs(clock.WallNow() - first), seconds(10));
  EXPECT_GE(clock.Now(), first);
}

TEST(WriteFenceTest, OverHttp1NothingIsSentOnceItHasClosed) {
  std::atomic<int> seen{0};
  IoContext io;
  const auto server = MakeServer(io, [&seen](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    ++seen;
    writer->Send({200, {}, ""});
  });
  const auto client = MakeClient(io, "http://" + server->address());
  // The fence closes at each place where it is asked.
  for (int looks = 0; looks < 2; ++looks) {
    for (int repeat = 0; repeat < 2; ++repeat) {  // on a new connection, and on one that has served
      const TestClock clock(looks);
      const auto refused = SendAndWait(*client, Fenced(OpenFence(clock)));
      ASSERT_FALSE(refused.ok()) << looks;
      EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
      EXPECT_FALSE(refused.error().outcome_unknown);
      EXPECT_THAT(refused.error().message, HasSubstr("not sent: this process does not hold the leader election lease"));
      EXPECT_EQ(seen.exchange(0), 0) << looks;
      ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
      seen = 0;
    }
  }
  const TestClock clock;
  EXPECT_TRUE(SendAndWait(*client, Fenced(OpenFence(clock))).ok());
}

TEST(WriteFenceTest, OverHttp1OneThatWaitsInTheQueueIsNotSent) {
  Watched<std::shared_ptr<ResponseWriter>> first;
  std::atomic<int> seen{0};
  IoContext io;
  const auto server = MakeServer(io, [&](const Request&, const std::shared_ptr<ResponseWriter>& writer) {
    if (seen++ > 0) return writer->Send({200, {}, ""});
    first.Update([&writer](auto& held) { held = writer; });
  });
  const auto client = MakeClient(io, "http://" + server->address(), {.connections_max = 1});
  TestClock clock;
  const auto fence = OpenFence(clock);
  Watched<int> answers;
  client->Send({"POST", "/", {}, "first"}, {}, [&](const Expected<Response>& response) {
    EXPECT_TRUE(response.ok());
    answers.Update([](int& count) { ++count; });
  });
  for (int i = 0; i < 10; ++i) {
    client->Send(Fenced(fence), {}, [&](const Expected<Response>& response) {
      EXPECT_FALSE(response.ok());
      if (!response.ok()) {
        EXPECT_THAT(response.error().message, HasSubstr("not sent"));
      }
      answers.Update([](int& count) { ++count; });
    });
  }
  ASSERT_TRUE(first.WaitFor([](const auto& held) { return held != nullptr; }));
  clock.Expire();
  first.Get()->Send({200, {}, ""});
  ASSERT_TRUE(answers.WaitFor([](int count) { return count == 11; }));
  EXPECT_EQ(seen, 1);
}

TEST(WriteFenceTest, OverHttp1ARequestIsBrokenOffInTheMiddle) {
  TestClock clock;
  const auto fence = OpenFence(clock);
  const std::string body(std::size_t{64} << 20, 'x');  // more than sockets take by themselves
  Watched<std::size_t> came;
  RawServer server([&](RawSocket& socket, int) {
    std::size_t bytes = socket.ReadUntil("\r\n\r\n").size();
    clock.Expire();
    bytes += socket.ReadToEnd().size();
    came.Update([bytes](std::size_t& value) { value = bytes; });
  });
  IoContext io;
  const auto client = MakeClient(io, server.url());
  const auto response = SendAndWait(*client, Fenced(fence, body));
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().message, HasSubstr("broken off"));
  EXPECT_TRUE(response.error().outcome_unknown);
  ASSERT_TRUE(came.WaitFor([](std::size_t bytes) { return bytes > 0; }));
  EXPECT_LT(came.Get(), body.size());
}

HttpClientOptions OptionsFor(const Http2Peer& peer) {
  HttpClientOptions options;
  options.base_url = "https://127.0.0.1:" + std::to_string(peer.port());
  options.tls = TlsClientOptions{.ca_pem = peer.ca_pem()};
  return options;
}

TEST(WriteFenceTest, OverHttp2NothingWholeIsSentOnceItHasClosed) {
  std::atomic<int> seen{0};
  Http2Peer peer([&seen](const Request& request, int) {
    if (request.method == "POST") ++seen;
    return Http2Peer::Answer{};
  });
  IoContext io;
  const auto client = MakeHttpClient(io, OptionsFor(peer)).value();
  ASSERT_TRUE(SendAndWait(*client, {"GET", "/"}).ok());
  const std::string large(std::size_t{300} << 10, 'x');
  // At each place where it is asked: before it is submitted, before its frames are made, before they are written, and
  // at each frame of a body.
  for (int looks = 0; looks < 12; ++looks) {
    for (const std::string& body : {std::string("x"), large}) {
      if (body.size() == 1 && looks > 3) continue;
      const TestClock clock(looks);
      const auto refused = SendAndWait(*client, Fenced(OpenFence(clock), body));
      EXPECT_FALSE(refused.ok()) << looks;
      if (!refused.ok()) {
        EXPECT_THAT(refused.error().message, HasSubstr("does not hold the leader election lease")) << looks;
        if (looks < 2) {
          EXPECT_FALSE(refused.error().outcome_unknown) << looks;
        }
      }
      EXPECT_EQ(seen.exchange(0), 0) << looks;
      EXPECT_TRUE(SendAndWait(*client, {"GET", "/"}).ok()) << looks;
    }
  }
  const TestClock clock;
  EXPECT_TRUE(SendAndWait(*client, Fenced(OpenFence(clock), large)).ok());
  EXPECT_EQ(seen, 1);
}

TEST(WriteFenceTest, OverHttp2OneThatWaitsForRoomIsNotSent) {
  std::atomic<int> seen{0};
  Watched<bool> has_begun;
  Watched<bool> may_answer;
  Http2Peer peer(
      [&](const Request&, int) {
        ++seen;
        has_begun.Update([](bool& value) { value = true; });
        EXPECT_TRUE(may_answer.WaitFor([](bool value) { return value; }));
        return Http2Peer::Answer{};
      },
      1);
  IoContext io;
  HttpClientOptions options = OptionsFor(peer);
  options.connections_max = 1;
  const auto client = MakeHttpClient(io, std::move(options)).value();
  TestClock clock;
  const auto fence = OpenFence(clock);
  Watched<int> answers;
  client->Send({"POST", "/", {}, "first"}, {}, [&](const Expected<Response>& response) {
    EXPECT_TRUE(response.ok());
    answers.Update([](int& count) { ++count; });
  });
  ASSERT_TRUE(has_begun.WaitFor([](bool value) { return value; }));
  for (int i = 0; i < 10; ++i) {
    client->Send(Fenced(fence), {}, [&](const Expected<Response>& response) {
      EXPECT_FALSE(response.ok());
      answers.Update([](int& count) { ++count; });
    });
  }
  clock.Expire();
  may_answer.Update([](bool& value) { value = true; });
  ASSERT_TRUE(answers.WaitFor([](int count) { return count == 11; }));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace berth::net
