// SPDX-License-Identifier: Apache-2.0
// ExtenderPreemption: the candidates of one preemption, as the extenders with a `preemptVerb` narrow them down
// (upstream: Evaluator.callExtenders, HTTPExtender.ProcessPreemption). Between requests it holds names and uids,
// because the cluster changes meanwhile. Within turns only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/core/config/extenders.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/node_table.h"
#include "berth/framework/preemption_review.h"

namespace berth::scheduler {

class ExtenderPreemption {
 public:
  // Whether an extender with a `preemptVerb` manages resources of this pod.
  static bool IsWantedFor(const framework::PodInfo& pod, std::span<const config::Extender> extenders);

  // The review that PostFilter reads and writes.
  framework::PreemptionReview& review() { return review_; }

  // Turns the candidates that PostFilter left in review() into the request to the first extender.
  void Begin(const framework::NodeTable& nodes);
  // The candidates for the next extender; empty: no request is needed.
  const std::vector<VictimsOnNode>& candidates() const { return candidates_; }
  // The response replaces the candidates; the failure of an ignorable extender is skipped. Returns false when an
  // extender that is not ignorable has failed.
  bool Take(const config::Extender& extender, Expected<ExtenderAnswer>&& answer, const framework::NodeTable& nodes);
  // Writes the candidates that still exist into review(), or why there are none, for PostFilter's second run.
  void End(const framework::NodeTable& nodes);

 private:
  Expected<void> Check(const config::Extender& extender, std::vector<VictimsOnNode>& victims,
                       const framework::NodeTable& nodes) const;
  framework::PodInfoPtr FindVictim(const framework::NodeTable& nodes, framework::NodeIndex row,
                                   const std::string& uid) const;

  framework::PreemptionReview review_;
  std::vector<VictimsOnNode> candidates_;
  // The request to the first extender: by node, the uids of the victims and the nodes that they run on.
  StringHashMap<StringHashMap<std::string>> offered_;
};

}  // namespace berth::scheduler
