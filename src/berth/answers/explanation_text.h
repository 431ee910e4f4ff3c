// SPDX-License-Identifier: Apache-2.0
// An Explanation written for people; for programs it is explanation_json.h. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/shell/cli/table.h"
#include "berth/whatif/explanation.h"

namespace berth::answers {

struct ExplanationStyle {
  cli::Table::Style table;
  bool with_nodes = false;  // what every node says
  bool is_wide = false;     // scores as raw, normalised and weighted; no list is cut
};

// Lines without newlines, of at most 100 columns.
std::vector<std::string> ExplanationLines(const whatif::Explanation& explanation, const ExplanationStyle& style);

}  // namespace berth::answers
