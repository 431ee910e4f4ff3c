// SPDX-License-Identifier: Apache-2.0
// ShadowReport: what came of comparing another scheduler's decisions with berth's. A plain value; its counts are exact,
// its lists hold the newest of each kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/shadow/comparison.h"
#include "berth/shadow/decision_cost.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

struct MatchCount {
  std::uint64_t total = 0;
  std::uint64_t by_order = 0;  // of those, explained by the order of decisions
};

struct ShadowReport {
  // Differences that are kept of each kind; older ones go.
  static constexpr std::size_t kKeptMax = 100;

  // The counts, and the difference if it is one.
  void Add(Comparison comparison);

  const MatchCount& Of(Match match) const { return counts[static_cast<std::size_t>(match)]; }
  std::uint64_t Decisions() const;
  std::uint64_t Agreements() const;
  // Neither agreed nor explained by order.
  std::uint64_t Unexplained() const;
  // All that are kept, in the order of the decisions.
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

// What a Match means, for people: "the same node".
std::string_view Describe(Match match);
// "99.95 %"; a share that is not whole is neither 100.00 % nor 0.00 %.
std::string PercentText(std::uint64_t part, std::uint64_t whole);
// "0.21 ms".
std::string MillisecondsText(Duration duration);
// "kube-scheduler's" reasons and counts in the order in which they are shown.
struct LeftOutLine {
  std::string_view key;  // as in JSON
  std::string_view text;
  std::uint64_t count = 0;
};
std::vector<LeftOutLine> LeftOutLines(const ShadowReport& report);

codec::json::object ShadowJson(const ShadowReport& report);

}  // namespace berth::shadow
