// DomainCounts: how many pods run in each topology domain, that is on the nodes that share a value of one label, and
// the smallest of these numbers. Kept by differences. Single-threaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::plugins {

class DomainCounts {
 public:
  // Of no domain at all: upstream's math.MaxInt32.
  static constexpr std::int32_t kNoMinimum = INT32_MAX;

  // Forgets everything. No row is in a domain.
  void Reset(std::size_t row_count, std::size_t value_count);
  // Makes room for more rows and values.
  void Grow(std::size_t row_count, std::size_t value_count);

  // The row, which has `count` pods now, leaves its domain and joins `domain`; 0: none.
  void Move(framework::NodeIndex row, framework::ValueId domain, std::int32_t count);
  // The row has `difference` pods more.
  void Add(framework::NodeIndex row, std::int32_t difference);

  // The domain of a row; 0: none.
  framework::ValueId DomainOf(framework::NodeIndex row) const { return domain_of_row_[row]; }
  // Pods in a domain; 0 where there is no such domain.
  std::int32_t Count(framework::ValueId domain) const { return domain < counts_.size() ? counts_[domain] : 0; }
  // Count by domain, for every value that a row has as its domain.
  std::span<const std::int32_t> counts() const { return counts_; }
  // Domains with at least one row.
  std::int32_t size() const { return size_; }
  // Domains with two rows or more.
  std::size_t shared_count() const { return shared_count_; }
  // Rows that are in a domain.
  std::size_t row_count() const { return row_count_; }
  // The smallest count of a domain; kNoMinimum when there is none.
  std::int32_t Minimum() const { return size_ == 0 ? kNoMinimum : minimum_; }
  // ... of those domains that are not among `left_out`, which exist and are distinct.
  std::int32_t MinimumWithout(std::span<const framework::ValueId> left_out) const;

  std::size_t Bytes() const;

 private:
  void Change(framework::ValueId domain, std::int32_t difference);
  void EnterHistogram(std::int32_t count);
  void LeaveHistogram(std::int32_t count);

  std::vector<framework::ValueId> domain_of_row_;
  std::vector<std::int32_t> counts_;  // by value
  std::vector<std::int32_t> rows_;    // by value: how many are in the domain
  std::int32_t size_ = 0;
  std::size_t row_count_ = 0;
  std::size_t shared_count_ = 0;
  std::vector<std::int32_t> domains_at_;  // by count: how many domains have it
  std::int32_t minimum_ = 0;              // the first entry of domains_at_ that is not 0, if there is one
};

}  // namespace berth::plugins
