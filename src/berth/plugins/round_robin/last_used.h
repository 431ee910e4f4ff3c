// SPDX-License-Identifier: Apache-2.0
// Finds the node that had its turn last by the pods on the nodes, so that RoundRobin goes on after a restart. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "berth/framework/node_table.h"
#include "berth/plugins/round_robin/name_ring.h"

namespace berth::plugins {

// The position where the turns ended. counts[i] pods were bound to the node at position i, and nobody knows where the
// turns began. The end is where a node that was used once more than its successor is followed by that one; when all
// used nodes were used equally often, it is before the longest stretch of unused ones. nullopt: no pods.
std::optional<std::size_t> EndOfTurns(std::span<const std::uint32_t> counts);

// The position of the node that the profile of that name used last, going by its newest pods: creation times are whole
// seconds, so all pods of the newest second count. Pods of DaemonSets and of nodes themselves do not: they are for one
// node. nullopt: there are none.
std::optional<std::size_t> LastUsed(const NameRing& ring, const framework::NodeTable& nodes,
                                    std::string_view scheduler_name);

}  // namespace berth::plugins
