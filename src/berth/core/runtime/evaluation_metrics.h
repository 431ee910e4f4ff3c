// SPDX-License-Identifier: Apache-2.0
// EvaluationMetrics: counts and times what an Evaluator does, for the metrics of its profile. Within turns only. It
// influences no outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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

  // In this order, each when that stage has ended. Only choosers that filter and score in two steps call NoteFilters().
  void Begin() { began_ = stopwatch_.latest(); }
  void NotePreFilter(const EvaluationCycle& cycle);
  void NoteFilters(const EvaluationCycle& cycle);
  void NoteChoice(const EvaluationCycle& cycle);
  void NotePostFilter(const framework::PostFilterResult& result);
  // What DefaultPreemption said, asked at `began`.
  void NotePreemption(const framework::PostFilterResult& result, Time began);
  Time BeginPreemption() { return profile_.all().groups ? stopwatch_.Read() : Time{}; }

  // A call of one plugin, in a sampled cycle.
  Time BeginCall() { return stopwatch_.Read(); }
  void EndCall(instruments::Point point, std::string_view plugin, framework::Code code, Time began) {
    profile_.all().NotePlugin(point, plugin, code, stopwatch_.Read() - began);
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
    bool has_scored = false;
  };
  // Who had a say, by position in the profile, in PreFilter and Filter or in PreScore and Score. Cycles in a row for
  // which it is the same are counted together.
  struct Asked {
    PluginFlags before;
    PluginFlags main;
    bool operator==(const Asked&) const = default;
  };

  void CountEvaluations(const EvaluationCycle& cycle, bool has_filtered);
  bool HasSameScoreGrounds(const EvaluationCycle& cycle) const;
  void FindAskedFilters(const EvaluationCycle& cycle, bool has_filtered, Asked& asked) const;
  void FindAskedScores(const EvaluationCycle& cycle, Asked& asked) const;
  // `asked_next_` is what holds from now on, in the place of `asked`.
  void Renew(Asked& asked);
  void NotePoint(instruments::Point point, framework::Code code);

  instruments::ProfileMetrics& profile_;
  instruments::Stopwatch& stopwatch_;
  Time began_{};  // of what is timed next
  bool has_noted_filters_ = false;
  bool has_kept_verdicts_ = false;  // of an earlier pod, when this cycle began
  FilterGrounds filter_grounds_;    // of the last cycle
  ScoreGrounds score_grounds_;
  Asked asked_filters_;
  Asked asked_scores_;
  Asked asked_next_;               // scratch
  std::uint64_t cycle_count_ = 0;  // not yet in the counters
};

}  // namespace berth::runtime
