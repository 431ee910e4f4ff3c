// SPDX-License-Identifier: Apache-2.0
// Rows of the kinds that run pods. Functions of their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/rows/rows.h"

namespace berth::objects::internal {

std::vector<KindPrinting> WorkloadPrintings();

}  // namespace berth::objects::internal
