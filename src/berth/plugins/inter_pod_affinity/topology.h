// SPDX-License-Identifier: Apache-2.0
// Topology: the values of a few topology keys over a node table, numbered densely for each key, so that counts by
// (key, value) are plain arrays. Within turns only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"

namespace berth::plugins {

class Topology {
 public:
  using KeyIndex = std::uint32_t;
  // The number of a key's value; they are never taken back. 0: the node has no such label.
  using Ordinal = std::uint32_t;
  static constexpr KeyIndex kNoKey = UINT32_MAX;

  // Bound on keys. Beyond it, or when a key has many more values than there are rows, IsOvergrown() is true and the
  // owner rebuilds.
  static constexpr std::size_t kKeysMax = 512;
  static constexpr std::size_t kMissingKeysMax = 65536;
  bool IsOvergrown() const;

  // The index of a key, followed from now on. `nodes` must be as of the last Update(). All keys that no node has are
  // one, without a name: a pod may have as many as it likes.
  KeyIndex Follow(std::string_view key, const framework::NodeTable& nodes);
  // A node has got a key that none had when it was followed: the owner has to rebuild.
  bool HasMetMissingKey() const { return has_met_missing_key_; }
  KeyIndex Find(std::string_view key) const;  // kNoKey when it is not followed
  const std::string& name(KeyIndex key) const { return keys_[key].name; }

  // Looks at `rows` of the table again. True when one of them that is_used() has another value than before.
  template <typename IsUsed>
  bool Update(const framework::NodeTable& nodes, std::span<const framework::NodeIndex> rows, const IsUsed& is_used) {
    bool has_moved = false;
    row_count_ = nodes.row_count();
    LookForMissingKeys(nodes, rows);
    for (Key& key : keys_) {
      key.by_row.resize(row_count_);
      if (key.name.empty()) continue;
      const std::span<const framework::ValueId> column = nodes.LabelColumn(key.name);
      for (const framework::NodeIndex row : rows) {
        const Ordinal ordinal = column[row] == 0 ? 0 : Intern(key, nodes.Value(column[row]));
        if (ordinal == key.by_row[row]) continue;
        MoveRow(key, row, ordinal);
        has_moved |= is_used(row);
      }
    }
    return has_moved;
  }

  // The ordinal of each row's value of the key, by row.
  const std::vector<Ordinal>& OrdinalsOf(KeyIndex key) const { return keys_[key].by_row; }
  std::size_t OrdinalCount(KeyIndex key) const { return keys_[key].ordinals.size() + 1; }
  // 0 when no node has had that value.
  Ordinal FindOrdinal(KeyIndex key, std::string_view value) const;
  Ordinal InternOrdinal(KeyIndex key, std::string_view value) { return Intern(keys_[key], value); }
  // Whether no two rows have the same value of the key now, as with host names.
  bool IsUnique(KeyIndex key) const { return keys_[key].shared_count == 0; }
  // The row that has the value, where that is one; kNoNode when none has it now.
  framework::NodeIndex RowOf(KeyIndex key, Ordinal ordinal) const;

 private:
  struct Key {
    std::string name;
    std::vector<Ordinal> by_row;
    StringHashMap<Ordinal> ordinals;
    std::vector<std::uint32_t> rows_of;           // by ordinal: how many
    std::vector<framework::NodeIndex> latest_of;  // by ordinal: the row that got it last
    std::size_t shared_count = 0;                 // ordinals of two or more rows
  };

  KeyIndex AddKey(std::string_view name);
  void LookForMissingKeys(const framework::NodeTable& nodes, std::span<const framework::NodeIndex> rows);
  static void MoveRow(Key& key, framework::NodeIndex row, Ordinal ordinal);
  static Ordinal Intern(Key& key, std::string_view value);

  std::vector<Key> keys_;
  StringHashMap<KeyIndex> indexes_;
  StringHashSet missing_keys_;  // that no node has
  KeyIndex missing_ = kNoKey;   // of all of these
  bool has_met_missing_key_ = false;
  std::size_t row_count_ = 0;
};

}  // namespace berth::plugins
