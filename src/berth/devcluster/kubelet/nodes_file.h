// SPDX-License-Identifier: Apache-2.0
// The file of --nodes-file: which simulated nodes there are, and what each has. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
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

// One entry of such a list, for other files that describe nodes. The shape has no name and no zone.
struct NodeEntry {
  NodeShape shape;
  std::vector<std::string> zones;
};
// `path` is where it stands: "nodes[2]". `further_keys` are those that the caller reads beside those above.
Expected<NodeEntry> ReadNodeEntry(const codec::json::object& entry, const std::string& path,
                                  std::span<const std::string_view> further_keys);

}  // namespace berth::kubelet
