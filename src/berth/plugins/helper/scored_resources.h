// SPDX-License-Identifier: Apache-2.0
// ScoredResources: the resources that NodeResourcesFit and NodeResourcesBalancedAllocation score by, and where a node's
// amounts of them come from: a NodeInfo (plain form) or the node table's columns. Upstream: resourceAllocationScorer.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/config/args.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/pod_requests.h"
#include "berth/plugins/helper/resource_kernels.h"

namespace berth::plugins {

class DeviceState;

using framework::PodAmounts;

// A node's amount with that of a pod. `saturates` (Release::saturates_scores): the sum stops at the largest number
// instead of wrapping.
inline std::int64_t SumOf(std::int64_t allocated, std::int64_t pod_request, bool saturates) {
  const std::int64_t sum = framework::WrappingAdd(allocated, pod_request);
  const bool is_too_large = saturates && allocated > 0 && pod_request > 0 && sum < 0;
  return is_too_large ? std::numeric_limits<std::int64_t>::max() : sum;
}

class ScoredResources {
 public:
  enum class Kind : std::uint8_t { kCpu, kMemory, kEphemeralStorage, kScalar, kNone };
  struct Entry {
    Kind kind = Kind::kNone;
    std::string name;
    std::int64_t weight = 1;
  };
  struct Amounts {
    std::int64_t allocatable = 0;  // 0: the node does not count this resource
    std::int64_t allocated = 0;
  };

  // A resource that the node does not have counts as the devices of the class behind it, if there is one. `requested`:
  // how much a pod requests; the nodes' amounts have defaults for containers without requests but for kActual.
  ScoredResources(const std::vector<config::ResourceSpec>& resources, PodAmounts requested,
                  std::shared_ptr<DeviceState> devices);

  // True when some resource may be counted as devices: then the amounts rest on claims and slices as well.
  bool MayCountDevices() const;
  // A number for Plugin::Epoch that changes with what fitting and scoring know about devices.
  std::uint64_t DeviceEpoch() const;

  const std::vector<Entry>& entries() const { return entries_; }

  // The pod's request of each resource, parallel to entries().
  std::vector<std::int64_t> PodRequests(const framework::PodClass& pod_class) const;

  // Whether scoring looks at entry `i` for a pod that requests `pod_request` of it: scalars count only when requested.
  bool IsScored(std::size_t i, std::int64_t pod_request) const {
    return entries_[i].kind != Kind::kNone && (pod_request != 0 || entries_[i].kind != Kind::kScalar);
  }

  // The columns that the kernels read, for two entries that are cpu and memory in any order. nullopt when the entries
  // are others, or the pod requests more than the kernels take.
  std::optional<std::array<ResourceRows, 2>> CpuAndMemoryRows(const framework::NodeTable& nodes,
                                                              const std::vector<std::int64_t>& pod_requests) const;

  Amounts Of(std::size_t i, const framework::NodeInfo& node) const;
  Amounts Of(std::size_t i, const framework::NodeTable& nodes, framework::NodeIndex row) const;

 private:
  Amounts ScalarOf(std::size_t i, const framework::NodeInfo& node) const;
  bool IsNonzero() const { return requested_ != PodAmounts::kActual; }

  std::vector<Entry> entries_;
  PodAmounts requested_;
  const std::shared_ptr<DeviceState> devices_;
};

// NodeAmounts and RowAmounts give a node's amounts to the same scoring code: from a NodeInfo, or from a table's row.
struct NodeAmounts {
  const ScoredResources& resources;
  const framework::NodeInfo& node;
  ScoredResources::Amounts Of(std::size_t i) const { return resources.Of(i, node); }
};
struct RowAmounts {
  const ScoredResources& resources;
  const framework::NodeTable& nodes;
  framework::NodeIndex row;
  ScoredResources::Amounts Of(std::size_t i) const { return resources.Of(i, nodes, row); }
};

}  // namespace berth::plugins
