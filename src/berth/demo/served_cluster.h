// SPDX-License-Identifier: Apache-2.0
// What a demo does beside its own show when it leaves its cluster to kubectl (--serve).
#pragma once

#include <string>
#include <vector>

#include "berth/core/config/types.h"

namespace berth::demo {

// Pods that name no scheduler, as `kubectl create deployment` makes them, are placed as those of the first profile
// are: under the name default-scheduler, unless a profile has that.
void TakeDefaultSchedulerToo(config::KubeSchedulerConfiguration& configuration);

// What to tell the user; `deployment` is one of the demo's, `kubeconfig` the file that was written, if any.
std::vector<std::string> ServedLines(const std::string& address, const std::string& deployment, int replicas,
                                     const std::string& kubeconfig);

}  // namespace berth::demo
