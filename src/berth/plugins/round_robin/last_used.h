// Which node's turn was the last, as the pods tell that are on the nodes. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "berth/framework/node_table.h"
#include "berth/plugins/round_robin/name_ring.h"

namespace berth::plugins {

// counts[i] pods were placed on the node at position i, in turns of which nobody knows where they began: the position
// where they ended. That is where nodes that were used once more than others are followed by these; when all that were
// used were used equally often, before the longest stretch that was not. nullopt: no pods.
std::optional<std::size_t> EndOfTurns(std::span<const std::uint32_t> counts);

// The position of the node that the profile of that name used last, going by its newest pods: creation times are whole
// seconds, so all pods of the newest second count. Pods of DaemonSets and of nodes themselves do not: they are for one
// node. nullopt: there are none.
std::optional<std::size_t> LastUsed(const NameRing& ring, const framework::NodeTable& nodes,
                                    std::string_view scheduler_name);

}  // namespace berth::plugins
