// SPDX-License-Identifier: Apache-2.0
#include "berth/base/line_queue.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::log {
namespace {

using Rank = LineQueue::Rank;
using ::testing::ElementsAre;

constexpr int kOut = 1;
constexpr int kErr = 2;

class LineQueueTest : public ::testing::Test {
 protected:
  LineQueue::Options Room(std::size_t bytes_max) {
    return {
        .bytes_max = bytes_max,
        .write = [this](int stream,
                        std::string_view text) { written.push_back(std::to_string(stream) + ":" + std::string(text)); },
        .log_dropped =
            [this](std::uint64_t count) { queue->Push(Rank::kProblem, kErr, std::to_string(count) + " dropped\n"); }};
  }
  void Make(std::size_t bytes_max) { queue = std::make_unique<LineQueue>(Room(bytes_max)); }
  // Room for `lines` lines of three bytes.
  static constexpr std::size_t RoomFor(std::size_t lines) { return lines * (LineQueue::kLineCost + 3); }

  std::vector<std::string> written;
  std::unique_ptr<LineQueue> queue;
};

TEST_F(LineQueueTest, LinesOfAStreamAreWrittenTogetherAndInOrder) {
  Make(1 << 20);
  queue->Push(Rank::kDetail, kErr, "d1\n");
  queue->Push(Rank::kProblem, kErr, "e1\n");
  queue->Push(Rank::kInfo, kOut, "i1\n");
  queue->Push(Rank::kDetail, kErr, "d2\n");
  queue->Close();
  EXPECT_FALSE(queue->WaitUntilWritten(std::chrono::milliseconds(0)));
  queue->Run();
  EXPECT_THAT(written, ElementsAre("2:d1\ne1\n", "1:i1\n", "2:d2\n"));
  EXPECT_TRUE(queue->WaitUntilWritten(std::chrono::milliseconds(0)));
  EXPECT_EQ(queue->dropped(), 0U);
}

TEST_F(LineQueueTest, TheOldestOfTheLowestRankGivesWay) {
  Make(RoomFor(4));
  const auto push = [&](const char* line) {
    const Rank rank = line[0] == 'd' ? Rank::kDetail : line[0] == 'i' ? Rank::kInfo : Rank::kProblem;
    queue->Push(rank, kErr, std::string(line) + "\n");
    return queue->dropped();
  };
  for (const char* line : {"d1", "d2", "i1", "e1"}) EXPECT_EQ(push(line), 0U) << line;
  EXPECT_EQ(push("d3"), 1U) << "for d1";
  EXPECT_EQ(push("e2"), 2U) << "for d2";
  EXPECT_EQ(push("i2"), 3U) << "for d3";
  EXPECT_EQ(push("d4"), 4U) << "itself: all others are worth more";
  EXPECT_EQ(push("e3"), 5U) << "for i1";
  EXPECT_EQ(push("e4"), 6U) << "for i2";
  EXPECT_EQ(push("i3"), 7U) << "itself";
  EXPECT_EQ(push("e5"), 8U) << "for e1";
  queue->Close();
  queue->Run();
  EXPECT_THAT(written, ElementsAre("2:e2\ne3\ne4\ne5\n", "2:8 dropped\n"));
}

TEST_F(LineQueueTest, ALineThatIsLongerThanTheRoomTakesNothingFromOthers) {
  Make(RoomFor(3));
  queue->Push(Rank::kDetail, kErr, "d1\n");
  queue->Push(Rank::kProblem, kErr, std::string(1000, 'x'));
  queue->Close();
  queue->Run();
  EXPECT_THAT(written, ElementsAre("2:d1\n1 dropped\n")) << "told as soon as half of the room is free";
}

TEST(LineQueue, APipeThatNobodyReadsStopsNobody) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineQueue* self = nullptr;
  LineQueue queue(
      {.bytes_max = std::size_t{1} << 18,
       .write =
           [&](int, std::string_view text) {
             while (!text.empty()) {
               const ssize_t count = ::write(ends[1], text.data(), text.size());
               ASSERT_GT(count, 0);
               text.remove_prefix(static_cast<std::size_t>(count));
             }
           },
       .log_dropped =
           [&](std::uint64_t count) { self->Push(Rank::kProblem, kErr, "dropped " + std::to_string(count) + "\n"); }});
  self = &queue;
  std::thread writer([&] {
    queue.Run();
    ::close(ends[1]);
  });
  // Two megabytes, while a pipe holds 64 KiB.
  constexpr int kLines = 20'000;
  std::vector<std::string> errors;
  for (int i = 0; i < kLines; ++i) {
    if (i % 1000 == 500) {
      errors.push_back("error " + std::to_string(i));
      queue.Push(Rank::kProblem, kErr, errors.back() + "\n");
    } else {
      queue.Push(Rank::kDetail, kErr, "detail " + std::to_string(i) + std::string(100, '.') + "\n");
    }
  }
  EXPECT_GT(queue.dropped(), 0U);
  EXPECT_FALSE(queue.WaitUntilWritten(std::chrono::milliseconds(0)));

  queue.Close();
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  writer.join();
  ::close(ends[0]);
  std::vector<std::string> read_errors;
  std::uint64_t reported = 0;
  std::uint64_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++lines;
    if (line.starts_with("error ")) read_errors.push_back(line);
    if (line.starts_with("dropped ")) {
      reported += std::stoull(line.substr(8));
      --lines;
    }
  }
  EXPECT_EQ(read_errors, errors);
  EXPECT_EQ(reported, queue.dropped());
  EXPECT_EQ(lines + reported, static_cast<std::uint64_t>(kLines));
}

TEST(LineQueue, LinesThatFollowOthersAreGatheredUntilSomebodyWaits) {
  std::vector<std::string> written;
  std::promise<void> first;
  LineQueue queue({.bytes_max = 1 << 20,
                   .write =
                       [&](int, std::string_view text) {
                         written.emplace_back(text);
                         if (written.size() == 1) first.set_value();
                       },
                   .log_dropped = [](std::uint64_t) {},
                   .gathering = std::chrono::hours(1)});
  std::thread writer([&] { queue.Run(); });
  queue.Push(Rank::kInfo, kErr, "0\n");
  first.get_future().wait();  // the first line after a pause is written at once
  std::string all = "0\n";
  for (int i = 1; i < 1000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    queue.Push(Rank::kInfo, kErr, line);
    all += line;
    std::this_thread::yield();
  }
  EXPECT_TRUE(queue.WaitUntilWritten(std::chrono::minutes(1)));
  // Those that came while others were being written follow them at once.
  EXPECT_LT(written.size(), 100U);
  std::string text;
  for (const std::string& batch : written) text += batch;
  EXPECT_EQ(text, all);
  queue.Close();
  writer.join();
}

}  // namespace
}  // namespace berth::log
