#include "berth/plugins/pod_topology_spread/domain_counts.h"

#include <algorithm>

namespace berth::plugins {

using framework::NodeIndex;
using framework::ValueId;

void DomainCounts::Reset(std::size_t row_count, std::size_t value_count) {
  domain_of_row_.assign(row_count, 0);
  counts_.assign(value_count, 0);
  rows_.assign(value_count, 0);
  size_ = 0;
  row_count_ = 0;
  shared_count_ = 0;
  domains_at_.assign(1, 0);
  minimum_ = 0;
}

void DomainCounts::Grow(std::size_t row_count, std::size_t value_count) {
  if (domain_of_row_.size() < row_count) domain_of_row_.resize(row_count, 0);
  if (counts_.size() >= value_count) return;
  counts_.resize(value_count, 0);
  rows_.resize(value_count, 0);
}

void DomainCounts::EnterHistogram(std::int32_t count) {
  const auto at = static_cast<std::size_t>(count);
  if (at >= domains_at_.size()) domains_at_.resize(at + 1, 0);
  ++domains_at_[at];
  minimum_ = std::min(minimum_, count);
}

void DomainCounts::LeaveHistogram(std::int32_t count) {
  --domains_at_[static_cast<std::size_t>(count)];
  if (size_ == 0) {
    // Nothing to find; the next domain to enter brings it down.
    minimum_ = static_cast<std::int32_t>(domains_at_.size());
    return;
  }
  while (domains_at_[static_cast<std::size_t>(minimum_)] == 0) ++minimum_;
}

void DomainCounts::Change(ValueId domain, std::int32_t difference) {
  const std::int32_t before = counts_[domain];
  counts_[domain] = before + difference;
  EnterHistogram(before + difference);
  LeaveHistogram(before);
}

void DomainCounts::Add(NodeIndex row, std::int32_t difference) {
  if (domain_of_row_[row] != 0) Change(domain_of_row_[row], difference);
}

void DomainCounts::Move(NodeIndex row, ValueId domain, std::int32_t count) {
  const ValueId before = domain_of_row_[row];
  if (before == domain) return;
  domain_of_row_[row] = domain;
  if (before != 0) {
    --row_count_;
    Change(before, -count);
    if (--rows_[before] == 1) --shared_count_;
    if (rows_[before] == 0) {
      --size_;
      LeaveHistogram(0);
    }
  }
  if (domain != 0) {
    ++row_count_;
    if (++rows_[domain] == 2) ++shared_count_;
    if (rows_[domain] == 1) {
      if (size_++ == 0) minimum_ = 0;
      EnterHistogram(0);
    }
    Change(domain, count);
  }
}

std::int32_t DomainCounts::MinimumWithout(std::span<const ValueId> left_out) const {
  if (size_ == static_cast<std::int32_t>(left_out.size())) return kNoMinimum;
  for (std::int32_t count = minimum_;; ++count) {
    std::int32_t domains = domains_at_[static_cast<std::size_t>(count)];
    for (const ValueId domain : left_out) domains -= counts_[domain] == count ? 1 : 0;
    if (domains > 0) return count;
  }
}

std::size_t DomainCounts::Bytes() const {
  return domain_of_row_.capacity() * sizeof(ValueId) +
         (counts_.capacity() + rows_.capacity() + domains_at_.capacity()) * sizeof(std::int32_t);
}

}  // namespace berth::plugins
