// SPDX-License-Identifier: Apache-2.0
// Runs the scheduler's core on a case with pod groups, cycle by cycle, with an API server in memory that takes every
// write at once, and compares what each cycle wrote with what the real kube-scheduler wrote.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/core/config/known_plugins.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/proof/conformance/case.h"

namespace berth::conformance {

// One line for each difference. As the oracle: the core is asked as long as something is in activeQ, no time passes,
// and victims vanish after the cycle, whose group or pod is then activated. Both schedulers choose at random among
// equally good nodes and domains, and the answers have only the choice: the core is asked with one seed after the other
// until it makes the same ones. The differences are those of the first seed.
std::vector<std::string> RunGroupCase(const Case& test, runtime::Form form,
                                      std::span<const config::KnownPlugin> registry);

}  // namespace berth::conformance
