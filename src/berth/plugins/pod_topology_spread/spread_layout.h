// SPDX-License-Identifier: Apache-2.0
// Which domain each row of a node table is in, for the topology keys and inclusion policies that spread constraints ask
// for. It rests on node objects alone and is shared by all pod classes that ask the same. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/pod_topology_spread/constraint.h"

namespace berth::plugins {

// The number of a value of one topology key. Given once, never taken back. 0: no domain.
using DomainId = std::uint32_t;
// The empty value: as a label, and where constraints say so of nodes without the label.
inline constexpr DomainId kEmptyDomain = 1;

// The values of one topology key.
struct SpreadKey {
  std::string name;
  std::vector<DomainId> by_row;             // 0: no such label
  std::vector<std::uint32_t> rows_of;       // by domain
  std::size_t shared_count = 0;             // domains of two rows or more
  std::size_t row_count = 0;                // rows that have the label
  std::vector<DomainId> domain_of_value{};  // by the table's ids; 0: not met yet

  // Whether no two rows have the same value now, as with host names.
  bool IsUnique() const { return shared_count == 0; }
  DomainId Find(std::string_view value, const framework::NodeTable& nodes) const;
};

// The topology keys of constraints that are decided together.
struct SpreadKeySet {
  std::vector<std::shared_ptr<SpreadKey>> keys;
  // Nodes that lack one of the keys count in no domain. Not so with the System defaults, where they count in the domain
  // of the empty value: upstream's oddity.
  bool needs_all_keys = true;
  std::vector<std::uint8_t> lacks_key;  // by row: a node that counts in no domain
  std::size_t lacking_rows = 0;
  std::vector<std::vector<std::uint32_t>> rows_of;  // by key and domain, of rows that do not lack a key
  std::vector<std::size_t> domain_counts;           // by key: domains of such rows

  std::size_t Bytes() const;
};

// Where the pods of rows count for one constraint.
struct SpreadLayout {
  std::shared_ptr<SpreadKey> key;
  std::shared_ptr<SpreadKeySet> key_set;
  // What a node must match and bear to be included.
  RequiredNodeAffinity required{api::PodSpec()};
  std::size_t required_bytes = 0;
  bool honors_taints = false;
  std::vector<api::Toleration> tolerations;

  std::vector<bool> is_included;       // by row
  std::vector<std::uint32_t> rows_of;  // by domain: included rows
  std::int32_t domain_count = 0;       // with included rows
  std::uint64_t moves = 0;             // how often a row that pods were counted on moved

  // The domain in which the pods of the row count; 0: none.
  DomainId DomainOf(framework::NodeIndex row) const {
    if (!is_included[row]) return 0;
    return key->by_row[row] != 0 ? key->by_row[row] : kEmptyDomain;
  }
  std::size_t Bytes() const;
};

// All of these for one table.
class SpreadTopology {
 public:
  // Bounds. Beyond them IsOvergrown() is true, and the owner rebuilds.
  static constexpr std::size_t kKeysMax = 512;
  static constexpr std::size_t kLayoutsMax = 4096;
  static constexpr std::size_t kLayoutBytesMax = std::size_t{64} << 20;
  bool IsOvergrown() const;

  // Forgets everything.
  void Reset(const framework::NodeTable& nodes);
  // Makes room for new rows.
  void Grow(const framework::NodeTable& nodes);
  // Looks at `rows` again. A layout's `moves` grow when a row that is_used() moved.
  template <typename IsUsed>
  void Update(const framework::NodeTable& nodes, std::span<const framework::NodeIndex> rows, const IsUsed& is_used) {
    Grow(nodes);
    for (const framework::NodeIndex row : rows) {
      // Most rows change by their pods only.
      if (nodes.Info(row).node_ptr() != node_of_row_[row]) MoveRow(nodes, row, is_used(row));
    }
  }

  // These must be asked for as of the last Update. What they return is kept up to date until the next Reset.
  // Of constraints that only nodes with all keys meet, how many of the first decide: those behind one whose key no node
  // has do not, so that a pod may have as many as it likes. It holds until some row has `missing`.
  struct Decisive {
    std::size_t count = 0;
    std::shared_ptr<const SpreadKey> missing;  // null: each key is on some node
  };
  Decisive DecisiveOf(const std::vector<SpreadConstraint>& constraints, const framework::NodeTable& nodes);
  std::shared_ptr<SpreadKeySet> KeySetFor(const std::vector<SpreadConstraint>& constraints, bool needs_all_keys,
                                          const framework::NodeTable& nodes);
  // The layout of constraints[i] of the key set, for pods of that class.
  std::shared_ptr<SpreadLayout> LayoutFor(const std::shared_ptr<SpreadKeySet>& key_set, std::size_t i,
                                          const SpreadConstraint& constraint, const framework::PodClass& pod_class,
                                          const framework::NodeTable& nodes);

  std::size_t Bytes() const;

 private:
  std::shared_ptr<SpreadKey> Follow(const std::string& name, const framework::NodeTable& nodes);
  void MoveRow(const framework::NodeTable& nodes, framework::NodeIndex row, bool is_used);

  // The nodes by row, as of the last update. They are held so that an equal address is the same node.
  std::vector<std::shared_ptr<const api::Node>> node_of_row_;
  StringHashMap<std::shared_ptr<SpreadKey>> keys_;
  StringHashMap<std::shared_ptr<SpreadKeySet>> key_sets_;
  StringHashMap<std::shared_ptr<SpreadLayout>> layouts_;
  std::size_t row_count_ = 0;
  std::size_t layout_bytes_ = 0;  // when they were made
};

// A text that is the same for equal selectors only.
void AppendText(std::string& out, std::string_view text);
void AppendText(std::string& out, const std::vector<api::Requirement>& requirements);

}  // namespace berth::plugins
