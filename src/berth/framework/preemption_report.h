// SPDX-License-Identifier: Apache-2.0
// PreemptionReport: what a PostFilter plugin that preempts has found, for `berth explain` and for tests against
// kube-scheduler. A value, immutable once it is in a PostFilterResult; any thread may read it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "berth/framework/node_list.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

struct PreemptionReport {
  // A node on which the pod fits once the victims are gone.
  struct Candidate {
    NodeIndex row = kNoNode;
    std::vector<PodInfoPtr> victims;  // most important first
    std::int64_t pdb_violations = 0;
  };
  NodeIndex chosen = kNoNode;
  // With Cycle::with_detail all of them, else the chosen one at least.
  std::vector<Candidate> candidates;
  std::vector<NodeIndex> acceptable;  // those that no criterion tells apart from the chosen one, ascending
  std::vector<PodInfoPtr> cleared_nominations;
  // Without a chosen one: whose filters refuse the pod on nodes that its victims have left. It waits for their events,
  // too.
  std::set<std::string> refused_by;
  // Nothing was tried: on the pod's nominated node there are victims that have not left yet.
  bool waits_for_victims = false;
};

}  // namespace berth::framework
