// SPDX-License-Identifier: Apache-2.0
// EvaluationMetrics: counts and times what an Evaluator does, for the metrics of its profile. Within turns only. It
// influences no outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/instruments/profile_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/plugin.h"
#include "berth/framework/status.h"

namespace berth::runtime {

struct EvaluationCycle;
struct KeptEvaluation;

// Whether single plugins are timed in a cycle: in one of ten, as upstream.
inline bool IsSampled(std::uint64_t seed) { return seed % 10 == 0; }

class EvaluationMetrics {
 public:
  // Both must outlive it.
  EvaluationMetrics(instruments::ProfileMetrics& profile, instruments::Stopwatch& stopwatch)
      : profile_(profile), stopwatch_(stopwatch) {}

  // In this order, each when that stage has ended. Only choosers that filter and score in two steps call
  // ObserveFilters().
  void Begin() { began_ = stopwatch_.latest(); }
  void ObservePreFilter(const EvaluationCycle& cycle);
  void ObserveFilters(const EvaluationCycle& cycle);
  void ObserveChoice(const EvaluationCycle& cycle);
  void ObservePostFilter(const framework::PostFilterResult& result);
  // What DefaultPreemption said, asked at `began`.
  void ObservePreemption(const framework::PostFilterResult& result, Time began);
  Time BeginPreemption() { return profile_.all().groups ? stopwatch_.Read() : Time{}; }

  // A call of one plugin, in a sampled cycle.
  Time BeginCall() { return stopwatch_.Read(); }
  void EndCall(instruments::Point point, std::string_view plugin, framework::Code code, Time began) {
    profile_.all().ObservePlugin(point, plugin, code, stopwatch_.Read() - began);
  }

  // Brings the counts of evaluations up to date. Between cycles.
  void Flush();

 private:
  // What decides which plugins had a say about nodes, and which about scores.
  struct FilterGrounds {
    std::uint64_t filters_id = 0;
    std::size_t pre_filter_count = 0;
    bool has_filtered = false;
    bool operator==(const FilterGrounds&) const = default;
  };
  struct ScoreGrounds {
    PluginFlags is_score_idle;
    PluginFlags is_score_active;
    const KeptEvaluation* kept = nullptr;
    std::uint64_t kept_key = 0;
    std::uint64_t rebuild = 0;  // of `kept`
    bool has_scored = false;
  };
  // Who had a say, by position in the profile, in PreFilter and Filter or in PreScore and Score, and in how many cycles
  // that are not in the counters yet.
  struct Asked {
    PluginFlags before;
    PluginFlags main;
    std::uint64_t cycle_count = 0;
  };
  // Where pods of a few kinds come in turn there are a few.
  using AskedList = std::vector<Asked>;
  struct KnownScores {
    ScoreGrounds grounds;
    std::size_t asked = 0;  // position in asked_scores_
  };
  static constexpr std::size_t kAskedMax = 8;  // of a list; then it is brought into the counters and begins anew
  static constexpr std::size_t kKnownMax = 8;

  void CountEvaluations(const EvaluationCycle& cycle, bool has_filtered);
  static bool HasGrounds(const ScoreGrounds& grounds, const EvaluationCycle& cycle);
  std::size_t AskedScoresOf(const EvaluationCycle& cycle);
  void FindAskedFilters(const EvaluationCycle& cycle, bool has_filtered, Asked& asked) const;
  void FindAskedScores(const EvaluationCycle& cycle, Asked& asked) const;
  // The position of what asked_next_ is equal to.
  std::size_t PositionIn(AskedList& list);
  void ObservePoint(instruments::Point point, framework::Code code);

  instruments::ProfileMetrics& profile_;
  instruments::Stopwatch& stopwatch_;
  Time began_{};  // of what is timed next
  bool has_noted_filters_ = false;
  bool has_kept_verdicts_ = false;  // of an earlier pod, when this cycle began
  FilterGrounds filter_grounds_;    // of the last cycle
  std::size_t asked_filter_ = 0;    // on these; position in asked_filters_
  AskedList asked_filters_;
  std::vector<KnownScores> known_scores_;  // the latest, the last one at known_latest_
  std::size_t known_latest_ = 0;
  AskedList asked_scores_;
  Asked asked_next_;  // scratch
};

}  // namespace berth::runtime
