// SPDX-License-Identifier: Apache-2.0
// SpreadIndex: what spreading keeps for one node table, for all pod classes together: running pods by class, counts by
// selector, and the domains of rows. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/pod_index.h"
#include "berth/plugins/pod_topology_spread/selector_counts.h"
#include "berth/plugins/pod_topology_spread/spread_layout.h"

namespace berth::plugins {

class SpreadCounts;

class SpreadIndex {
 public:
  // Bounds on what is kept for selectors; those that nobody asked for in an epoch go first.
  static constexpr std::size_t kSelectorsMax = 16384;
  static constexpr std::size_t kSelectorBytesMax = std::size_t{64} << 20;
  // Bounds on the classes that are bound to it; beyond them all are bound anew.
  static constexpr std::size_t kClassesMax = 16384;
  static constexpr std::size_t kClassBytesMax = std::size_t{64} << 20;

  // `numbers` must outlive the index: it gives numbers that no other index had.
  explicit SpreadIndex(std::uint64_t& numbers) : numbers_(numbers) { epoch_ = numbering_ = ++numbers_; }

  // Brings rows and running pods up to date. Counts follow when they are asked for.
  void Sync(const framework::NodeTable& nodes);
  const framework::NodeTable* table() const { return nodes_; }

  // Changes when what was asked for before must be asked for again.
  std::uint64_t epoch() const { return epoch_; }
  // Changes when domains get new numbers.
  std::uint64_t numbering() const { return numbering_; }

  const PodIndex& pods() const { return pods_; }
  SpreadTopology& topology() { return topology_; }

  // The counts of a selector, up to date. `counts_by_empty`: see SpreadConstraint; it is the same in all calls.
  std::shared_ptr<SelectorCounts> SelectorFor(const std::string& namespace_name,
                                              const std::optional<api::LabelSelector>& selector,
                                              bool counts_by_empty = false);
  void Update(SelectorCounts& counts) const { counts.Update(pods_, nodes_->row_count()); }

  // Holds it until the epoch ends. Ends the epoch first where there are too many.
  void Keep(std::shared_ptr<SpreadCounts> counts);

  std::size_t Bytes() const;
  std::size_t selector_count() const { return selectors_.size(); }

 private:
  struct Selector {
    std::shared_ptr<SelectorCounts> counts;
    std::uint64_t epoch = 0;  // in which it was asked for last
  };

  void BeginEpoch();
  void BoundSelectors();

  std::uint64_t& numbers_;
  std::uint64_t epoch_ = 0;
  std::uint64_t numbering_ = 0;

  const framework::NodeTable* nodes_ = nullptr;
  std::uint64_t version_ = 0;
  std::uint64_t nodes_version_ = 0;
  std::uint64_t values_version_ = 0;

  PodIndex pods_;
  std::uint64_t pods_epoch_ = 0;  // as of the counts
  SpreadTopology topology_;
  StringHashMap<Selector> selectors_;
  std::vector<std::shared_ptr<SpreadCounts>> classes_;
  std::size_t class_bytes_ = 0;
  std::size_t selector_bytes_ = 0;  // when they were made, or bounds were looked at last
  std::size_t syncs_ = 0;           // since then
};

}  // namespace berth::plugins
