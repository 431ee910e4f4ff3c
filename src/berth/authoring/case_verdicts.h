// SPDX-License-Identifier: Apache-2.0
// What plugins say of a pod and each node, asked in every way that berth may take.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/authoring/case_cluster.h"

namespace berth::authoring {

struct Verdicts {
  struct Difference {
    std::string how;   // "in the column form"
    std::string said;  // the first thing that is other then
  };

  std::string error;                                                   // of the whole cycle; empty: none
  std::map<std::string, std::string> filter;                           // by node: kPass, or the reason
  std::map<std::pair<std::string, std::string>, std::int64_t> scores;  // by plugin and node
  // Where a plugin says something else when it is asked in another way.
  std::vector<Difference> differences;
};

// Of a pod that waits in the cluster. The plain form, node by node, is what a plugin means; what it says of many nodes
// at once, and what is kept of its answers because it says that they rest on the node alone, has to be the same.
Verdicts VerdictsOn(const api::Pod& pod, const CaseCluster& cluster);

}  // namespace berth::authoring
