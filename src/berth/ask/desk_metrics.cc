// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/desk_metrics.h"

#include <chrono>

namespace berth::ask {

DeskMetrics::DeskMetrics(MetricRegistry& registry)
    : questions_(registry.AddCounter({"berth_ask_questions_total",
                                      "Questions by kind and outcome: yes, no, failed, invalid, timeout, cancelled, "
                                      "error.",
                                      {"question", "outcome"}})),
      seconds_(registry.AddHistogram({"berth_ask_question_duration_seconds",
                                      "Time from a question to its answer, in seconds.",
                                      {"question"},
                                      ExponentialBuckets(0.001, 2, 15)})),
      refused_(registry.AddCounter({"berth_ask_refused_total",
                                    "Questions refused because too many wait, or because the client has too many.",
                                    {"reason"}})),
      waiting_(registry.AddGauge({"berth_ask_waiting_questions", "Questions that no worker has begun.", {}})),
      loads_(registry.AddCounter(
          {"berth_ask_cluster_loads_total", "Times that a worker has loaded its copy of the cluster anew.", {}})) {}

void DeskMetrics::OnAnswer(std::string_view question, std::string_view outcome, Duration took) {
  questions_.With({question, outcome}).AddShared();
  seconds_.With({question}).ObserveShared(std::chrono::duration<double>(took).count());
}

void DeskMetrics::OnRefusal(std::string_view reason) { refused_.With({reason}).AddShared(); }

void DeskMetrics::SetWaiting(std::size_t count) { waiting_.With({}).Set(static_cast<double>(count)); }

void DeskMetrics::OnLoads(std::size_t count) { loads_.With({}).AddShared(static_cast<double>(count)); }

}  // namespace berth::ask
