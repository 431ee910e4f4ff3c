// SPDX-License-Identifier: Apache-2.0
// Workloads: who makes the replacements of pods, by following owners up to the top controller that is known, whatever
// its kind. A value.
#pragma once

#include <string>

#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

class Workloads {
 public:
  Workloads() = default;
  explicit Workloads(const whatif::ClusterState& state);

  // "default/Deployment web", "default/Rollout.argoproj.io web"; empty: nobody. A ReplicaSet whose own owner is not
  // known is taken for one of those that differ in the hash of the template alone.
  std::string Of(const api::Pod& pod) const;

 private:
  StringHashMap<api::OwnerReference> owner_of_;  // by uid: of sets of pods that have a controller themselves
};

}  // namespace berth::rebalance
