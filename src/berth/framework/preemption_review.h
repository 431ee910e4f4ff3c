// SPDX-License-Identifier: Apache-2.0
// PreemptionReview: lets extenders with a `preemptVerb` change whom a preemption evicts. PostFilter then runs twice.
// First it writes its candidates here, evicts nobody and returns kWait. After the extenders' answers it chooses among
// the candidates that they left. Within turns only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/framework/preemption_report.h"

namespace berth::framework {

struct PreemptionReview {
  bool is_answered = false;
  // For a question: PostFilter reports all candidates and its choice without extenders, and evicts nobody.
  bool is_dry_run = false;
  // PostFilter's candidates; once answered, those that the extenders left, with the victims that they named. Each has
  // at least one victim.
  std::vector<PreemptionReport::Candidate> candidates;
  std::size_t counted = 0;  // PostFilter plugins that metrics counted in the first run, and not again
  std::string error;        // once answered, not empty: an extender that is not ignorable has failed
};

}  // namespace berth::framework
