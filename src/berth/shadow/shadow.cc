// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/shadow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/volume_binding/pod_volumes.h"

namespace berth::shadow {
namespace {

constexpr Duration kSweepEvery = std::chrono::minutes(5);

const std::vector<double>& SecondsBounds() {
  static const std::vector<double> bounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1};
  return bounds;
}

class NoClock final : public Clock {
 public:
  Time Now() const override { return {}; }
};

const Clock& ClockOrNone(const Clock* clock) {
  static const NoClock none;
  return clock == nullptr ? none : *clock;
}

}  // namespace

// The metrics that docs/shadow.md describes.
struct Shadow::Counters {
  explicit Counters(framework::Metrics& metrics)
      : seconds(metrics.GetHistogram("berth_shadow_decision_seconds", "Time that berth took to decide a pod.",
                                     SecondsBounds(), {})),
        cpu_seconds(metrics.GetCounter("berth_shadow_decision_cpu_seconds_total",
                                       "CPU time of berth's decisions, in seconds.", {})),
        points(metrics.GetCounter("berth_shadow_points_total",
                                  "Points by which berth's nodes were better than the other scheduler's.", {})),
        held(metrics.GetGauge("berth_shadow_held_inputs", "Changes of the cluster that wait to be put in order.", {})) {
    for (std::size_t i = 0; i < kMatchCount; ++i) {
      const std::string match(ToString(static_cast<Match>(i)));
      for (const bool by_order : {false, true}) {
        if (by_order && Agrees(static_cast<Match>(i))) continue;
        decisions[i][by_order ? 1 : 0] =
            &metrics.GetCounter("berth_shadow_decisions_total", "Decisions of the other scheduler that were compared.",
                                {{"match", match}, {"explained_by_order", by_order ? "true" : "false"}});
      }
    }
  }

  std::array<std::array<framework::Counter*, 2>, kMatchCount> decisions{};
  framework::Histogram& seconds;
  framework::Counter& cpu_seconds;
  framework::Counter& points;
  framework::Gauge& held;
};

Shadow::Shadow(ShadowOptions options)
    : options_(std::move(options)),
      handle_([](const framework::PermitDecision&) {}, *options_.metrics, options_.read_file),
      counters_(std::make_unique<Counters>(*options_.metrics)),
      filter_([this](const api::Pod& pod) { return IsOurs(pod); },
              [this](const api::Pod& pod) { return overlay_->MakePod(pod); }) {}

Shadow::~Shadow() = default;

Expected<std::unique_ptr<Shadow>> Shadow::Make(ShadowOptions options) {
  std::unique_ptr<Shadow> made(new Shadow(std::move(options)));
  BERTH_ASSIGN_OR_RETURN(auto profiles,
                         runtime::MakeProfiles(made->options_.configuration, made->options_.plugins, made->handle_));
  const std::string& wanted = made->options_.scheduler_name;
  for (const auto& profile : profiles) {
    if (wanted.empty() || profile->scheduler_name == wanted) made->profile_names_.push_back(profile->scheduler_name);
  }
  if (made->profile_names_.empty()) return InvalidError("no profile is called \"" + wanted + "\"");
  const framework::QueueSortPlugin& sort = *profiles.front()->queue_sort;
  scheduler::SchedulerOptions core;
  core.seed = made->options_.seed;
  made->core_ = std::make_unique<scheduler::Scheduler>(core, made->handle_, std::move(profiles));
  made->overlay_ = made->core_->MakeOverlay({});
  made->held_ = std::make_unique<HeldInputs>(sort);
  made->seed_ = made->options_.seed;
  made->report_.scheduler_names = made->profile_names_;
  return made;
}

bool Shadow::IsOurs(const api::Pod& pod) const {
  return std::find(profile_names_.begin(), profile_names_.end(), pod.spec.scheduler_name) != profile_names_.end();
}

// A scheduler has volumes and devices made for the pod before it binds it: once that is seen they say where it goes.
bool Shadow::HasOwnClaims(const Sighting& sighting) const {
  const api::Pod& pod = *sighting.before;
  if (!pod.spec.resource_claims.empty() || pod.status.extended_resource_claim_status) return true;
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [&](const api::Volume& volume) {
    const auto name = plugins::volumes::ClaimNameOf(*sighting.pod, volume);
    if (!name || name->empty()) return false;
    const auto* claim = handle_.objects().Of<api::PersistentVolumeClaim>().Find(pod.metadata.namespace_name, *name);
    return claim != nullptr && claim->metadata.annotations.Find(plugins::volumes::kSelectedNodeAnnotation) != nullptr;
  });
}

