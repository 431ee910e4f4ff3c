// SPDX-License-Identifier: Apache-2.0
// A ShadowReport as tables for a terminal and as JSON for programs, and the words that its HTML page shares with them.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/shadow/shadow_report.h"
#include "berth/shell/cli/table.h"

namespace berth::answers {

// What a Match means, for people: "the same node".
std::string_view Describe(shadow::Match match);
// "99.95 %"; a share that is not whole is neither 100.00 % nor 0.00 %.
std::string PercentText(std::uint64_t part, std::uint64_t whole);
// "0.21 ms".
std::string MillisecondsText(Duration duration);
// Why pods were left out, and how many, in the order in which they are shown.
struct LeftOutLine {
  std::string_view key;  // as in JSON
  std::string_view text;
  std::uint64_t count = 0;
};
std::vector<LeftOutLine> LeftOutLines(const shadow::ShadowReport& report);
// What tells one scheduler's decision from the other's, in one line of text.
std::string WhyText(const shadow::Comparison& comparison);

// `is_wide`: all differences that are kept; otherwise the newest few.
std::vector<std::string> ShadowLines(const shadow::ShadowReport& report, bool is_wide, const cli::Table::Style& style);
codec::json::object ShadowJson(const shadow::ShadowReport& report);

}  // namespace berth::answers
