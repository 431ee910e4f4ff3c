// SPDX-License-Identifier: Apache-2.0
#include "berth/page/numbers.h"

#include <algorithm>
#include <utility>

namespace berth::page {

using codec::json::array, codec::json::object;

namespace {

double MillisecondsAt(std::vector<Duration>& sorted, double part) {
  const auto index = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5);
  return std::chrono::duration<double, std::milli>(sorted[index]).count();
}

}  // namespace

ProcessCounts Since(ProcessCounts now, const ProcessCounts& before) {
  now.cpu_seconds -= before.cpu_seconds;
  for (ProcessCounts::Profile& profile : now.profiles) {
    const auto known = std::ranges::find(before.profiles, profile.name, &ProcessCounts::Profile::name);
    if (known == before.profiles.end()) continue;
    profile.scheduled -= known->scheduled;
    profile.refused -= known->refused;
  }
  return now;
}

object SampleJson(const NumberInput& input) {
  const double seconds = std::max(0.001, std::chrono::duration<double>(input.since).count());
  const auto per_second = [seconds](auto count) { return static_cast<double>(count) / seconds; };
  object json{{"time", FormatRfc3339Micro(input.time)},
              {"bound", per_second(input.activity.bound)},
              {"arrived", per_second(input.activity.arrived)},
              {"pending", input.pending}};
  if (input.decisions) json["decisions"] = per_second(*input.decisions);
  if (!input.activity.waited.empty()) {
    std::vector<Duration> waited = input.activity.waited;
    std::ranges::sort(waited);
    json["waitMsP50"] = MillisecondsAt(waited, 0.5);
    json["waitMsP99"] = MillisecondsAt(waited, 0.99);
  }
  if (input.queue) json["queue"] = QueueJson(*input.queue);
  if (input.process) {
    json["cpu"] = per_second(input.process->cpu_seconds);
    json["memoryBytes"] = input.process->resident_bytes;
    array& profiles = json["profiles"].emplace_array();
    for (const ProcessCounts::Profile& profile : input.process->profiles) {
      profiles.push_back(object{{"name", profile.name},
                                {"scheduled", per_second(profile.scheduled)},
                                {"refused", per_second(profile.refused)}});
    }
  }
  array& use = json["use"].emplace_array();
  for (const ZoneUse& zone : input.zones) {
    use.push_back(object{
        {"zone", zone.zone}, {"nodes", zone.nodes}, {"cpu", zone.cpu}, {"memory", zone.memory}, {"pods", zone.pods}});
  }
  return json;
}

object Numbers::Add(const NumberInput& input) {
  object sample = SampleJson(input);
  const std::lock_guard lock(mutex_);
  samples_.push_back(sample);
  if (samples_.size() > kSamplesMax) samples_.pop_front();
  return sample;
}

object Numbers::Json() const {
  array samples;
  const std::lock_guard lock(mutex_);
  for (const object& sample : samples_) samples.push_back(sample);
  return {{"intervalSeconds", std::chrono::duration<double>(kInterval).count()}, {"samples", std::move(samples)}};
}

}  // namespace berth::page
