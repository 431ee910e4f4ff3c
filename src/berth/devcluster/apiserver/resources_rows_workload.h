// SPDX-License-Identifier: Apache-2.0
// Rows of the kinds that run pods. Functions of their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resources_rows.h"

namespace berth::apiserver::internal {

std::vector<KindPrinting> WorkloadPrintings();

}  // namespace berth::apiserver::internal
