// SPDX-License-Identifier: Apache-2.0
// Reservation: what Reserve decided for a pod's claims on its node, assumed in memory and written by PreBind. Within
// turns only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/plugins/volume_binding/pod_volumes.h"

namespace berth::plugins::volumes {

struct Reservation {
  // A volume that is bound to a claim.
  struct Binding {
    std::shared_ptr<const api::PersistentVolume> volume;  // with its claimRef
    std::shared_ptr<const api::PersistentVolumeClaim> claim;
    bool is_written = false;
    std::string written_version;  // metadata.resourceVersion of the answer
  };
  // A claim for which a volume is to be made.
  struct Provision {
    std::shared_ptr<const api::PersistentVolumeClaim> claim;  // with its selected node
    bool is_written = false;
    std::string written_version;
  };

  std::shared_ptr<const api::Node> node;
  std::vector<Binding> bindings;
  std::vector<Provision> provisions;
};

// Assumes what `decision` holds for the pod on the node. When one of the assumptions is refused, none stays.
framework::Status Assume(const Sources& sources, const PodVolumes& pod, const NodeDecision& decision,
                         Reservation& reservation);

// Gives up what has not been written. What has been stays assumed until the store shows it.
void Revert(const Sources& sources, const Reservation& reservation);

}  // namespace berth::plugins::volumes
