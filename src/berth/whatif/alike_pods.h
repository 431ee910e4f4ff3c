// SPDX-License-Identifier: Apache-2.0
// AlikeKey: pods with the same one get the same answer, so that one of them is asked about. Pure functions.
#pragma once

#include <string>
#include <utility>

#include "berth/framework/pod_info.h"

namespace berth::whatif {

// The class by its place in memory, which the caller keeps alive, and what else tells pods apart.
using AlikeKey = std::pair<const framework::PodClass*, std::string>;

// By class and PodGroup; a pod that has claims of its own is like no other.
AlikeKey AlikeKeyOf(const framework::PodInfo& pod);

}  // namespace berth::whatif
