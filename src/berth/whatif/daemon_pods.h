// SPDX-License-Identifier: Apache-2.0
// Pods of DaemonSets, as upstream's daemonset controller makes them: one for each node that it may run on, pinned there
// by node affinity. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "berth/api/node.h"
#include "berth/api/pod.h"

namespace berth::whatif {

// Whether the pod of a DaemonSet (not pinned yet, with its tolerations) is wanted on the node. Upstream:
// daemon.NodeShouldRunDaemonPod.
bool RunsDaemonPod(const api::Pod& pod, const api::Node& node);

void PinDaemonPod(const std::string& node_name, api::Pod& pod);
// The node that a pod is pinned to; nullopt: to none.
std::optional<std::string> PinnedNode(const api::Pod& pod);

}  // namespace berth::whatif
