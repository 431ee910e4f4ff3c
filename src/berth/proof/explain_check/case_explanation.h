// SPDX-License-Identifier: Apache-2.0
// Explanations of conformance cases: what `berth explain` says of a case's pod, and where that differs from what the
// real kube-scheduler answered. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/proof/conformance/case.h"
#include "berth/whatif/explanation.h"

namespace berth::conformance {

// Explains the pod of the first attempt in the cluster as it is before that attempt. The case must have an attempt.
Expected<whatif::Explanation> ExplainFirst(const Case& test);

// What an explanation is compared with.
enum class Compared : std::uint8_t {
  kAll,
  kNothing,      // no profile schedules the pod, and explain asks another one
  kFiltersOnly,  // a Reserve plugin refused the chosen node; explain does not ask those
};
Compared ComparedOf(const Attempt& want);

// One line for each difference: verdicts of all nodes, scores, totals, the best nodes, the message, preemption.
std::vector<std::string> Differences(const Case& test, const Attempt& want, const whatif::Explanation& got);

}  // namespace berth::conformance
