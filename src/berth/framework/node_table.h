// SPDX-License-Identifier: Apache-2.0
// NodeTable: the data of all nodes for the fast path (fast_path.h), in addition to NodeList: a column for each value
// that filters and scores read, with one entry per row, and a log of changed rows. Within turns only; only the cache
// changes it, between evaluations. A row that is given to another node counts as changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/node_list.h"

namespace berth::framework {

// Id of an interned label value; 0: the node does not have the label.
using ValueId = std::uint32_t;

inline constexpr std::int64_t kUsualAmountMax = std::int64_t{1} << 46;

class NodeTable : public NodeList {
 public:
  // The columns, indexed by row. Units are those of Resource. Rows without a node hold zeros.
  struct Columns {
    std::vector<std::int64_t> allocatable_cpu_milli, allocatable_memory_bytes, allocatable_ephemeral_bytes,
        allocatable_pods;
    std::vector<std::int64_t> requested_cpu_milli, requested_memory_bytes, requested_ephemeral_bytes;
    std::vector<std::int64_t> nonzero_cpu_milli, nonzero_memory_bytes;
    std::vector<std::int64_t> pod_count;
    // 1 / allocatable, rounded to nearest, so that column forms can multiply instead of divide; 0 where allocatable is
    // 0.
    std::vector<double> reciprocal_cpu, reciprocal_memory;
    std::vector<std::uint8_t> is_unschedulable;
    std::vector<std::uint32_t> taint_set;  // equal ids: equal taint lists; 0: no taints
    // Whether the node has no CPU or no memory, or an amount above kUsualAmountMax. Scores computed in double precision
    // are only exact for other nodes: a hundred times kUsualAmountMax is below 2^53.
    std::vector<std::uint8_t> is_unusual;
    std::size_t unusual_count = 0;
    // Number of rows with is_unschedulable, and with a taint_set other than 0.
    std::size_t unschedulable_count = 0, tainted_count = 0;
  };
  virtual const Columns& columns() const = 0;

  // The taints of an id in Columns::taint_set; ids are below taint_set_count(). Valid for one evaluation: they must not
  // be kept in a CycleState.
  virtual const std::vector<api::Taint>& TaintSet(std::uint32_t id) const = 0;
  virtual std::size_t taint_set_count() const = 0;

  // The column of one label: the id of its value in each row. It is built at the first call and updated afterwards. The
  // span is valid for one evaluation. Ids are valid while values_version() is the same, so that counts by id can be
  // kept together with that version.
  virtual std::span<const ValueId> LabelColumn(std::string_view key) const = 0;
  // The id of a label value; nullopt when no node has had it under a key that LabelColumn() was called with.
  virtual std::optional<ValueId> FindValue(std::string_view value) const = 0;
  virtual std::string_view Value(ValueId id) const = 0;
  // Ids of label values are below this number.
  virtual std::size_t value_count() const = 0;
  virtual std::uint64_t values_version() const = 0;

  // Number of nodes that have the image with this (normalised) name.
  virtual std::int64_t ImageNodeCount(std::string_view image) const = 0;
  // The image's size, which is the same for every node: the size that the first node with the image reported (upstream
  // keeps one state per image name and never updates its size). 0 when no node has it.
  virtual std::int64_t ImageSizeBytes(std::string_view image) const = 0;
  // The rows of the nodes with the image, ascending. Valid for one evaluation.
  virtual std::span<const NodeIndex> ImageRows(std::string_view image) const = 0;

  // The version grows with every change of a row. ChangedSince(v) lists the rows that changed after version v, each at
  // least once; nullopt: the log does not reach back to v, so that all rows have to be read.
  virtual std::uint64_t version() const = 0;
  virtual std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const = 0;
  // Parallel to the rows in ChangedSince(version): how many of the row's pods the change kept. The pods before this
  // index in NodeInfo::pods() have the same classes as before.
  virtual std::span<const std::uint32_t> PodsKeptSince(std::uint64_t version) const = 0;
  // Grows when a node is added, removed, or its object changes. Answers with Dependency::kCluster depend on it.
  virtual std::uint64_t nodes_version() const = 0;
};

}  // namespace berth::framework
