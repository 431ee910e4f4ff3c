// SPDX-License-Identifier: Apache-2.0
// Rows of what says how a cluster is to be used: admission, quotas, classes, certificates, flow control. Functions of
// their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/apiserver/resources_rows.h"

namespace berth::apiserver::internal {

std::vector<KindPrinting> PolicyPrintings();

}  // namespace berth::apiserver::internal
