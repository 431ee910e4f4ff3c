// SPDX-License-Identifier: Apache-2.0
// The claims of a pod that stand in its way, and what about them does: no change of the pod's requests or of a label
// helps where a claim does not exist, or is bound to a volume that few nodes can mount. Pure function; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/framework/release.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

inline constexpr std::size_t kBlockingObjectsMax = 20;

// A sentence for each such claim, in the order of the pod's claims; kBlockingObjectsMax at most. Empty for a pod whose
// claims are as they should be, and which all nodes can reach.
std::vector<std::string> BlockingObjects(const ClusterState& state, const api::Pod& pod,
                                         const framework::Release& release = {});

}  // namespace berth::whatif
