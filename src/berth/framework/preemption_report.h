// SPDX-License-Identifier: Apache-2.0
// PreemptionReport: what a preemption found, for `berth explain` and for tests against kube-scheduler. A value,
// immutable once it is in a PostFilterResult; any thread may read it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "berth/framework/node_list.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

struct PreemptionReport {
  // A node on which the pod fits without the victims.
  struct Candidate {
    NodeIndex row = kNoNode;
    std::vector<PodInfoPtr> victims;  // most important first
    std::int64_t pdb_violations = 0;
  };
  NodeIndex chosen = kNoNode;
  // All candidates with Cycle::with_detail; otherwise at least the chosen one.
  std::vector<Candidate> candidates;
  std::vector<NodeIndex> acceptable;  // candidates as good as the chosen one by all criteria, ascending
  std::vector<PodInfoPtr> cleared_nominations;
  // If no candidate was chosen: plugins whose filters refuse the pod on nodes without its victims. The pod waits for
  // their events as well.
  std::set<std::string> refused_by;
  // Preemption was not tried, because victims on the pod's nominated node have not left yet.
  bool waits_for_victims = false;
};

}  // namespace berth::framework
