// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/queue_metrics.h"

#include <utility>

#include "berth/core/instruments/metric_list.h"

namespace berth::queue {

using framework::action::kAdd;
using instruments::DescriptionOf;

namespace {

constexpr std::array<std::string_view, 3> kQueueNames = {"active", "backoff", "unschedulable"};

}  // namespace

void QueueMetrics::Begin(instruments::SchedulerMetrics& metrics, instruments::Stopwatch& stopwatch,
                         const Rejectors& rejectors) {
  metrics_ = &metrics;
  stopwatch_ = &stopwatch;
  rejectors_ = &rejectors;
  MetricRegistry& registry = metrics.registry;
  incoming_family_ = &registry.AddCounter(DescriptionOf("scheduler_queue_incoming_pods_total"));
  in_flight_family_ = &registry.AddGauge(DescriptionOf("scheduler_inflight_events"));
  refused_family_ = &registry.AddGauge(DescriptionOf("scheduler_unschedulable_pods"));
  hint_family_ = &registry.AddHistogram(DescriptionOf("scheduler_queueing_hint_execution_duration_seconds"));
  point_family_ = &registry.AddHistogram(DescriptionOf("scheduler_framework_extension_point_duration_seconds"));
}

std::string QueueMetrics::EventLabel(EventId event) const {
  const framework::ClusterEvent& known = rejectors_->EventOf(event);
  // The flush is the only wildcard event that moves pods by itself.
  return known.IsWildcard() ? "UnschedulableTimeout" : known.Label(metrics_->release.names_target_pod_events);
}

std::string QueueMetrics::CauseLabel(std::size_t cause) const {
  switch (static_cast<Cause>(cause)) {
    case Cause::kPodAdd:
      return framework::ClusterEvent{framework::EventResource::kUnschedulablePod, kAdd}.Label(
          metrics_->release.names_target_pod_events);
    case Cause::kScheduleAttemptFailure: return "ScheduleAttemptFailure";
    case Cause::kBackoffComplete: return "BackoffComplete";
    case Cause::kPopFromBackoff: return "PopFromBackoffQ";
    case Cause::kForceActivate: return "ForceActivate";
    case Cause::kUnschedulableTimeout: return "UnschedulableTimeout";
    default: return EventLabel(static_cast<EventId>(cause - static_cast<std::size_t>(Cause::kEvents)));
  }
}

CounterCell& QueueMetrics::MakeEntities(std::size_t cause, std::size_t queue, std::string_view type) {
  return metrics_->registry.AddCounter(DescriptionOf("scheduler_queue_incoming_entities_total", metrics_->release))
      .With({kQueueNames[queue], CauseLabel(cause), type});
}

void QueueMetrics::MakeIncoming(std::size_t cause, std::size_t queue) {
  if (cause >= incoming_.size()) incoming_.resize(cause + 1);
  IncomingCells& cells = incoming_[cause][queue];
  cells.pods = &incoming_family_->With({kQueueNames[queue], CauseLabel(cause)});
  if (metrics_->release.counts_entities) cells.entities = &MakeEntities(cause, queue, "pod");
}

// As upstream, a composite group is counted by its pods only before 1.38.
void QueueMetrics::ObserveIncomingGroup(Place place, Cause cause, std::size_t member_count, bool is_composite,
                                        bool is_moved) {
  if (metrics_ == nullptr) return;
  IncomingCells& cells = IncomingFor(place, cause);
  cells.pods->Add(static_cast<double>(member_count));
  if (!is_moved || cells.entities == nullptr) return;
  if (is_composite && !instruments::TellsGroupKinds(metrics_->release)) return;
  CounterCell*& cell = is_composite ? cells.composite_groups : cells.groups;
  if (cell == nullptr) {
    cell =
        &MakeEntities(static_cast<std::size_t>(cause), QueueOf(place), is_composite ? "compositepodgroup" : "podgroup");
  }
  cell->Add();
}

void QueueMetrics::MakeInFlight(EventId event) {
  if (event >= in_flight_.size()) in_flight_.resize(event + 1);
  in_flight_[event] = &in_flight_family_->With({EventLabel(event)});
}

void QueueMetrics::FindGauges(RejectorSet& set, const framework::PodInfo& pod) {
  for (const auto* plugins : {&set.unschedulable, &set.pending}) {
    for (const PluginId plugin : *plugins) {
      set.waiting_gauges.push_back(&refused_family_->With({rejectors_->PluginName(plugin), pod.spec().scheduler_name}));
    }
  }
}

void QueueMetrics::ObservePreEnqueue(const Profile& profile, const framework::PodInfo& pod, framework::Code code,
                                     Time began) {
  if (metrics_ == nullptr) return;
  if (profile.id >= pre_enqueue_.size()) pre_enqueue_.resize(profile.id + 1);
  HistogramCell*& cell = pre_enqueue_[profile.id][static_cast<std::size_t>(code)];
  if (cell == nullptr) {
    cell = &point_family_->With(
        {instruments::ToString(instruments::Point::kPreEnqueue), framework::ToString(code), pod.spec().scheduler_name});
  }
  cell->Observe(instruments::Seconds(stopwatch_->Read() - began));
}

// Hints are too short and too many to time each one: each is observed with the mean time of all hints for one event.
void QueueMetrics::TakeHints(Rejectors& rejectors) {
  std::vector<HintUse*>& uses = rejectors.used_hints();
  if (metrics_ == nullptr || uses.empty()) return;
  std::uint64_t calls = 0;
  for (const HintUse* use : uses) calls += use->total();
  const double mean = instruments::Seconds(stopwatch_->Read() - rejectors.hints_began()) / static_cast<double>(calls);
  static constexpr std::array<std::string_view, 3> kAnswers = {"QueueSkip", "Queue", "Error"};
  for (HintUse* use : uses) {
    for (std::size_t answer = 0; answer < kAnswers.size(); ++answer) {
      const std::uint32_t count = std::exchange(use->counts[answer], 0);
      if (count == 0) continue;
      HistogramCell*& cell = use->cells[answer];
      if (cell == nullptr)
        cell = &hint_family_->With({rejectors.PluginName(use->plugin), EventLabel(use->event), kAnswers[answer]});
      cell->Observe(mean, count);
    }
  }
  uses.clear();
}

}  // namespace berth::queue
