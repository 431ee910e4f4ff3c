// SPDX-License-Identifier: Apache-2.0
// The workloads by name: those above the line in Workloads() are bench/cluster's; the others exist here only. Any
// thread.
#pragma once

#include <vector>

#include "workloads.h"

namespace berth::bench {

const std::vector<WorkloadEntry>& Workloads();

}  // namespace berth::bench
