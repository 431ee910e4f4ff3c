// SPDX-License-Identifier: Apache-2.0
// Why the chosen node and no other: in words, for those who ask for detail (runtime::EvaluatorOptions::with_detail).
// Without detail there is nothing to compare, and it costs nothing. Within turns only.
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

// "NodeResourcesFit scores 95 here, 91 on node-3": the plugin whose weighted scores differ most between the chosen node
// and the best of those that are worse. "equal to 2 others, chosen by chance" where several are best, and then what
// they are ahead by. Empty without detail, and for a node that alone is feasible.
std::string ChoiceReason(const runtime::ProfilePlugins& plugins, const framework::NodeTable& nodes,
                         const runtime::Outcome& outcome);

}  // namespace berth::scheduler
