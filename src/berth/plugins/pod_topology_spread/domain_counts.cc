// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/domain_counts.h"

#include <algorithm>

namespace berth::plugins {

using framework::NodeIndex;

void DomainCounts::Add(NodeIndex row, std::int32_t difference) {
  // Where rows moved, only counting anew helps.
  if (moves_ != layout_->moves) return;
  const DomainId domain = layout_->DomainOf(row);
  if (domain == 0 || difference == 0) return;
  const std::int32_t after = counts_.Add(domain, difference);
  const std::int32_t before = after - difference;
  if (before != 0) domains_at_.Add(static_cast<SparseCounts::Index>(before), -1);
  if (after != 0) domains_at_.Add(static_cast<SparseCounts::Index>(after), 1);
}

void DomainCounts::Refresh(const SparseCounts& by_row) {
  if (moves_ == layout_->moves) return;
  moves_ = layout_->moves;
  const std::size_t range = layout_->rows_of.size();
  counts_.Clear(std::min(by_row.size(), range), range);
  domains_at_.Clear();
  by_row.ForEach([this](NodeIndex row, std::int32_t pods) {
    const DomainId domain = layout_->DomainOf(row);
    if (domain != 0) counts_.Add(domain, pods);
  });
  counts_.ForEach([this](DomainId, std::int32_t pods) { domains_at_.Add(static_cast<SparseCounts::Index>(pods), 1); });
}

std::int32_t DomainCounts::MinimumWithout(std::span<const DomainId> left_out) const {
  const auto left_out_with = [&](std::int32_t count) {
    return static_cast<std::int32_t>(
        std::count_if(left_out.begin(), left_out.end(), [&](DomainId domain) { return Count(domain) == count; }));
  };
  if (size() - static_cast<std::int32_t>(counts_.size()) > left_out_with(0)) return 0;
  std::int32_t minimum = kNoMinimum;
  domains_at_.ForEachWhile([&](SparseCounts::Index count, std::int32_t domains) {
    const auto pods = static_cast<std::int32_t>(count);
    if (domains == left_out_with(pods)) return true;
    minimum = pods;
    return false;
  });
  return minimum;
}

}  // namespace berth::plugins
