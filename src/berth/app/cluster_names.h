// SPDX-License-Identifier: Apache-2.0
// Names of a cluster's objects, for completion. Blocks for kNamesTimeout at most.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "berth/app/completion.h"
#include "berth/base/time.h"

namespace berth::app {

// Somebody waits at a prompt.
inline constexpr Duration kNamesTimeout = std::chrono::seconds(1);
inline constexpr int kNamesMax = 500;

// Of the cluster and namespace that the typed flags mean; none where it cannot be read in time, or a snapshot is meant.
// `hint`: see NamesOf.
std::vector<std::string> NamesInCluster(std::string_view hint, const TypedFlags& typed);

}  // namespace berth::app
