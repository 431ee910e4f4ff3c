// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/plugin.h"

#include "berth/framework/node_table.h"

namespace berth::framework {

Cycle::Cycle(const NodeTable& all_nodes, CycleState& of_pod, std::uint64_t seed_of_cycle, Time time_of_day)
    : nodes(all_nodes), table(all_nodes), state(of_pod), seed(seed_of_cycle), wall_now(time_of_day) {}

}  // namespace berth::framework
