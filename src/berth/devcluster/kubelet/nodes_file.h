// SPDX-License-Identifier: Apache-2.0
// The file of --nodes-file: which simulated nodes there are, and what each has. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::kubelet {

// The text as YAML or JSON:
//
//   nodes:
//   - name: gpu              # gpu-1 and gpu-2; without a count, a node of this very name
//     count: 2
//     cpu: 32                # and memory, pods: as KubeletOptions has them when left out
//     memory: 256Gi
//     resources: {nvidia.com/gpu: 8}
//     zones: [zone-1, zone-2]  # nodes take turns
//     price: 12.5            # the annotation berth.dev/price
//     labels: {tier: gpu}    # and annotations, taints as a Node has them
//
// An error is one line: where, what is there, and what would be right.
Expected<std::vector<NodeShape>> ParseNodesFile(std::string_view text);

}  // namespace berth::kubelet
