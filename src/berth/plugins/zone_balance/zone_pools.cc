// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/zone_balance/zone_pools.h"

#include <algorithm>
#include <bit>

namespace berth::plugins {
namespace {

using framework::NodeIndex;

constexpr std::string_view kZoneLabels[] = {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"};

std::uint64_t BitsOf(std::int64_t amount) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(amount, 0))));
}

std::int64_t FreeOf(std::int64_t allocatable, std::int64_t taken) {
  return std::clamp<std::int64_t>(framework::WrappingSub(allocatable, taken), 0, ZonePools::kFreeMax);
}

}  // namespace

std::string_view ZonePools::ZoneNameOf(const api::Node& node) {
  for (const std::string_view label : kZoneLabels) {
    const std::string* value = node.metadata.labels.Find(label);
    if (value != nullptr && !value->empty()) return *value;
  }
  return {};
}

ZonePools::ZoneId ZonePools::ZoneOf(const api::Node& node) {
  const std::string_view name = ZoneNameOf(node);
  if (name.empty()) return kNoZone;
  const auto known = zone_of_name_.find(name);
  if (known != zone_of_name_.end()) return known->second;
  const auto zone = static_cast<ZoneId>(zone_count());
  zone_of_name_.emplace(std::string(name), zone);
  return zone;
}

void ZonePools::Reset() {
  table_.Forget();
  ++numbering_;
  rows_.clear();
  pools_.clear();
  nodes_by_zone_.clear();
  live_zones_ = 0;
  zone_of_name_.clear();
  pool_of_kind_.clear();
}

void ZonePools::Sync(const framework::NodeTable& nodes) {
  if (table_.IsUpToDate(nodes)) return;
  const bool is_overgrown = std::max(pools_.size(), zone_count()) > 2 * rows_.size() + kDeadMax;
  if (!table_.IsSame(nodes) || is_overgrown) Reset();
  rows_.resize(nodes.row_count());
  table_.ForChanged(nodes, [&](NodeIndex row, std::size_t) { SyncRow(nodes.Info(row), rows_[row]); });
}

void ZonePools::SyncRow(const framework::NodeInfo& info, Row& row) {
  Count(row, -1);
  if (row.node != info.node_ptr()) {
    row.node = info.node_ptr();
    row.pool = info.has_node() ? PoolFor(info) : kNoPool;
  }
  row.free_cpu_milli = FreeOf(info.allocatable().cpu_milli, info.nonzero_cpu_milli());
  row.free_memory_bytes = FreeOf(info.allocatable().memory_bytes, info.nonzero_memory_bytes());
  Count(row, +1);
}

void ZonePools::Count(const Row& row, std::int64_t sign) {
  if (row.pool == kNoPool) return;
  Pool& pool = pools_[row.pool];
  pool.nodes += sign;
  pool.free_cpu_milli += sign * row.free_cpu_milli;
  pool.free_memory_bytes += sign * row.free_memory_bytes;
  if (nodes_by_zone_.size() <= pool.zone) nodes_by_zone_.resize(pool.zone + 1);
  std::int64_t& in_zone = nodes_by_zone_[pool.zone];
  in_zone += sign;
  if (sign > 0 && in_zone == 1) ++live_zones_;
  if (sign < 0 && in_zone == 0) --live_zones_;
}

ZonePools::PoolId ZonePools::PoolFor(const framework::NodeInfo& info) {
  const ZoneId zone = ZoneOf(info.node());
  const framework::Resource& size = info.allocatable();
  const std::uint64_t kind = std::uint64_t{zone} << 16 | BitsOf(size.cpu_milli) << 8 | BitsOf(size.memory_bytes);
  const auto [it, is_new] = pool_of_kind_.try_emplace(kind, static_cast<PoolId>(pools_.size()));
  if (is_new) pools_.push_back({zone, 0, 0, 0});
  return it->second;
}

}  // namespace berth::plugins
