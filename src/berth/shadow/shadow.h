// SPDX-License-Identifier: Apache-2.0
// Shadow: decides each pod that another scheduler decides, on the cluster as it was then, and counts how often the two
// agree. It keeps a core up to date with all that the API server tells, but never lets it schedule: decisions are
// questions on an overlay, and whatever the core or a plugin wants done outside is dropped. Deterministic: inputs and
// times come in, the report goes out. README.md shows its parts. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/metrics.h"
#include "berth/shadow/held_inputs.h"
#include "berth/shadow/order_search.h"
#include "berth/shadow/recent_changes.h"
#include "berth/shadow/shadow_report.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

struct ShadowOptions {
  config::KubeSchedulerConfiguration configuration;  // the other scheduler's; HTTP extenders are not asked
  config::KnownPlugins plugins;
  // Of plugins' files: framework::Handle::ReadFile. Empty: they can read none.
  std::function<Expected<framework::FileText>(const std::string&)> read_file = {};
  // Its pods alone are compared; empty: those of every profile.
  std::string scheduler_name = {};
  std::uint64_t seed = 1;
  // For the cost of decisions, and nothing else: time, and the CPU time of the calling thread. They must outlive it.
  const Clock* stopwatch = nullptr;
  const Clock* cpu_clock = nullptr;
  framework::Metrics* metrics = &framework::Metrics::None();  // must outlive it
};

class Shadow {
 public:
  // A decision that was seen longer ago than this is not made any more: berth is too slow for the cluster.
  static constexpr Duration kLagMax = std::chrono::minutes(1);

  // Fails when the profiles cannot be made.
  static Expected<std::unique_ptr<Shadow>> Make(ShadowOptions options);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // How far the time of day is ahead of the `now` of all that follows.
  void SetWallAhead(Duration ahead);
  // What the API server tells, in order. Until BeginLooking() it is what was there before.
  void Take(scheduler::Input input, Time now);
  // From now on placements and refusals are decisions to compare.
  void BeginLooking(Time now);
  // Takes one input that has been held long enough into the core, and compares if it is a decision; with `is_ending`
  // however short it has been held. False when there is none.
  bool Step(Time now, bool is_ending);
  // Does what is due by now.
  void Tick(Time now);
  // When Step() or Tick() has something to do.
  std::optional<Time> NextWake() const;

  bool is_looking() const { return is_looking_; }
  std::uint64_t decision_count() const { return report_.Decisions(); }
  // All that is known so far. `source`, `configuration` and `unknown` are left to whoever knows them.
  ShadowReport Report(Time now) const;
  const scheduler::Scheduler& core() const { return *core_; }

 private:
  struct Counters;

  explicit Shadow(ShadowOptions options);
  bool IsOurs(const api::Pod& pod) const;
  bool HasOwnClaims(const Sighting& sighting) const;
  void CompareOne(const Sighting& sighting, Time now);
  void TakeIntoCore(scheduler::Input input, Time now);
  Time WallTime(Time now) const { return now + wall_ahead_; }

  const ShadowOptions options_;
  scheduler::CoreHandle handle_;
  std::vector<std::string> profile_names_;
  std::unique_ptr<scheduler::Scheduler> core_;
  std::unique_ptr<scheduler::Overlay> overlay_;
  std::unique_ptr<HeldInputs> held_;
  std::unique_ptr<Counters> counters_;
  SightingFilter filter_;
  RecentChanges recent_;
  TryBudget tries_;
  ShadowReport report_;
  Duration wall_ahead_{0};
  bool is_looking_ = false;
  std::uint64_t seed_ = 0;                  // another one for each decision
  std::optional<Time> sweep_at_;            // when idle data go; nullopt: nothing is kept
  std::vector<scheduler::Output> outputs_;  // what is not done
};

}  // namespace berth::shadow
