// SPDX-License-Identifier: Apache-2.0
// Whether a pod would fit on a node, as the descheduler's NodeFit judges it: by less than a scheduler looks at, and in
// part by other rules. It decides what a strategy objects to, never where a pod goes. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "berth/framework/resource.h"
#include "berth/rebalance/cluster_view.h"

namespace berth::rebalance {

bool FitsNode(const ClusterView& view, const PodView& pod, NodeNumber node);
bool FitsAnyNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes);
// Whether the pod fits on any node but its own.
bool FitsAnyOtherNode(const ClusterView& view, const PodView& pod, std::span<const NodeNumber> nodes);

// What the node lacks so that the pod would have room beside all that is there, by requests alone; `pods` is how many
// are too many. All of it is 0 where nothing is lacking.
framework::Resource LackOf(const PodView& pod, const NodeView& node);

// The node is not cordoned, has no taint that the pod does not tolerate, and its labels are those that the pod wants.
bool IsOpenTo(const PodView& pod, const api::Node& node);

// Namespaces of a required term of pod anti-affinity: its own list or, where that is empty, the pod's. Unlike the
// scheduler, the descheduler does not know namespaceSelector.
bool IsInTerm(const api::PodAffinityTerm& term, const api::Pod& of, const api::Pod& other);

// The sum of the weights of the preferred terms of node affinity that the node matches.
std::int32_t PreferredWeight(const PodView& pod, const NodeView& node);

}  // namespace berth::rebalance
