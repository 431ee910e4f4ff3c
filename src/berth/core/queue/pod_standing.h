// SPDX-License-Identifier: Apache-2.0
// Where a pod stands in the queue, as dumps and explanations show it. Internal to the queue.
#pragma once

#include "berth/core/queue/entry.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

// Of a member of a group: where its group is. `rejectors` are the queue's.
PodStanding StandingOf(const Entry& pod, const Rejectors& rejectors);

// Of the pods in `range`.
std::vector<PodStanding> StandingsOf(const EntryIndex<ByUid>& pods, const PodRange& range, const Rejectors& rejectors);

}  // namespace berth::queue
