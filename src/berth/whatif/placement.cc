// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/placement.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "berth/core/runtime/evaluator.h"
#include "berth/framework/preemption_review.h"

namespace berth::whatif {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;
using Detail = scheduler::Overlay::Detail;

std::string ReasonsText(const PlacementRefusal& refusal) {
  if (refusal.reasons.empty()) return refusal.message;
  std::string text;
  for (const RefusalReason& reason : refusal.reasons)
    text.append(text.empty() ? "" : ", ").append(std::to_string(reason.node_count)).append(" ").append(reason.reason);
  return text;
}

api::Pod AsNew(api::Pod pod, const std::string& uid) {
  pod.metadata.uid = uid;
  pod.metadata.resource_version.clear();
  pod.metadata.creation_time.reset();
  pod.metadata.deletion_time.reset();
  pod.spec.node_name.clear();
  pod.status = {};
  pod.status.phase = api::PodPhase::kPending;
  return pod;
}

PodInfoPtr Another(const PodInfo& pod, std::string name) {
  auto other = std::make_shared<PodInfo>(pod);
  other->uid = name;
  other->name = std::move(name);
  return other;
}

std::string KeyOf(const api::Pod& pod) { return pod.metadata.namespace_name + "/" + pod.metadata.name; }

NodeIndex Placer::Place(const PodInfoPtr& pod) {
  reserve_status_ = {};
  const auto answer = overlay_.Evaluate(pod, Detail::kChoice, ++seed_);
  if (answer.outcome.result != runtime::Result::kFeasible) return framework::kNoNode;
  const NodeIndex row = answer.outcome.node;
  reserve_status_ = overlay_.Place(pod, row);
  return reserve_status_.IsSuccess() ? row : framework::kNoNode;
}

PlacementRefusal Placer::Explain(const PodInfoPtr& pod, bool with_preemption) {
  if (reserve_status_.IsSuccess()) return ExplainFilters(pod, with_preemption);
  PlacementRefusal refusal;
  refusal.message = reserve_status_.Message();
  refusal.reasons.push_back({refusal.message, std::string(reserve_status_.plugin()), 1});
  return refusal;
}

PlacementRefusal Placer::ExplainFilters(const PodInfoPtr& pod, bool with_preemption) {
  PlacementRefusal refusal;
  const auto answer = overlay_.Evaluate(pod, Detail::kChoice, seed_);
  if (answer.outcome.result == runtime::Result::kError) {
    refusal.message = answer.outcome.error;
    return refusal;
  }
  if (answer.outcome.result == runtime::Result::kRefused && with_preemption) {
    framework::PreemptionReview question{.is_dry_run = true};
    const framework::PostFilterResult result = answer.evaluator.RunPostFilter(&question);
    refusal.preemption_node = result.nominated_node_name;
    if (result.preemption && !refusal.preemption_node.empty()) {
      for (const auto& candidate : result.preemption->candidates) {
        if (candidate.row != result.preemption->chosen) continue;
        for (const PodInfoPtr& victim : candidate.victims) refusal.preemption_victims.push_back(victim->Key());
      }
    }
  }
  refusal.message = answer.evaluator.Message();
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const auto& [status, node_count] : answer.evaluator.RefusalCounts()) {
    for (const std::string& reason : status.reasons()) counts[{reason, std::string(status.plugin())}] += node_count;
  }
  for (auto& [what, node_count] : counts) refusal.reasons.push_back({what.first, what.second, node_count});
  std::ranges::stable_sort(refusal.reasons, std::greater<>(), &RefusalReason::node_count);
  return refusal;
}

}  // namespace berth::whatif
