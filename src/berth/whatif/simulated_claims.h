// SPDX-License-Identifier: Apache-2.0
// What controllers do about the claims of pods that a simulation takes away: devices are deallocated, and volumes that
// were only bound in the simulation are free again. One thread's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/storage.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::whatif {

class SimulatedClaims {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;

  // `cluster` has been loaded and has placed no pod; it outlives this object.
  explicit SimulatedClaims(OfflineCluster& cluster);

  // What the resource claim controller does once the pod is gone: claims that nobody else holds lose their devices and
  // may be allocated again. Claims that were made for the pod go to `anew`, the pod that is created in its place; null:
  // there is none, and they are deleted.
  void Release(const api::Pod& pod, const api::Pod* anew);

  // Claims that were bound for `pending`, which lost their places, are as they were in the cluster: without a volume.
  // A claim that one of `placed` uses keeps its volume.
  void UnbindVolumes(const std::vector<PodPtr>& pending, const std::vector<PodPtr>& placed);

 private:
  OfflineCluster& cluster_;
  // As they were in the loaded cluster: claims without a volume, by key, and volumes without a claim, by name.
  std::map<std::string, std::shared_ptr<const api::PersistentVolumeClaim>> waiting_claims_;
  std::map<std::string, std::shared_ptr<const api::PersistentVolume>> free_volumes_;
};

}  // namespace berth::whatif
