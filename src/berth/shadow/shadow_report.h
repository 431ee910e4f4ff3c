// SPDX-License-Identifier: Apache-2.0
// ShadowReport: what came of comparing another scheduler's decisions with berth's. A plain value; its counts are exact,
// its lists hold the newest of each kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/shadow/comparison.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

struct MatchCount {
  std::uint64_t total = 0;
  std::uint64_t by_order = 0;  // of those, explained by the order of decisions
};

// How long decisions took, in a few numbers. A value of fixed size.
class DecisionCost {
 public:
  // `cpu`: of the thread that decided.
  void Add(Duration time, Duration cpu);

  std::uint64_t count() const { return count_; }
  Duration total() const { return total_; }
  Duration cpu() const { return cpu_; }
  Duration max() const { return max_; }
  // The time within which `per_mille` of the decisions were made, rounded up by an eighth at most.
  Duration Quantile(int per_mille) const;

 private:
  // Buckets a microsecond wide, and from 8 us on eight in each octave, up to hours.
  static constexpr int kStepsPerOctave = 8;
  static constexpr std::size_t kBuckets = kStepsPerOctave * 36;
  static std::size_t BucketOf(std::int64_t us);
  static std::int64_t BoundOf(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  Duration total_{0};
  Duration cpu_{0};
  Duration max_{0};
};

struct ShadowReport {
  // Most differences of each kind that are kept, the newest.
  static constexpr std::size_t kKeptMax = 100;

  // Counts the comparison, and keeps it if it is a difference.
  void Add(Comparison comparison);

  const MatchCount& Of(Match match) const { return counts[static_cast<std::size_t>(match)]; }
  std::uint64_t Decisions() const;
  std::uint64_t Agreements() const;
  // Decisions that neither agree nor are explained by order.
  std::uint64_t Unexplained() const;
  // All differences that are kept, in the order of the decisions.
  std::vector<Comparison> Differences() const;

  std::string source;                        // the API server
  std::vector<std::string> scheduler_names;  // that are watched
  std::string configuration;                 // the file; empty: the defaults
  std::vector<std::string> unknown;          // what of the configuration has no part in berth's decisions
  Time began_at{};                           // time of day
  Time ended_at{};
  std::size_t node_count = 0;
  std::size_t pod_count = 0;  // on nodes
  std::array<MatchCount, kMatchCount> counts{};
  std::array<std::deque<Comparison>, kMatchCount> kept{};
  std::uint64_t order_untried = 0;  // differences for which too few orders of decisions were tried
  std::uint64_t points_total = 0;   // of kWorseNode
  std::int64_t points_max = 0;
  LeftOut left_out;
  SightingFilter::Waiting waiting;
  DecisionCost cost;
};

}  // namespace berth::shadow
