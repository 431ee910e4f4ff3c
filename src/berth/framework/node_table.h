// NodeTable: all nodes as columns, one row a node. What column plugins read; the cache alone changes it, on the core's
// thread and only between evaluations. A node keeps its row for life; a row that is used again has a new version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/node_info.h"

namespace berth::framework {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

// Interned strings of label values; 0: the node has no such label.
using ValueId = std::uint32_t;

inline constexpr std::int64_t kUsualAmountMax = std::int64_t{1} << 46;

class NodeTable {
 public:
  virtual ~NodeTable() = default;

  // One more than the largest row in use; columns have this length. Rows without a node are not in rows().
  virtual std::size_t row_count() const = 0;
  // Rows that hold a node, ascending.
  virtual std::span<const NodeIndex> rows() const = 0;
  virtual std::size_t node_count() const = 0;
  // kNoNode when there is no such node.
  virtual NodeIndex Find(std::string_view node_name) const = 0;
  virtual const NodeInfo& Info(NodeIndex row) const = 0;

  // Columns, indexed by row. Units as in Resource. Rows without a node hold zeros.
  struct Columns {
    std::vector<std::int64_t> allocatable_cpu_milli, allocatable_memory_bytes, allocatable_ephemeral_bytes,
        allocatable_pods;
    std::vector<std::int64_t> requested_cpu_milli, requested_memory_bytes, requested_ephemeral_bytes;
    std::vector<std::int64_t> nonzero_cpu_milli, nonzero_memory_bytes;
    std::vector<std::int64_t> pod_count;
    // 1 / allocatable, rounded to nearest; 0 where that is 0. Spares column forms the division.
    std::vector<double> reciprocal_cpu, reciprocal_memory;
    std::vector<std::uint8_t> is_unschedulable;
    std::vector<std::uint32_t> taint_set;  // equal ids: equal taint lists; id 0: no taints
    // Whether a node's amounts of cpu or memory are so large, or its capacity 0, that scores by them are not exact in
    // double precision: a hundred times kUsualAmountMax is below 2^53.
    std::vector<std::uint8_t> is_unusual;
    std::size_t unusual_count = 0;
    // How many rows have is_unschedulable, and a taint_set other than 0.
    std::size_t unschedulable_count = 0, tainted_count = 0;
  };
  virtual const Columns& columns() const = 0;

  // The taints behind an id of Columns::taint_set; ids are below taint_set_count(). They hold for one evaluation: do
  // not keep them in a CycleState.
  virtual const std::vector<api::Taint>& TaintSet(std::uint32_t id) const = 0;
  virtual std::size_t taint_set_count() const = 0;

  // The column of one label: the id of its value in each row. Built when first asked for, then kept up to date. The
  // span holds for one evaluation. Ids hold while values_version() is the same, so what is counted by id can be kept
  // with that version.
  virtual std::span<const ValueId> LabelColumn(std::string_view key) const = 0;
  // The id of a label value; nullopt when no node has had it under any asked-for key.
  virtual std::optional<ValueId> FindValue(std::string_view value) const = 0;
  virtual std::string_view Value(ValueId id) const = 0;
  // Ids of label values are below value_count().
  virtual std::size_t value_count() const = 0;
  virtual std::uint64_t values_version() const = 0;

  // How many nodes have an image of that (normalised) name.
  virtual std::int64_t ImageNodeCount(std::string_view image) const = 0;
  // The size that counts for that image on every node: the one that the first node to have it reported (upstream keeps
  // one state per image name and never updates its size). 0 when no node has it.
  virtual std::int64_t ImageSizeBytes(std::string_view image) const = 0;
  // The rows whose nodes have it, ascending. Holds for one evaluation.
  virtual std::span<const NodeIndex> ImageRows(std::string_view image) const = 0;

  // Grows with every change of a row. ChangedSince(v) lists the rows that changed after version() was v, each at least
  // once; nullopt when that is too long ago: look at all rows.
  virtual std::uint64_t version() const = 0;
  virtual std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const = 0;
  // Grows when a node is added, removed or its object changes: what cluster-wide scores rest on.
  virtual std::uint64_t nodes_version() const = 0;
};

}  // namespace berth::framework
