// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/scored_resources.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

ScoredResources::ScoredResources(const std::vector<config::ResourceSpec>& resources, PodAmounts requested,
                                 std::shared_ptr<DeviceState> devices)
    : requested_(requested), devices_(std::move(devices)) {
  entries_.reserve(resources.size());
  for (const config::ResourceSpec& resource : resources) {
    Kind kind = Kind::kNone;
    if (resource.name == framework::resources::kCpu) {
      kind = Kind::kCpu;
    } else if (resource.name == framework::resources::kMemory) {
      kind = Kind::kMemory;
    } else if (resource.name == framework::resources::kEphemeralStorage) {
      kind = Kind::kEphemeralStorage;
    } else if (framework::IsScalarResourceName(resource.name)) {
      kind = Kind::kScalar;
    }
    entries_.push_back({kind, resource.name, resource.weight == 0 ? 1 : resource.weight});
  }
}

std::vector<std::int64_t> ScoredResources::PodRequests(const framework::PodClass& pod_class) const {
  std::vector<std::int64_t> requests;
  requests.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    requests.push_back(framework::PodRequestForScoring(pod_class, entry.name, requested_));
  }
  return requests;
}

bool ScoredResources::MayCountDevices() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.kind == Kind::kScalar && IsDeviceBackedResourceName(entry.name);
  });
}

std::uint64_t ScoredResources::DeviceEpoch() const {
  const std::uint64_t classes = devices_->classes.version();
  return MayCountDevices() ? classes + devices_->slices.version() + devices_->claims.revision() : classes;
}

ScoredResources::Amounts ScoredResources::ScalarOf(std::size_t i, const NodeInfo& node) const {
  const std::string& name = entries_[i].name;
  const Amounts amounts{node.allocatable().Scalar(name), node.requested().Scalar(name)};
  if (amounts.allocatable != 0) return amounts;
  const DeviceClasses::Ptr device_class = devices_->classes.Find(name);
  if (device_class == nullptr) return amounts;
  const DeviceState::Totals totals = devices_->Count(*device_class, node.node());
  return totals.count > 0 ? Amounts{totals.count, totals.allocated_count} : amounts;
}

std::optional<std::array<ResourceRows, 2>> ScoredResources::CpuAndMemoryRows(
    const NodeTable& nodes, const std::vector<std::int64_t>& pod_requests) const {
  if (entries_.size() != 2 || entries_[0].kind == entries_[1].kind) return std::nullopt;
  const bool nonzero = IsNonzero();
  const NodeTable::Columns& c = nodes.columns();
  std::array<ResourceRows, 2> rows;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t request = pod_requests[i];
    if (request < 0 || request >= framework::kUsualAmountMax) return std::nullopt;
    if (entries_[i].kind == Kind::kCpu) {
      rows[i] = {c.allocatable_cpu_milli.data(), (nonzero ? c.nonzero_cpu_milli : c.requested_cpu_milli).data(),
                 c.reciprocal_cpu.data(), request};
    } else if (entries_[i].kind == Kind::kMemory) {
      rows[i] = {c.allocatable_memory_bytes.data(),
                 (nonzero ? c.nonzero_memory_bytes : c.requested_memory_bytes).data(), c.reciprocal_memory.data(),
                 request};
    } else {
      return std::nullopt;
    }
  }
  return rows;
}

ScoredResources::Amounts ScoredResources::Of(std::size_t i, const NodeInfo& node) const {
  const bool nonzero = IsNonzero();
  const framework::Resource& allocatable = node.allocatable();
  const framework::Resource& requested = node.requested();
  switch (entries_[i].kind) {
    case Kind::kCpu: return {allocatable.cpu_milli, nonzero ? node.nonzero_cpu_milli() : requested.cpu_milli};
    case Kind::kMemory:
      return {allocatable.memory_bytes, nonzero ? node.nonzero_memory_bytes() : requested.memory_bytes};
    case Kind::kEphemeralStorage: return {allocatable.ephemeral_storage_bytes, requested.ephemeral_storage_bytes};
    case Kind::kScalar: return ScalarOf(i, node);
    case Kind::kNone: break;
  }
  return {};
}

ScoredResources::Amounts ScoredResources::Of(std::size_t i, const NodeTable& nodes, NodeIndex row) const {
  const bool nonzero = IsNonzero();
  const NodeTable::Columns& c = nodes.columns();
  switch (entries_[i].kind) {
    case Kind::kCpu:
      return {c.allocatable_cpu_milli[row], nonzero ? c.nonzero_cpu_milli[row] : c.requested_cpu_milli[row]};
    case Kind::kMemory:
      return {c.allocatable_memory_bytes[row], nonzero ? c.nonzero_memory_bytes[row] : c.requested_memory_bytes[row]};
    case Kind::kEphemeralStorage: return {c.allocatable_ephemeral_bytes[row], c.requested_ephemeral_bytes[row]};
    case Kind::kScalar:
    case Kind::kNone: break;
  }
  return Of(i, nodes.Info(row));
}

}  // namespace berth::plugins
