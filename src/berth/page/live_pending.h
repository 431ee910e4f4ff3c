// SPDX-License-Identifier: Apache-2.0
// The pods that wait as a scheduler in this process has them: from what it decided, and from where its queue has each.
// A pure function.
#pragma once

#include <string>
#include <vector>

#include "berth/page/core_look.h"
#include "berth/page/decision_feed.h"
#include "berth/page/fleet.h"
#include "berth/page/pending_view.h"

namespace berth::page {

// The result refers to pods of `fleet`. `standings` null: the queue was not asked.
std::vector<WaitingPod> WaitingPods(const FleetCopy& fleet, const StringHashMap<CoreLook::Standing>* standings,
                                    const DecisionFeed& decisions, const std::vector<std::string>& scheduler_names);

}  // namespace berth::page
