// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/own_args.h"

#include <algorithm>

namespace berth::rebalance {

std::string CustomMetricArgs::FullQuery() const {
  if (lasts <= Duration{0}) return query;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lasts).count();
  // Ten samples over the time, but no denser than metrics are scraped.
  const auto step = std::clamp<std::int64_t>(seconds / 10, 15, 300);
  return std::string(above ? "min" : "max") + "_over_time((" + query + ")[" + std::to_string(seconds) +
         "s:" + std::to_string(step) + "s])";
}

}  // namespace berth::rebalance
