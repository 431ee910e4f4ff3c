// SPDX-License-Identifier: Apache-2.0
// Controllers: the few of kube-controller-manager's controllers that the embedded cluster needs. Deployments make
// ReplicaSets, CronJobs make Jobs, ReplicaSets, Jobs, DaemonSets and StatefulSets make pods, PodDisruptionBudgets learn
// how many evictions they allow, each namespace gets its ServiceAccount, and what lost its owners or its node is
// removed. A client of any API server; do not run them where a kube-controller-manager runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {

struct ControllersOptions {
  std::uint64_t seed = 1;  // of pod names and back-off
  std::string hostname;    // in events
  int in_flight_max = 16;  // pod writes under way at once
  bool collects_garbage = true;
  bool provisions_only = false;  // volumes for claims, as a CSI driver would, and nothing else
};

struct ControllersStats {
  std::uint64_t pods_created = 0;
  std::uint64_t pods_deleted = 0;       // surplus ones
  std::uint64_t objects_collected = 0;  // their owners or node were gone
  std::uint64_t failures = 0;           // requests that failed and were, or will be, tried again
};

class Controllers {
 public:
  // `rest` carries lists, watches and writes, `events_rest` the events; both run on rest.loop() and must outlive it.
  Controllers(client::RestClient& rest, client::RestClient& events_rest, ControllersOptions options);
  // Stop(). On the loop's thread, or after the loop has ended.
  ~Controllers();
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  // Any thread; returns at once. An API server that is away is waited for.
  void Start();
  // Any thread. Begins nothing new; requests under way end unheard.
  void Stop();

  // The numbers may be a moment old. Any thread.
  ControllersStats Stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::controllers