void Shadow::SetWallAhead(Duration ahead) {
  wall_ahead_ = ahead;
  core_->SetWallAhead(ahead);
}

void Shadow::Take(scheduler::Input input, Time now) {
  std::optional<Sighting> sighting = filter_.Look(input);
  if (!is_looking_) return TakeIntoCore(std::move(input), now);
  held_->Push({now, std::move(input), std::move(sighting)});
}

void Shadow::BeginLooking(Time now) {
  if (std::exchange(is_looking_, true)) return;
  filter_.BeginLooking();
  report_.began_at = WallTime(now);
}

bool Shadow::Step(Time now, bool is_ending) {
  std::optional<HeldInput> held = held_->Take(now, is_ending);
  counters_->held.Set(static_cast<double>(held_->size()));
  if (!held) return false;
  recent_.DropOld(held->at);
  if (held->sighting) {
    if (held->at + kLagMax < now) {
      ++report_.left_out.late;
    } else if (held->sighting->is_placed() && HasOwnClaims(*held->sighting)) {
      ++report_.left_out.own_claims;
    } else {
      CompareOne(*held->sighting, now);
    }
  }
  recent_.Note(held->input, core_->cache(), held->at);
  TakeIntoCore(std::move(held->input), now);
  return true;
}

void Shadow::CompareOne(const Sighting& sighting, Time now) {
  const Clock& stopwatch = ClockOrNone(options_.stopwatch);
  const Clock& cpu_clock = ClockOrNone(options_.cpu_clock);
  ++seed_;
  const Time began = stopwatch.Now();
  const Time cpu_began = cpu_clock.Now();
  const OwnDecision ours = Decide(*overlay_, sighting.pod, seed_);
  const Duration cpu = cpu_clock.Now() - cpu_began;
  const Duration time = stopwatch.Now() - began;
  report_.cost.Add(time, cpu);
  counters_->seconds.Observe(std::chrono::duration<double>(time).count());
  counters_->cpu_seconds.Add(std::chrono::duration<double>(cpu).count());

  Comparison comparison = Compare(*overlay_, sighting, ours, seed_);
  comparison.seen_at = WallTime(now);
  if (!Agrees(comparison.match)) {
    const OrderAnswer answer = SearchOrder(*overlay_, sighting, recent_, *held_, seed_, tries_.LeftAt(now));
    comparison.is_explained_by_order = answer == OrderAnswer::kExplains;
    comparison.is_order_untried = answer == OrderAnswer::kNotTried;
  }
  counters_->decisions[static_cast<std::size_t>(comparison.match)][comparison.is_explained_by_order ? 1 : 0]->Add();
  if (comparison.points > 0) counters_->points.Add(static_cast<double>(comparison.points));
  report_.Add(std::move(comparison));
  if (!sweep_at_) sweep_at_ = now + kSweepEvery;
}

void Shadow::TakeIntoCore(scheduler::Input input, Time now) {
  core_->Handle(std::move(input), now);
  core_->TakeOutputs(outputs_);
  outputs_.clear();
}

void Shadow::Tick(Time now) {
  core_->Tick(now);
  core_->TakeOutputs(outputs_);
  outputs_.clear();
  if (!sweep_at_ || *sweep_at_ > now) return;
  overlay_->DropIdle();
  sweep_at_.reset();
}

std::optional<Time> Shadow::NextWake() const {
  std::optional<Time> wake = held_->NextDue();
  for (const std::optional<Time> next : {core_->NextWake(), sweep_at_}) {
    if (next && (!wake || *next < *wake)) wake = next;
  }
  return wake;
}

ShadowReport Shadow::Report(Time now) const {
  ShadowReport report = report_;
  report.ended_at = WallTime(now);
  if (!is_looking_) report.began_at = report.ended_at;
  report.node_count = core_->cache().nodes().node_count();
  report.pod_count = core_->cache().pod_count();
  const LeftOut& seen = filter_.left_out();
  report.left_out.other_scheduler = seen.other_scheduler;
  report.left_out.had_node = seen.had_node;
  report.left_out.deleted = seen.deleted;
  report.left_out.failed = seen.failed;
  report.waiting = filter_.waiting();
  return report;
}

}  // namespace berth::shadow
