// SPDX-License-Identifier: Apache-2.0
// Shapes of manifests: of Pods, and of the pod templates of Deployments, StatefulSets, Jobs ... Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/framework/objects.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"

namespace berth::whatif {

struct ManifestShapes {
  std::vector<Shape> shapes;  // in the order of the documents
  // What the manifests have beside pods: claims, classes, volumes, ... They are in the cluster before any pod is.
  std::vector<framework::AnyObject> objects;
  std::vector<std::string> notes;  // what a reader of the answer should know, one line each
};

// The pods are made as they would be in the cluster of `state` at `now`. An error names the manifest and the field, or
// says that there is no pod in any of them.
Expected<ManifestShapes> ShapesOfManifests(const Manifests& manifests, const ClusterState& state, Time now);

}  // namespace berth::whatif
