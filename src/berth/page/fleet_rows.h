// SPDX-License-Identifier: Apache-2.0
// The rows of a Fleet: what it keeps of a node, of a pod and of the workload that owns pods. Plain values; the owner of
// the maps guards them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/text_hash.h"
#include "berth/base/time.h"
#include "berth/framework/resource.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/workload_view.h"

namespace berth::page {

// Ids are never used again, so that a reader that missed a removal cannot take one row for another.
using RowId = std::uint32_t;
inline constexpr RowId kNoRow = 0xffffffff;

// How full a zone is: sums of its nodes.
struct ZoneSums {
  std::size_t nodes = 0;
  std::int64_t cpu_milli = 0, memory_bytes = 0, pods = 0;                                      // requested
  std::int64_t allocatable_cpu_milli = 0, allocatable_memory_bytes = 0, allocatable_pods = 0;  // of which
};

struct NodeRow {
  std::string name;
  std::shared_ptr<const api::Node> node;  // null: only pods name it
  ZoneSums* zone = nullptr;               // of the same Fleet; null where `node` is
  framework::Resource allocatable;
  framework::Resource requested;      // of the pods that count; `pods` is how many they are
  std::vector<RowId> pods;            // all that name it, in no order
  std::uint32_t changed_in = 0;       // revision
  std::uint32_t node_changed_in = 0;  // in which something else than its pods and what they request has changed
};

struct OwnerRow {
  whatif::Workload workload;
  std::size_t pod_count = 0;
  std::size_t waiting_count = 0;         // of these, without a node
  framework::Resource waiting_requests;  // of those
};

// Owners by their workloads.
struct OwnerHash {
  using is_transparent = void;
  template <typename Workload>
  static std::size_t Of(const Workload& workload) {
    const std::uint64_t place = HashText(workload.kind) ^ text_hash::kSecond;
    return text_hash::Fold(place ^ HashText(workload.namespace_name), HashText(workload.name) ^ text_hash::kThird);
  }
  std::size_t operator()(const whatif::WorkloadView& workload) const { return Of(workload); }
  std::size_t operator()(const OwnerRow* row) const { return Of(row->workload); }
};
struct OwnerEqual {
  using is_transparent = void;
  bool operator()(const OwnerRow* a, const OwnerRow* b) const { return a == b; }
  bool operator()(const OwnerRow* row, const whatif::WorkloadView& b) const {
    const whatif::Workload& a = row->workload;
    return a.name == b.name && a.kind == b.kind && a.namespace_name == b.namespace_name;
  }
};

struct PodRow {
  std::shared_ptr<const api::Pod> pod;
  RowId node = kNoRow;
  NodeRow* on = nullptr;         // the row of `node`, of the same Fleet
  OwnerRow* owner = nullptr;     // of the same Fleet
  framework::Resource requests;  // effective ones, as a node must have them free
  Time seen_at{};                // when it was first seen without a node, or at all
  bool is_timed = false;         // it was seen to come without a node
  std::uint32_t changed_in = 0;  // revision
};

using PodAt = std::map<RowId, PodRow>::iterator;

// Rows of pods by namespace and name, which are those of the row's pod: nothing is kept twice.
struct PodName {
  std::string_view namespace_name;
  std::string_view name;
  bool operator==(const PodName&) const = default;
  static PodName Of(const api::ObjectMeta& meta) { return {meta.namespace_name, meta.name}; }
};
struct PodNameHash {
  using is_transparent = void;
  std::size_t operator()(const PodName& of) const {
    return text_hash::Fold(HashText(of.namespace_name) ^ text_hash::kSecond, HashText(of.name) ^ text_hash::kThird);
  }
  std::size_t operator()(PodAt at) const { return (*this)(PodName::Of(at->second.pod->metadata)); }
};
struct PodNameEqual {
  using is_transparent = void;
  bool operator()(PodAt a, PodAt b) const { return a == b; }
  bool operator()(PodAt a, const PodName& b) const { return PodName::Of(a->second.pod->metadata) == b; }
};

// A row that came, has changed or has gone. One that has changed again since has a later entry too, and its row says
// which is the last.
struct FleetChange {
  std::uint32_t revision = 0;
  RowId id = kNoRow;
  bool is_node = false;
  bool is_removal = false;
};

struct FleetRows {
  std::map<RowId, NodeRow> nodes;
  std::map<RowId, PodRow> pods;
  std::map<whatif::Workload, OwnerRow> owners;
  std::set<RowId> waiting;               // pods without a node
  std::uint32_t waiting_changed_in = 0;  // revision
  std::deque<FleetChange> changes;       // the newest, in order
  std::size_t node_count = 0;            // nodes that exist
};

// Which labels and resources the columns of a frame stand for.
struct FleetSchema {
  std::vector<std::string> label_keys;
  std::vector<std::string> scalars;  // beside cpu, memory, ephemeral-storage and pods
  bool is_aggregated = false;        // see FleetFrameOptions::pod_rows_max
  bool operator==(const FleetSchema&) const = default;
};

}  // namespace berth::page
