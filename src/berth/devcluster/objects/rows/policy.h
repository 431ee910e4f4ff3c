// SPDX-License-Identifier: Apache-2.0
// Rows of what says how a cluster is to be used: admission, quotas, classes, certificates, flow control. Functions of
// their arguments: any thread.
#pragma once

#include <vector>

#include "berth/devcluster/objects/rows/rows.h"

namespace berth::objects::internal {

std::vector<KindPrinting> PolicyPrintings();

}  // namespace berth::objects::internal
