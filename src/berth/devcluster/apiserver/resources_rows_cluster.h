// SPDX-License-Identifier: Apache-2.0
// Rows of Jobs, CronJobs, autoscalers, RBAC's and networking's kinds. Functions of their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/apiserver/resources_rows.h"

namespace berth::apiserver::internal {

std::vector<KindPrinting> ClusterPrintings();

}  // namespace berth::apiserver::internal
