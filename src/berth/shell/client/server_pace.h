// SPDX-License-Identifier: Apache-2.0
// ServerPace: how long the API server takes to answer writes. Who waits for an answer learns from it whether others are
// served meanwhile, or the server is slow for all. Says so itself when it is: in one
// line of log and in a gauge, the 99th percentile of the last minute. Only the event loop's thread may use it.
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
  // The latest answers that are compared with; and how many have to be quick to say anything.
  static constexpr std::size_t kLatestMax = 256;
  static constexpr std::size_t kQuickWanted = 8;
  // A server whose 99th percentile is above this is called slow.
  static constexpr Duration kSlowAbove = std::chrono::seconds(1);

  using SetP99 = std::function<void(Duration)>;

  // Always in a shared_ptr. `loop` must outlive it. `set_p99` is told the percentile, zero after a minute without an
  // answer; it may be empty.
  explicit ServerPace(EventLoop& loop, SetP99 set_p99 = {});
  ~ServerPace();
  ServerPace(const ServerPace&) = delete;
  ServerPace& operator=(const ServerPace&) = delete;

  // A write is sent; its number is for Ended(). `cause`: any number that those have in common that may wait for the
  // same thing.
  std::uint64_t Sent(std::uint64_t cause);
  // `is_answered`: by the API server, in time.
  void Ended(std::uint64_t number, bool is_answered);

  // Where the server is far sooner with most others than with a write of this cause that was sent at `since` and waits
  // still: what most of them took, at most a fourth of that wait. Counted are writes that were sent since then: those
  // of other causes, and of the same cause the answered ones. Three fourths of them have to be quick. nullopt: it is
  // not sooner, or too few were sent to tell.
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
  // A minute is counted in parts, of which the oldest is dropped: each a histogram whose buckets grow by a quarter.
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
  bool is_slow_ = false;                    // and has been called so
  std::function<void()> cancel_timer_;      // empty: nothing is counted
};

}  // namespace berth::client
