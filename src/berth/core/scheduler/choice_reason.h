// SPDX-License-Identifier: Apache-2.0
// Explains why a node was chosen, when detail is asked for (runtime::EvaluatorOptions::with_detail). Without detail it
// returns at once. Within turns only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/core/runtime/outcome.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/framework/node_table.h"

namespace berth::scheduler {

// The weight of a plugin's scores in the profile.
std::int64_t WeightOf(const runtime::ProfilePlugins& plugins, std::string_view plugin);

// "NodeResourcesFit scores 95 here, 91 on node-3": names the plugin whose weighted scores differ most between the
// chosen node and the best node with a lower total. Where several nodes have the highest total, the text begins with
// "equal to 2 others, chosen by chance". Empty without detail, and when only one node is feasible.
std::string ChoiceReason(const runtime::ProfilePlugins& plugins, const framework::NodeTable& nodes,
                         const runtime::Outcome& outcome);

}  // namespace berth::scheduler
