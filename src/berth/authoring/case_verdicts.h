// SPDX-License-Identifier: Apache-2.0
// The verdicts of plugins about a pod and each node, obtained in every way in which berth calls plugins.
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
    std::string said;  // the first difference
  };

  std::string error;                                                   // of the cycle; empty: none
  std::map<std::string, std::string> filter;                           // by node: kPass, or the reason of the refusal
  std::map<std::pair<std::string, std::string>, std::int64_t> scores;  // by plugin and node
  // Differences between the plain form and other ways of calling a plugin.
  std::vector<Difference> differences;
};

// The pod must be waiting in the cluster. The plain form, node by node, is the specification. Answers for many nodes at
// once, and kept answers of a plugin that declares Dependency::kNode, must be equal to it.
Verdicts VerdictsOn(const api::Pod& pod, const CaseCluster& cluster);

}  // namespace berth::authoring
