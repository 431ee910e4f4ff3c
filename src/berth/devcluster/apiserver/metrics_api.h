// SPDX-License-Identifier: Apache-2.0
// MetricsApi: metrics.k8s.io/v1beta1 of simulated nodes and pods, as metrics-server serves it of real ones. A running
// pod uses what its annotations say, else half of what it asks for; a node what its own annotations say, else what its
// pods use. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "berth/devcluster/apiserver/rest_call.h"

namespace berth::apiserver {

// An annotation with the use that is reported: for a pod a quantity, the use of all its containers; for a node percent
// of what is allocatable there.
inline constexpr const char* kCpuUsageAnnotation = "berth.dev/cpu-usage";
inline constexpr const char* kMemoryUsageAnnotation = "berth.dev/memory-usage";

// Pods and nodes are read at most once in this interval; when reading takes long, for at most a tenth of the time.
inline constexpr Duration kMeasureInterval = std::chrono::seconds(1);

// Whether objects of the type are such measurements, which MetricsApi answers for.
bool IsMeasured(const objects::ResourceType& type);

class MetricsApi {
 public:
  // `registry` outlives this.
  explicit MetricsApi(const Registry& registry) : registry_(registry) {}

  objects::Outcome<net::Response> List(const RestCall& call);
  objects::Outcome<net::Response> Get(const RestCall& call);

 private:
  struct Measurement;
  std::shared_ptr<const Measurement> Measure();

  const Registry& registry_;
  std::mutex mutex_;  // guards both below
  std::shared_ptr<const Measurement> measured_;
  Time next_at_{};  // of the clock on the wall
};

}  // namespace berth::apiserver
