// SPDX-License-Identifier: Apache-2.0
// ServerPace: how long the API server takes to answer writes. It tells whether others get answers while one request
// waits, or the server is slow for all. It sets a gauge, the 99th percentile of the last minute, and logs one line when
// the server is slow. Only the event loop's thread may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::client {

class ServerPace : public std::enable_shared_from_this<ServerPace> {
 public:
  // The number of latest answers that count in a comparison, and how many of them have to be quick.
  static constexpr std::size_t kLatestMax = 256;
  static constexpr std::size_t kQuickWanted = 8;
  // A server whose 99th percentile is above this is called slow.
  static constexpr Duration kSlowAbove = std::chrono::seconds(1);

  using SetP99 = std::function<void(Duration)>;

  // Always in a shared_ptr. `loop` must outlive it. `set_p99` gets the percentile, zero after a minute without an
  // answer; it may be empty.
  explicit ServerPace(EventLoop& loop, SetP99 set_p99 = {});
  ~ServerPace();
  ServerPace(const ServerPace&) = delete;
  ServerPace& operator=(const ServerPace&) = delete;

  // A write is sent. Returns its number, for Ended(). Writes that may wait for the same thing have the same `cause`,
  // which is any number.
  std::uint64_t Sent(std::uint64_t cause);
  // `is_answered` says that the API server answered in time.
  void Ended(std::uint64_t number, bool is_answered);

  // Compares a write of this cause, which was sent at `since` and has no answer yet, with writes that were sent after
  // it: those of other causes, and the answered ones of the same cause. If three fourths of them took at most a fourth
  // of its wait, returns what these took. nullopt: the server is not that much sooner for others, or too few writes
  // were sent.
  std::optional<Duration> FarSoonerSince(std::uint64_t cause, Time since) const;

 private:
  struct UnderWay {
    std::uint64_t cause;
    Time sent_at;
  };
  struct Answer {
    Time sent_at;
    Duration took;
  };
  // The last minute is kept in parts, and the oldest part is dropped. Each is a histogram whose buckets grow by a
  // quarter.
  static constexpr Duration kPart = std::chrono::seconds(10);
  static constexpr std::size_t kParts = 6;
  static constexpr std::size_t kBuckets = 64;
  using Histogram = std::array<std::uint32_t, kBuckets>;

  static std::size_t BucketOf(Duration took);
  static Duration UpperBoundOf(std::size_t bucket);
  void ArmTimer();
  void EndPart();
  Duration P99() const;

  EventLoop& loop_;
  const SetP99 set_p99_;
  std::map<std::uint64_t, UnderWay> under_way_;  // by number
  std::uint64_t next_number_ = 1;
  std::deque<Answer> latest_;
  std::array<Histogram, kParts> minute_{};  // the newest first
  bool is_slow_ = false;                    // and it was logged
  std::function<void()> cancel_timer_;      // empty: nothing is counted
};

}  // namespace berth::client
