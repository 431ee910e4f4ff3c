// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/evaluation_cycle.h"

#include <utility>

#include "berth/base/reset_to_default.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::NodeIndex;

void EvaluationCycle::Begin(EvaluationRequest asked) {
  request = std::move(asked);
  sampled = metrics != nullptr && IsSampled(request.seed) ? metrics : nullptr;
  do_nominations_matter = request.nominated != nullptr && request.nominated->MatterTo(*request.pod);
  plan.Clear();
  state = framework::CycleState();
  if (work != nullptr) {
    work->Begin();
    state.Write(framework::WorkBudget::kKey, work);
  }
  refused_nominated_row = framework::kNoNode;
  kept = nullptr;
  is_first_sight = is_kept_current = are_scores_kept = false;
  chooser = nullptr;
  absent_status = framework::Status();
  ResetToDefault(outcome);
  outcome.node_count = request.nodes->node_count();
  post_filter_message.clear();
}

void EvaluationCycle::End() {
  request.pod = nullptr;
  state = framework::CycleState();
  kept = nullptr;
  chooser = nullptr;
}

std::span<const framework::PodInfoPtr> EvaluationCycle::PodsNominatedFor(NodeIndex row) const {
  return request.nominated == nullptr ? std::span<const framework::PodInfoPtr>() : request.nominated->PodsOn(row);
}

bool EvaluationCycle::Fail(std::string error) {
  outcome.result = Result::kError;
  outcome.error = std::move(error);
  return false;
}

std::optional<std::span<const NodeIndex>> EvaluationCycle::ChangedSince(std::uint64_t version,
                                                                        std::uint64_t nominated_version,
                                                                        std::vector<NodeIndex>& scratch) const {
  const auto changed = nodes().ChangedSince(version);
  if (!changed || !kept->respects_nominations || nominated_version == request.nominated->version()) return changed;
  const auto renominated = request.nominated->ChangedSince(nominated_version);
  if (!renominated) return std::nullopt;
  scratch.assign(changed->begin(), changed->end());
  scratch.insert(scratch.end(), renominated->begin(), renominated->end());
  std::erase_if(scratch, [this](NodeIndex row) { return row >= nodes().row_count(); });
  return scratch;
}

}  // namespace berth::runtime
