// SPDX-License-Identifier: Apache-2.0
// A ShadowReport as tables for a terminal. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/shadow/shadow_report.h"
#include "berth/shell/cli/table.h"

namespace berth::shadow {

// What tells one scheduler's decision from the other's, in one line of text.
std::string WhyText(const Comparison& comparison);

// `is_wide`: all differences that are kept; otherwise the newest few.
std::vector<std::string> ShadowLines(const ShadowReport& report, bool is_wide, const cli::Table::Style& style);

}  // namespace berth::shadow
