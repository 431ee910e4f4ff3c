// SPDX-License-Identifier: Apache-2.0
// Rows of Jobs, CronJobs, autoscalers, RBAC's and networking's kinds. Functions of their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/objects/rows/rows.h"

namespace berth::objects::internal {

std::vector<KindPrinting> ClusterPrintings();

}  // namespace berth::objects::internal
