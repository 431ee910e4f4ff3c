// SPDX-License-Identifier: Apache-2.0
// Builds PodStanding values for dumps and explanations. Internal to the queue.
#pragma once

#include "berth/core/queue/entry.h"
#include "berth/core/queue/rejectors.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

// A member of a group has the place of its group. `rejectors` are the queue's.
PodStanding StandingOf(const Entry& pod, const Rejectors& rejectors);

std::vector<PodStanding> StandingsOf(const EntryIndex<ByUid>& pods, const PodRange& range, const Rejectors& rejectors);

}  // namespace berth::queue
