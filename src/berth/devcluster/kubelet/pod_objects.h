// SPDX-License-Identifier: Apache-2.0
// What a simulated kubelet reads of a pod, and what it reports about it. Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <simdjson.h>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::kubelet {

struct PodView {
  struct Container {
    std::string name;
    std::string image;
    bool is_sidecar = false;  // an init container that keeps running (restartPolicy Always)
  };

  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string node_name;
  std::string phase;
  std::string pod_ip;
  std::vector<Container> init_containers;
  std::vector<Container> containers;
  bool is_host_network = false;
  bool is_deleted = false;  // its deletion has begun
  std::int64_t deletion_grace_seconds = 0;
  std::optional<Duration> run_time;  // the annotation berth.dev/run-seconds, or a Job's
  std::optional<Time> start_time;

  bool IsFinished() const { return phase == "Succeeded" || phase == "Failed"; }
};

// Lenient: a run time that is no number counts as none.
Expected<std::shared_ptr<const PodView>> DecodePodView(const simdjson::dom::element& object);

// Strategic merge patches of pods/NAME/status: all containers run and are ready since `now`; all have ended well.
// Conditions of others, PodScheduled among them, stay.
std::string RunningPatch(const PodView& pod, const std::string& host_ip, const std::string& pod_ip, Time now);
std::string SucceededPatch(const PodView& pod, Time started, Time now);

}  // namespace berth::kubelet
