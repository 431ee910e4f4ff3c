// SPDX-License-Identifier: Apache-2.0
// How long a pod has been where it is. Private to this folder.
#pragma once

#include "berth/base/time.h"
#include "berth/rebalance/cluster_view.h"

namespace berth::rebalance {

// Whether the pod came to its node less than `min_stay` ago, or was put there by the plan itself.
inline bool HasJustCome(const PodView& pod, Duration min_stay, Time now) {
  if (pod.is_moved) return true;
  const auto& began = pod.pod->status.start_time ? pod.pod->status.start_time : pod.pod->metadata.creation_time;
  return began && now - *began < min_stay;
}

}  // namespace berth::rebalance
