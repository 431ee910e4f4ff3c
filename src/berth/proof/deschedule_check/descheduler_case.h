// SPDX-License-Identifier: Apache-2.0
// Cases of the descheduler's oracle (tests/differential/descheduler, whose README describes them): berth's objections
// beside what the descheduler would evict. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/rebalance/policy.h"
#include "berth/whatif/cluster_state.h"

namespace berth::conformance {

struct DeschedulerEviction {
  std::string strategy;
  std::string pod;  // "namespace/name"
  auto operator<=>(const DeschedulerEviction&) const = default;
};

struct DeschedulerCase {
  std::string name;
  Time now{};
  rebalance::Policy policy;
  whatif::ClusterState state;
  std::vector<std::vector<DeschedulerEviction>> answers;
  bool is_ordered = false;  // else each answer is sorted
};

// `line` is the JSON of one case.
Expected<DeschedulerCase> ReadDeschedulerCase(std::string_view line);

// What berth objects to, in the form of an answer.
Expected<std::vector<DeschedulerEviction>> AnswerOf(const DeschedulerCase& test);

// Empty if berth's answer is one of the descheduler's. Otherwise both answers, in a few lines.
Expected<std::string> DifferenceOf(const DeschedulerCase& test);

}  // namespace berth::conformance
