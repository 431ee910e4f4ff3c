// SPDX-License-Identifier: Apache-2.0
// Runs berth's own framework on a case and compares every verdict, score, total, message, best set and binding with
// what the real kube-scheduler answered.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/plugins/registry.h"
#include "berth/proof/conformance/case.h"

namespace berth::conformance {

// One line for each difference, pod by pod; empty: the case passes. Deterministic. `registry` is where plugins come
// from.
std::vector<std::string> RunCase(const Case& test, runtime::Form form,
                                 std::span<const config::KnownPlugin> registry = plugins::InTreePlugins());

}  // namespace berth::conformance
