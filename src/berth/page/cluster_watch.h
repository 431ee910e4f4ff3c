// SPDX-License-Identifier: Apache-2.0
// ClusterWatch: keeps a Fleet current with informers of nodes and of pods, and of the slices and claims of devices.
// Their callbacks come on the client's loop and do no more than change rows. Where a scheduler in this process watches
// nodes and pods anyway, those informers only list: what has changed since comes from the scheduler's.
//
//   lists, watches --all is listed, and the scheduler has listed as well--> takes from the scheduler
//
// Start() and Stop() on a thread that is not a loop's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/base/time.h"
#include "berth/page/fleet.h"
#include "berth/page/fleet_devices.h"
#include "berth/page/fleet_inbox.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"

namespace berth::page {

// The watch of a scheduler in this process.
struct SchedulerWatch {
  // All changes of nodes and pods from now on go into the inbox; null: nothing is put into any when it returns. Empty:
  // there is no such watch.
  std::function<void(FleetInbox* inbox)> set_inbox;
  // Whether the scheduler has listed everything once.
  std::function<bool()> has_synced;
  // Why it hears nothing new of the cluster; empty: all is well.
  std::function<std::string()> problem;
};

class ClusterWatch {
 public:
  // All must outlive it.
  ClusterWatch(client::RestClient& rest, Fleet& fleet, const Clock& clock, std::uint64_t seed,
               SchedulerWatch scheduler = {});
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void Start();
  // No row is changed after it returns.
  void Stop();

  // Brings the fleet up to now: changes that the scheduler has heard of are applied here. Any thread that may wait, but
  // those of loops.
  void CatchUp();

  // All nodes and pods have been listed once. Any thread.
  bool HasSynced() const;
  // Its own watches have ended. Any thread.
  bool TakesFromScheduler() const;
  // Why nothing new is heard of the cluster; empty: all is well. Any thread.
  std::string Problem() const;

 private:
  void MakeNodeInformer(client::RestClient& rest, std::uint64_t seed);
  void MakePodInformer(client::RestClient& rest, std::uint64_t seed);
  void MakeDeviceInformers(client::RestClient& rest, std::uint64_t seed);
  // With mutex_ held.
  bool HaveListed() const;
  void EndOwn();

  Fleet& fleet_;
  const Clock& clock_;
  const SchedulerWatch scheduler_;
  FleetInbox inbox_;
  FleetDevices devices_;
  std::unique_ptr<client::Informer<api::ResourceSlice>> slices_;
  std::unique_ptr<client::Informer<api::ResourceClaim>> claims_;
  std::atomic<bool> has_pods_{false};  // what comes from now on is news
  mutable std::mutex mutex_;           // guards what follows
  bool has_started_ = false;
  bool takes_from_scheduler_ = false;
  std::unique_ptr<client::Informer<api::Node>> nodes_;  // null: it has ended
  std::unique_ptr<client::Informer<api::Pod>> pods_;
};

}  // namespace berth::page
