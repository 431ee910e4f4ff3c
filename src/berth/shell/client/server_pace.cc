// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/server_pace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "berth/base/log.h"

namespace berth::client {
namespace {

constexpr int kFarSoonerTimes = 4;
constexpr double kFirstBound = 0.001;  // seconds
constexpr double kGrowth = 1.25;       // 64 buckets reach beyond twenty minutes

}  // namespace

ServerPace::ServerPace(EventLoop& loop, SetP99 set_p99) : loop_(loop), set_p99_(std::move(set_p99)) {}

ServerPace::~ServerPace() {
  if (cancel_timer_) cancel_timer_();
}

std::uint64_t ServerPace::Sent(std::uint64_t cause) {
  under_way_.emplace_hint(under_way_.end(), next_number_, UnderWay{cause, loop_.Now()});
  return next_number_++;
}

void ServerPace::Ended(std::uint64_t number, bool is_answered) {
  const auto node = under_way_.extract(number);
  if (node.empty() || !is_answered) return;
  const Time sent_at = node.mapped().sent_at;
  const Duration took = std::max(Duration{0}, loop_.Now() - sent_at);
  if (latest_.size() == kLatestMax) latest_.pop_front();
  latest_.push_back({sent_at, took});
  ++minute_.front()[BucketOf(took)];
  ArmTimer();
}

// Requests that are still under way count as slow ones. Otherwise a server that is slow now and then would look quick,
// since of the requests of the last moment only quick ones have an answer.
std::optional<Duration> ServerPace::FarSoonerSince(std::uint64_t cause, Time since) const {
  const Duration quick = (loop_.Now() - since) / kFarSoonerTimes;
  std::vector<Duration> took;
  std::size_t others = 0;
  for (const Answer& answer : latest_) {
    if (answer.sent_at < since) continue;
    ++others;
    if (answer.took <= quick) took.push_back(answer.took);
  }
  for (const auto& [number, write] : under_way_) {
    if (write.cause != cause && write.sent_at >= since && loop_.Now() - write.sent_at > quick) ++others;
  }
  if (took.size() < kQuickWanted || 4 * took.size() < 3 * others) return std::nullopt;
  return *std::ranges::max_element(took);
}

std::size_t ServerPace::BucketOf(Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  if (seconds <= kFirstBound) return 0;
  const double bucket = std::ceil(std::log(seconds / kFirstBound) / std::log(kGrowth));
  return std::min(kBuckets - 1, static_cast<std::size_t>(bucket));
}

Duration ServerPace::UpperBoundOf(std::size_t bucket) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(kFirstBound * std::pow(kGrowth, static_cast<double>(bucket))));
}

void ServerPace::ArmTimer() {
  if (cancel_timer_) return;
  cancel_timer_ = loop_.PostAfter(kPart, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->cancel_timer_ = nullptr;
    self->EndPart();
  });
}

void ServerPace::EndPart() {
  const Duration p99 = P99();
  if (set_p99_) set_p99_(p99);
  const bool is_slow = p99 > kSlowAbove;
  if (is_slow && !is_slow_) {
    log::Warning("client", "The API server is slow: what is sent waits for it",
                 {{"p99_of_the_last_minute", FormatGoDuration(std::chrono::ceil<std::chrono::milliseconds>(p99))}});
  } else if (!is_slow && is_slow_) {
    log::Info("client", "The API server is no longer slow",
              {{"p99_of_the_last_minute", FormatGoDuration(std::chrono::ceil<std::chrono::milliseconds>(p99))}});
  }
  is_slow_ = is_slow;
  std::ranges::rotate(minute_, minute_.end() - 1);
  minute_.front() = {};
  // After a minute without answers there is nothing left to report.
  if (p99 > Duration{0}) ArmTimer();
}

Duration ServerPace::P99() const {
  Histogram sum{};
  for (const Histogram& part : minute_) std::ranges::transform(sum, part, sum.begin(), std::plus<>());
  const std::uint64_t count = std::accumulate(sum.begin(), sum.end(), std::uint64_t{0});
  std::uint64_t above = count / 100;  // the number of answers that may be above the 99th percentile
  for (std::size_t bucket = kBuckets; bucket-- > 0;) {
    if (sum[bucket] > above) return UpperBoundOf(bucket);
    above -= sum[bucket];
  }
  return Duration{0};
}

}  // namespace berth::client
