// SPDX-License-Identifier: Apache-2.0
// PreemptionReview: extenders with a `preemptVerb` have their say about whom a preemption evicts. PostFilter is run
// twice then: first it leaves its candidates here, evicts nobody and returns kWait; when the extenders have answered it
// chooses among those that they left. Within turns only.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/preemption_report.h"

namespace berth::framework {

struct PreemptionReview {
  bool is_answered = false;
  // A question: PostFilter reports all candidates and its choice as if no extender had a say, and evicts nobody.
  bool is_dry_run = false;
  // What PostFilter found; once answered, what the extenders left, with the victims that they named. Each has a victim.
  std::vector<PreemptionReport::Candidate> candidates;
  std::string error;  // once answered, not empty: an extender that must not be ignored has failed
};

}  // namespace berth::framework
