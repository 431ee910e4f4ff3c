// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/controller_metrics.h"

namespace berth::rebalance {

ControllerMetrics::ControllerMetrics(framework::Metrics& metrics)
    : metrics_(metrics),
      planned_(metrics.GetGauge("berth_rebalance_planned_moves", "Moves that the last round has planned.", {})),
      staying_(metrics.GetGauge("berth_rebalance_staying_pods",
                                "Pods that the policy objects to and that the last round did not move.", {})),
      seconds_(metrics.GetHistogram("berth_rebalance_round_seconds", "Time that a round took.",
                                    {0.1, 0.3, 1, 3, 10, 30, 100}, {})) {}

void ControllerMetrics::OnEviction(std::string_view strategy, std::string_view result) {
  metrics_
      .GetCounter("berth_rebalance_evictions_total", "Evictions that were asked for.",
                  {{"strategy", std::string(strategy)}, {"result", std::string(result)}})
      .Add();
}

void ControllerMetrics::OnChange(const MoveChange& change) {
  metrics_
      .GetCounter("berth_rebalance_outcomes_total", "What has become of evictions.",
                  {{"outcome", std::string(ToString(change.kind))}})
      .Add();
}

void ControllerMetrics::OnRound(const RoundReport& report, Duration took) {
  metrics_.GetCounter("berth_rebalance_rounds_total", "Rounds.", {{"result", std::string(ToString(report.result))}})
      .Add();
  seconds_.Observe(std::chrono::duration<double>(took).count());
  planned_.Set(static_cast<double>(report.moves.size() + report.later));
  staying_.Set(static_cast<double>(report.staying.size()));
  std::map<std::string_view, double> waiting;
  if (!report.wait.cause.empty()) waiting[report.wait.cause] = 1;
  SetCauses("berth_rebalance_waiting", "1 while nothing is moved, and why.", waiting, waiting_);
  std::map<std::string_view, double> held;
  for (const StayingPod& pod : report.staying) {
    if (!pod.hold.empty()) held[pod.hold] += 1;
  }
  SetCauses("berth_rebalance_held_pods", "Pods that the policy objects to and that may not move now, and why.", held,
            held_);
}

void ControllerMetrics::SetCauses(std::string_view name, std::string_view help,
                                  const std::map<std::string_view, double>& values,
                                  std::map<std::string, framework::Gauge*, std::less<>>& gauges) {
  for (const auto& [cause, value] : values) {
    const std::string label(cause);
    if (!gauges.contains(label)) gauges[label] = &metrics_.GetGauge(name, help, {{"reason", label}});
  }
  for (const auto& [cause, gauge] : gauges) {
    const auto at = values.find(cause);
    gauge->Set(at == values.end() ? 0 : at->second);
  }
}

}  // namespace berth::rebalance
