// SPDX-License-Identifier: Apache-2.0
// EvaluationMetrics: counts and times the work of an Evaluator, for its profile's metrics. Within turns only. It
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

// Whether single plugins are timed in this cycle: in every tenth, as upstream does.
inline bool IsSampled(std::uint64_t seed) { return seed % 10 == 0; }

class EvaluationMetrics {
 public:
  // Both arguments must outlive it.
  EvaluationMetrics(instruments::ProfileMetrics& profile, instruments::Stopwatch& stopwatch)
      : profile_(profile), stopwatch_(stopwatch) {}

  // To be called in this order, each when its stage has ended. Only choosers that filter and score in two steps call
  // ObserveFilters().
  void Begin() { began_ = stopwatch_.latest(); }
  void ObservePreFilter(const EvaluationCycle& cycle);
  void ObserveFilters(const EvaluationCycle& cycle);
  void ObserveChoice(const EvaluationCycle& cycle);
  void ObservePostFilter(const framework::PostFilterResult& result);
  // The result of a preemption plugin that was called at `began`.
  void ObservePreemption(const framework::PostFilterResult& result, Time began);
  Time BeginPreemption() { return profile_.all().groups ? stopwatch_.Read() : Time{}; }

  // Times a call of one plugin in a sampled cycle.
  Time BeginCall() { return stopwatch_.Read(); }
  void EndCall(instruments::Point point, std::string_view plugin, framework::Code code, Time began) {
    profile_.all().ObservePlugin(point, plugin, code, stopwatch_.Read() - began);
  }

  // Adds the evaluations counted since the last call to the metrics. Between cycles.
  void Flush();

 private:
  // What determines which plugins filtered, and which scored.
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
    std::uint64_t rebuild = 0;  // KeptEvaluation::rebuild of `kept`
    bool has_scored = false;
  };
  // The plugins that were called, by index in the profile, in PreFilter and Filter or in PreScore and Score; and the
  // number of cycles since the last Flush() in which exactly these were called.
  struct Asked {
    PluginFlags before;
    PluginFlags main;
    std::uint64_t cycle_count = 0;
  };
  // A few entries are enough when pods of a few classes alternate.
  using AskedList = std::vector<Asked>;
  struct KnownScores {
    ScoreGrounds grounds;
    std::size_t asked = 0;  // index into asked_scores_
  };
  static constexpr std::size_t kAskedMax = 8;  // when a list is full, it is flushed into the counters and emptied
  static constexpr std::size_t kKnownMax = 8;

  void CountEvaluations(const EvaluationCycle& cycle, bool has_filtered);
  static bool HasGrounds(const ScoreGrounds& grounds, const EvaluationCycle& cycle);
  std::size_t AskedScoresOf(const EvaluationCycle& cycle);
  void FindAskedFilters(const EvaluationCycle& cycle, bool has_filtered, Asked& asked) const;
  void FindAskedScores(const EvaluationCycle& cycle, Asked& asked) const;
  // The index of the entry that equals asked_next_; one is added if there is none.
  std::size_t PositionIn(AskedList& list);
  void ObservePoint(instruments::Point point, framework::Code code);

  instruments::ProfileMetrics& profile_;
  instruments::Stopwatch& stopwatch_;
  Time began_{};  // start of the interval that is measured next
  bool has_noted_filters_ = false;
  bool has_kept_verdicts_ = false;  // verdicts were kept when this cycle began
  FilterGrounds filter_grounds_;    // of the last cycle
  std::size_t asked_filter_ = 0;    // index into asked_filters_ for filter_grounds_
  AskedList asked_filters_;
  std::vector<KnownScores> known_scores_;  // the most recent ones; the latest is at known_latest_
  std::size_t known_latest_ = 0;
  AskedList asked_scores_;
  Asked asked_next_;  // scratch
};

}  // namespace berth::runtime
