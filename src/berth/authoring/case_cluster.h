// SPDX-License-Identifier: Apache-2.0
// The cluster of a case of `berth plugin test` or of testing::SmallCluster.
#pragma once

#include <memory>

#include "berth/authoring/plugin_case.h"
#include "berth/core/config/known_plugins.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::authoring {

using CaseCluster = whatif::OfflineCluster;

// Makes the cluster of the case, with its pods on their nodes and the pending ones in the queue. Fails when a plugin
// cannot be made.
Expected<std::unique_ptr<CaseCluster>> MakeCaseCluster(const PluginCase& test, config::KnownPlugins plugins);

}  // namespace berth::authoring
