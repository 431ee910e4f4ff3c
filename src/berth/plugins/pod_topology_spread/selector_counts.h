// SPDX-License-Identifier: Apache-2.0
// SelectorCounts: how many pods that match a selector run on each node, and in each domain of the layouts that ask for
// it. Shared by all constraints of one namespace and selector. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/plugins/helper/pod_index.h"
#include "berth/plugins/pod_topology_spread/domain_counts.h"
#include "berth/plugins/pod_topology_spread/sparse_counts.h"

namespace berth::plugins {

class SelectorCounts {
 public:
  // An absent selector matches no pod. Neither does an empty one, unless `counts_by_empty` (see SpreadConstraint).
  SelectorCounts(std::string namespace_name, std::optional<api::LabelSelector> selector, bool counts_by_empty = false);

  // Brings everything up to date with the index, which must be of the epoch that it was the first time.
  void Update(const PodIndex& index, std::size_t row_count);

  // Matching pods that are not being deleted.
  const SparseCounts& by_row() const { return by_row_; }
  // ... by domain, kept up to date from now on; must be asked for after an Update. The counts are valid as long as this
  // object is updated.
  std::shared_ptr<const DomainCounts> Follow(const std::shared_ptr<SpreadLayout>& layout);

  void ForgetLayouts() { domains_.clear(); }

  // About what it holds on the heap, layouts left out.
  std::size_t Bytes() const;

 private:
  bool Counts(const PodIndex::Slot& slot) const;
  void FindSlots(const PodIndex& index);
  void Replay(const PodIndex& index);
  void Recount(const PodIndex& index, std::size_t row_count);
  void Apply(const PodIndex::Change& change);

  std::string namespace_name_;
  std::optional<api::LabelSelector> selector_;
  std::vector<PodIndex::SlotId> slots_;  // matching ones, ascending
  std::size_t slots_seen_ = 0;
  std::uint64_t position_ = 0;  // of the index's log
  bool is_counted_ = false;
  SparseCounts by_row_;
  std::vector<std::shared_ptr<DomainCounts>> domains_;  // by layout
};

}  // namespace berth::plugins
