// SPDX-License-Identifier: Apache-2.0
// Shapes of manifests: of Pods, and of the pod templates of Deployments, StatefulSets, Jobs ... Pure functions.
#pragma once

#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"

namespace berth::whatif {

// Filled in as they would be in the cluster of `state`. In the order of the documents; what has no pod template is
// passed over. An error names the manifest and the field, or says that there is no pod in any of them.
Expected<std::vector<Shape>> ShapesOfManifests(const Manifests& manifests, const ClusterState& state);

}  // namespace berth::whatif
