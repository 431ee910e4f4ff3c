// SPDX-License-Identifier: Apache-2.0
// DomainCounts: how many matching pods run in each domain of a layout, and the smallest of these numbers. Kept by
// differences; domains without pods cost nothing. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "berth/framework/node_table.h"
#include "berth/plugins/pod_topology_spread/sparse_counts.h"
#include "berth/plugins/pod_topology_spread/spread_layout.h"

namespace berth::plugins {

class DomainCounts {
 public:
  // The minimum when there is no domain: upstream's math.MaxInt32.
  static constexpr std::int32_t kNoMinimum = INT32_MAX;

  explicit DomainCounts(std::shared_ptr<const SpreadLayout> layout) : layout_(std::move(layout)) {}

  // The row has `difference` pods more.
  void Add(framework::NodeIndex row, std::int32_t difference);
  // Counts anew, by the pods of each row, if rows with pods moved or Forget() was called.
  void Refresh(const SparseCounts& by_row);
  void Forget() { moves_ = kForgotten; }

  const SpreadLayout& layout() const { return *layout_; }
  // Pods in a domain.
  std::int32_t Count(DomainId domain) const { return counts_.Get(domain); }
  const SparseCounts& counts() const { return counts_; }
  // Domains with at least one included row.
  std::int32_t size() const { return layout_->domain_count; }
  // The smallest count of a domain; kNoMinimum when there is none.
  std::int32_t Minimum() const { return MinimumWithout({}); }
  // ... of those domains that are not among `left_out`, which exist and are distinct.
  std::int32_t MinimumWithout(std::span<const DomainId> left_out) const;

  std::size_t Bytes() const { return sizeof(*this) + counts_.Bytes() + domains_at_.Bytes(); }

 private:
  static constexpr std::uint64_t kForgotten = UINT64_MAX;

  std::shared_ptr<const SpreadLayout> layout_;
  std::uint64_t moves_ = kForgotten;  // of the layout, as of the counts
  SparseCounts counts_;
  SparseCounts domains_at_;  // by count, 0 left out: how many domains have it
};

}  // namespace berth::plugins
