// SPDX-License-Identifier: Apache-2.0
// QueueMetrics: counts pods that enter the queues, pods by the plugins that refused them, events kept for pods in
// flight, and the duration of hints. Internal to the queue; within turns only. It influences no decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/metric_registry.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/core/queue/rejectors.h"

namespace berth::queue {

// Why a pod enters a queue: one of these, or EventCause() of an event. The metrics' label `event`.
enum class Cause : std::uint32_t {
  kPodAdd,
  kScheduleAttemptFailure,
  kBackoffComplete,
  kPopFromBackoff,
  kForceActivate,
  kUnschedulableTimeout,
  kEvents,  // this value and above: an event
};
inline Cause EventCause(EventId event) {
  return static_cast<Cause>(static_cast<std::uint32_t>(Cause::kEvents) + event);
}

class QueueMetrics {
 public:
  // Starts counting; all arguments must outlive it. `rejectors` has the names of events and plugins.
  void Begin(instruments::SchedulerMetrics& metrics, instruments::Stopwatch& stopwatch, const Rejectors& rejectors);
  bool is_on() const { return metrics_ != nullptr; }

  // Null: no pod is traced.
  instruments::PodTraces* traces() const { return metrics_ == nullptr ? nullptr : metrics_->traces; }

  // Whether the release names pods and groups together as entities. Only after Begin().
  bool has_entities() const { return metrics_->release.counts_entities; }

  // The label of the cause. Only after Begin().
  std::string LabelOf(Cause cause) const { return CauseLabel(static_cast<std::size_t>(cause)); }

  // `place` must not be kInFlight.
  void ObserveIncoming(Place place, Cause cause) {
    if (metrics_ == nullptr) return;
    const IncomingCells& cells = IncomingFor(place, cause);
    cells.pods->Add();
    if (cells.entities != nullptr) cells.entities->Add();
  }
  // A group with `member_count` members. `is_moved`: it comes from another queue. Otherwise only its pods are counted,
  // because a member joined a group that is there already.
  void ObserveIncomingGroup(Place place, Cause cause, std::size_t member_count, bool is_composite, bool is_moved);

  // Counts a pod as refused by the set's plugins (+1), or no longer (-1).
  void ObserveRefused(RejectorSet& set, const framework::PodInfo& pod, double amount) {
    if (metrics_ == nullptr) return;
    if (set.waiting_gauges.empty()) FindGauges(set, pod);
    for (GaugeCell* gauge : set.waiting_gauges) gauge->Add(amount);
  }

  // Counts an event as kept for pods in flight (+1), or no longer (-1).
  void ObserveInFlight(EventId event, double amount) {
    if (metrics_ == nullptr) return;
    if (event >= in_flight_.size() || in_flight_[event] == nullptr) MakeInFlight(event);
    in_flight_[event]->Add(amount);
  }

  // Called before and after the PreEnqueue plugins are asked about a pod.
  Time BeginPreEnqueue() { return metrics_ == nullptr ? Time{} : stopwatch_->Read(); }
  void ObservePreEnqueue(const Profile& profile, const framework::PodInfo& pod, framework::Code code, Time began);

  // Observes the hints that the rejectors have called since the last call.
  void TakeHints(Rejectors& rejectors);

 private:
  static constexpr std::size_t kQueues = 3;
  struct IncomingCells {
    CounterCell* pods = nullptr;
    CounterCell* entities = nullptr;  // null: the release does not count them
    CounterCell* groups = nullptr;    // made at first use, as the next
    CounterCell* composite_groups = nullptr;
  };

  static std::size_t QueueOf(Place place) {
    return place == Place::kActive ? 0 : place <= Place::kErrorBackoff ? 1 : 2;
  }
  IncomingCells& IncomingFor(Place place, Cause cause) {
    const std::size_t queue = QueueOf(place);
    const auto index = static_cast<std::size_t>(cause);
    if (index >= incoming_.size() || incoming_[index][queue].pods == nullptr) MakeIncoming(index, queue);
    return incoming_[index][queue];
  }

  std::string EventLabel(EventId event) const;
  std::string CauseLabel(std::size_t cause) const;
  CounterCell& MakeEntities(std::size_t cause, std::size_t queue, std::string_view type);
  void MakeIncoming(std::size_t cause, std::size_t queue);
  void MakeInFlight(EventId event);
  void FindGauges(RejectorSet& set, const framework::PodInfo& pod);

  instruments::SchedulerMetrics* metrics_ = nullptr;  // null: nothing is counted
  instruments::Stopwatch* stopwatch_ = nullptr;
  const Rejectors* rejectors_ = nullptr;
  CounterFamily* incoming_family_ = nullptr;
  GaugeFamily* in_flight_family_ = nullptr;
  GaugeFamily* refused_family_ = nullptr;
  HistogramFamily* hint_family_ = nullptr;
  HistogramFamily* point_family_ = nullptr;
  std::vector<std::array<IncomingCells, kQueues>> incoming_;                      // by cause
  std::vector<GaugeCell*> in_flight_;                                             // by event
  std::vector<std::array<HistogramCell*, instruments::kCodeCount>> pre_enqueue_;  // by Profile::id
};

}  // namespace berth::queue
