// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/watch_frames.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth::client {
namespace {

using Format = WatchFrames::Format;

std::string Framed(const std::string& event) {
  const std::size_t size = event.size();
  std::string head;
  for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>((size >> shift) & 0xFF);
  return head + event;
}

TEST(WatchFramesTest, CutsEventsWhereverTheBytesAreCut) {
  const std::vector<std::string> events = {"one", "", std::string(300, 'x'), std::string("a\nb\0c", 5), "last"};
  for (const Format format : {Format::kLengths, Format::kLines}) {
    std::string bytes;
    std::vector<std::string> want;
    for (const std::string& event : events) {
      if (format == Format::kLines && event.find('\n') != std::string::npos) continue;
      bytes += format == Format::kLines ? event + '\n' : Framed(event);
      want.push_back(event);
    }
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      WatchFrames frames(1000);
      frames.Reset(format);
      std::vector<std::string> got;
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const auto fed = frames.Feed(std::string_view(bytes).substr(at, piece), [&got](std::string_view event) {
          got.emplace_back(event);
          return true;
        });
        ASSERT_TRUE(fed.ok());
      }
      ASSERT_EQ(got, want) << "in pieces of " << piece;
      EXPECT_TRUE(frames.is_between_events());
    }
  }
}

// Copying the event with each of its pieces would copy 128 GB and take minutes.
TEST(WatchFramesTest, ALargeEventCostsWhatItsBytesCost) {
  const std::string large(std::size_t{16} << 20, 'x');
  for (const Format format : {Format::kLengths, Format::kLines}) {
    const std::string bytes = format == Format::kLines ? large + '\n' : Framed(large);
    WatchFrames frames(large.size());
    frames.Reset(format);
    int events = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 1024) {
      ASSERT_TRUE(frames
                      .Feed(std::string_view(bytes).substr(at, 1024),
                            [&](std::string_view event) {
                              events += event == large ? 1 : 0;
                              return true;
                            })
                      .ok());
    }
    EXPECT_EQ(events, 1);
  }
}

TEST(WatchFramesTest, KnowsWhetherAnEventIsCut) {
  WatchFrames frames(1000);
  const auto none = [](std::string_view) { return true; };
  frames.Reset(Format::kLengths);
  ASSERT_TRUE(frames.Feed(Framed("whole").substr(0, 8), none).ok());
  EXPECT_FALSE(frames.is_between_events());
  frames.Reset(Format::kLengths);
  EXPECT_TRUE(frames.is_between_events());
}

TEST(WatchFramesTest, BoundsAnEvent) {
  struct Case {
    const char* name;
    Format format;
    std::string bytes;
  };
  const Case cases[] = {
      {"a frame that says so", Format::kLengths, std::string("\xff\xff\xff\xff", 4)},
      {"a frame just too long", Format::kLengths, Framed(std::string(11, 'x'))},
      {"a line without an end", Format::kLines, std::string(11, 'x')},
      {"a line", Format::kLines, std::string(11, 'x') + "\n"},
  };
  for (const Case& c : cases) {
    for (const std::size_t piece : {c.bytes.size(), std::size_t{1}}) {
      WatchFrames frames(10);
      frames.Reset(c.format);
      Expected<void> fed;
      for (std::size_t at = 0; at < c.bytes.size() && fed.ok(); at += piece) {
        fed = frames.Feed(std::string_view(c.bytes).substr(at, piece), [](std::string_view) { return true; });
      }
      ASSERT_FALSE(fed.ok()) << c.name;
      EXPECT_EQ(fed.error().code, ErrorCode::kTooLarge) << c.name;
    }
  }
  WatchFrames frames(10);
  frames.Reset(Format::kLengths);
  EXPECT_TRUE(frames.Feed(Framed(std::string(10, 'x')), [](std::string_view) { return true; }).ok());
}

TEST(WatchFramesTest, EndsOnRequest) {
  WatchFrames frames(10);
  for (const Format format : {Format::kLengths, Format::kLines}) {
    frames.Reset(format);
    int seen = 0;
    const std::string bytes = format == Format::kLines ? "a\nb\n" : Framed("a") + Framed("b");
    ASSERT_TRUE(frames
                    .Feed(bytes,
                          [&](std::string_view) {
                            ++seen;
                            frames.Reset(Format::kLines);
                            return false;
                          })
                    .ok());
    EXPECT_EQ(seen, 1);
  }
}

}  // namespace
}  // namespace berth::client
