// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/shrink.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace berth::program_sim {

Plan Keep(const Plan& plan, const std::vector<std::size_t>& positions) {
  Plan kept = plan;
  kept.items.clear();
  for (const std::size_t position : positions) {
    if (position < plan.items.size()) kept.items.push_back(plan.items[position]);
  }
  return kept;
}

std::vector<std::size_t> Shrink(const Plan& plan, const std::function<bool(const Plan& plan)>& fails, int runs_max) {
  std::vector<std::size_t> kept(plan.items.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  int runs = 0;
  for (std::size_t part = (kept.size() + 1) / 2; part > 0;) {
    bool was_smaller = false;
    for (std::size_t begin = 0; begin < kept.size() && runs < runs_max;) {
      const auto from = kept.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto to = kept.begin() + static_cast<std::ptrdiff_t>(std::min(kept.size(), begin + part));
      std::vector<std::size_t> without(kept.begin(), from);
      without.insert(without.end(), to, kept.end());
      ++runs;
      if (fails(Keep(plan, without))) {
        kept = std::move(without);
        was_smaller = true;
      } else {
        begin += part;
      }
    }
    if (runs >= runs_max) break;
    // With single items until none can go any more.
    if (part > 1) {
      part = (part + 1) / 2;
    } else if (!was_smaller) {
      break;
    }
  }
  return kept;
}

std::string PositionsText(const std::vector<std::size_t>& positions) {
  std::string text;
  for (const std::size_t position : positions) text += (text.empty() ? "" : ",") + std::to_string(position);
  return text;
}

std::vector<std::size_t> ParsePositions(std::string_view text) {
  std::vector<std::size_t> positions;
  while (!text.empty()) {
    std::size_t position = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), position);
    if (problem != std::errc()) return {};
    positions.push_back(position);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') return {};
    text.remove_prefix(1);
  }
  return positions;
}

}  // namespace berth::program_sim
