// SPDX-License-Identifier: Apache-2.0
// ExtenderPreemption: what extenders with a `preemptVerb` have left of the candidates of one preemption (upstream:
// Evaluator.callExtenders, HTTPExtender.ProcessPreemption). Between the questions the candidates are names and uids, as
// the cluster goes on meanwhile. Within turns only.
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
  // Whether some extender has a say about preemptions for such pods.
  static bool IsWantedFor(const framework::PodInfo& pod, std::span<const config::Extender> extenders);

  // For PostFilter.
  framework::PreemptionReview& review() { return review_; }

  // The candidates that PostFilter has left in review() become the question to the first extender.
  void Begin(const framework::NodeTable& nodes);
  // What the next extender is asked about; empty: nobody is left to ask about.
  const std::vector<VictimsOnNode>& candidates() const { return candidates_; }
  // An answer takes the place of the candidates, or is skipped where the extender is ignorable. False: an extender has
  // failed that is not.
  bool Take(const config::Extender& extender, Expected<ExtenderAnswer>&& answer, const framework::NodeTable& nodes);
  // Puts the candidates that are still there into review(), or why there are none: PostFilter's second run.
  void End(const framework::NodeTable& nodes);

 private:
  Expected<void> Check(const config::Extender& extender, std::vector<VictimsOnNode>& victims,
                       const framework::NodeTable& nodes) const;
  framework::PodInfoPtr FindVictim(const framework::NodeTable& nodes, framework::NodeIndex row,
                                   const std::string& uid) const;

  framework::PreemptionReview review_;
  std::vector<VictimsOnNode> candidates_;
  // What the first extender was asked about: by node, the uids of victims and the nodes that they run on.
  StringHashMap<StringHashMap<std::string>> offered_;
};

}  // namespace berth::scheduler
