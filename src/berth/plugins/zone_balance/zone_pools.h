// SPDX-License-Identifier: Apache-2.0
// ZonePools: the nodes of one table by zone and size, and what is free on them, kept up to date instead of added up for
// each pod. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::plugins {

class ZonePools {
 public:
  using ZoneId = std::uint32_t;
  using PoolId = std::uint32_t;
  static constexpr ZoneId kNoZone = 0;  // of nodes without a zone label; the others follow
  static constexpr PoolId kNoPool = UINT32_MAX;
  // Names of zones and pools without nodes that are kept beyond as many as there are nodes; then all is looked at anew.
  static constexpr std::size_t kDeadMax = 4096;
  // A node counts as having so much free at most, so that sums do not overflow.
  static constexpr std::int64_t kFreeMax = framework::kUsualAmountMax;

  // The nodes of one zone whose allocatable cpu, and whose memory, are alike: the same power of two is the largest that
  // is in it.
  struct Pool {
    ZoneId zone = kNoZone;
    std::int64_t nodes = 0;
    // Sums over its nodes, with the defaults for containers without requests; no node counts below 0.
    std::int64_t free_cpu_milli = 0;
    std::int64_t free_memory_bytes = 0;
  };

  // The zone's name, of the new label or, without that, of the old one; empty: none.
  static std::string_view ZoneNameOf(const api::Node& node);

  // Looks at rows that changed since the last time only.
  void Sync(const framework::NodeTable& nodes);

  // The number of that zone; it gets one when it is new.
  ZoneId ZoneOf(const api::Node& node);
  // Changes when zones and pools get new numbers.
  std::uint64_t numbering() const { return numbering_; }
  // Zones have numbers below zone_count(); not all need have nodes.
  std::size_t zone_count() const { return zone_of_name_.size() + 1; }
  // The row's pool as of the last Sync(); kNoPool for a row without a node.
  PoolId pool_of(framework::NodeIndex row) const { return row < rows_.size() ? rows_[row].pool : kNoPool; }
  const std::vector<Pool>& pools() const { return pools_; }
  // How many zones have nodes, those without a zone being one more.
  std::size_t live_zone_count() const { return live_zones_; }

 private:
  struct Row {
    std::shared_ptr<const api::Node> node;
    PoolId pool = kNoPool;
    std::int64_t free_cpu_milli = 0;
    std::int64_t free_memory_bytes = 0;
  };

  void Reset();
  void SyncRow(const framework::NodeInfo& info, Row& row);
  void Count(const Row& row, std::int64_t sign);
  PoolId PoolFor(const framework::NodeInfo& info);

  TableSync table_;
  std::uint64_t numbering_ = 1;
  std::vector<Row> rows_;
  std::vector<Pool> pools_;
  std::vector<std::int64_t> nodes_by_zone_;
  std::size_t live_zones_ = 0;
  StringHashMap<ZoneId> zone_of_name_;
  absl::flat_hash_map<std::uint64_t, PoolId> pool_of_kind_;
};

}  // namespace berth::plugins
