// SPDX-License-Identifier: Apache-2.0
// NodeTable: what the fast path (fast_path.h) reads of all nodes beside NodeList: a column for each thing that filters
// and scores look at, one entry a row, and a log of the rows that changed. Within turns only; the cache alone changes
// it, between evaluations. A row that is given to another node gets a new version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/node_list.h"

namespace berth::framework {

// Interned strings of label values; 0: the node has no such label.
using ValueId = std::uint32_t;

inline constexpr std::int64_t kUsualAmountMax = std::int64_t{1} << 46;

class NodeTable : public NodeList {
 public:
  // The columns, indexed by row. Units as in Resource. Rows without a node hold zeros.
  struct Columns {
    std::vector<std::int64_t> allocatable_cpu_milli, allocatable_memory_bytes, allocatable_ephemeral_bytes,
        allocatable_pods;
    std::vector<std::int64_t> requested_cpu_milli, requested_memory_bytes, requested_ephemeral_bytes;
    std::vector<std::int64_t> nonzero_cpu_milli, nonzero_memory_bytes;
    std::vector<std::int64_t> pod_count;
    // 1 / allocatable, rounded to nearest, so that column forms need not divide; 0 where allocatable is 0.
    std::vector<double> reciprocal_cpu, reciprocal_memory;
    std::vector<std::uint8_t> is_unschedulable;
    std::vector<std::uint32_t> taint_set;  // equal ids: equal taint lists; id 0: no taints
    // Whether the node's cpu or memory is 0 or some amount of it exceeds kUsualAmountMax, so that scores computed in
    // double precision are not exact: a hundred times kUsualAmountMax is below 2^53.
    std::vector<std::uint8_t> is_unusual;
    std::size_t unusual_count = 0;
    // How many rows have is_unschedulable, and a taint_set other than 0.
    std::size_t unschedulable_count = 0, tainted_count = 0;
  };
  virtual const Columns& columns() const = 0;

  // The taints behind an id of Columns::taint_set; ids are below taint_set_count(). They are valid for one evaluation:
  // do not keep them in a CycleState.
  virtual const std::vector<api::Taint>& TaintSet(std::uint32_t id) const = 0;
  virtual std::size_t taint_set_count() const = 0;

  // The column of one label: the id of its value in each row. Built at the first call, then kept up to date. The span
  // is valid for one evaluation. Ids are valid while values_version() is the same: what is counted by id can be kept
  // with that version.
  virtual std::span<const ValueId> LabelColumn(std::string_view key) const = 0;
  // The id of a label value; nullopt when no node has had it under the keys that LabelColumn() was called with.
  virtual std::optional<ValueId> FindValue(std::string_view value) const = 0;
  virtual std::string_view Value(ValueId id) const = 0;
  // Ids of label values are below value_count().
  virtual std::size_t value_count() const = 0;
  virtual std::uint64_t values_version() const = 0;

  // How many nodes have an image of that (normalised) name.
  virtual std::int64_t ImageNodeCount(std::string_view image) const = 0;
  // The image's size, the same for every node: what the first node that had it reported (upstream keeps one state per
  // image name and never updates its size). 0 when no node has it.
  virtual std::int64_t ImageSizeBytes(std::string_view image) const = 0;
  // The rows of the nodes that have the image, ascending. Valid for one evaluation.
  virtual std::span<const NodeIndex> ImageRows(std::string_view image) const = 0;

  // version() grows with every change of a row. ChangedSince(v) lists the rows that changed after version() was v, each
  // at least once; nullopt when that is too long ago: look at all rows.
  virtual std::uint64_t version() const = 0;
  virtual std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const = 0;
  // Parallel to the rows that ChangedSince(version) lists: what that change left of the row's pods. Those before this
  // position in NodeInfo::pods() are of the same classes as before it.
  virtual std::span<const std::uint32_t> PodsKeptSince(std::uint64_t version) const = 0;
  // Grows when a node is added or removed, or its object changes: what answers with Dependency::kCluster rest on.
  virtual std::uint64_t nodes_version() const = 0;
};

}  // namespace berth::framework
