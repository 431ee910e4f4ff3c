// SPDX-License-Identifier: Apache-2.0
// RowMatcher: Decide's view of the rows of a node table. Terms are bound to label columns once, and what names label
// values (volumes of one host or zone, capacities of a segment) is found by the row's value instead of being tried.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/plugins/helper/node_selector.h"
#include "berth/plugins/volume_binding/pod_volumes.h"

namespace berth::plugins::volumes {

// A list of items, each with terms that are alternatives. Finds the first item that matches a row. Valid until the node
// table changes.
class TermIndex {
 public:
  explicit TermIndex(const framework::NodeTable& nodes) : nodes_(nodes) {}

  // Items are added in ascending order. `term` has no fields and must outlive the index.
  void Add(std::size_t item, const api::NodeSelectorTerm& term);
  void AddForAll(std::size_t item) { others_.push_back({item, -1}); }
  // After the last Add, before the first question.
  void Finish();

  // The smallest item that matches the row and that `is_allowed` lets through; npos: none.
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  template <typename IsAllowed>
  std::size_t First(framework::NodeIndex row, const IsAllowed& is_allowed) const {
    std::size_t best = FirstOf(others_, row, npos, is_allowed);
    for (const Column& column : columns_) {
      const framework::ValueId value = column.values[row];
      if (value == 0) continue;
      const std::size_t begin = column.ends[value - 1];
      best = FirstOf(std::span(column.entries).subspan(begin, column.ends[value] - begin), row, best, is_allowed);
    }
    return best;
  }

 private:
  struct Entry {
    std::size_t item = 0;
    int term = -1;  // of terms_: to be checked; -1: it matches
  };
  struct Column {
    std::string key;
    std::span<const framework::ValueId> values;
    std::vector<std::pair<framework::ValueId, Entry>> added;  // until Finish
    std::vector<Entry> entries;                               // by value
    std::vector<std::uint32_t> ends;                          // of each value's entries
  };

  template <typename IsAllowed>
  std::size_t FirstOf(std::span<const Entry> entries, framework::NodeIndex row, std::size_t best,
                      const IsAllowed& is_allowed) const {
    for (const Entry& entry : entries) {
      if (entry.item >= best) break;
      const bool matches = entry.term < 0 || terms_[static_cast<std::size_t>(entry.term)].Matches(row);
      if (matches && is_allowed(entry.item)) return entry.item;
    }
    return best;
  }
  Column& ColumnOf(const std::string& key);

  const framework::NodeTable& nodes_;
  std::vector<Column> columns_;  // a handful of label keys
  std::vector<Entry> others_;
  std::vector<BoundTerm> terms_;
};

class RowMatcher {
 public:
  // All must outlive the matcher.
  RowMatcher(const Sources& sources, const PodVolumes& pod, const framework::NodeTable& nodes);

  // The node that the questions below are about.
  void SetRow(framework::NodeIndex row) { row_ = row; }

  BoundVerdict Bound(std::size_t i, std::string& error) const;
  bool IsNamed(const std::string& name) const { return nodes_.Info(row_).name() == name; }
  const api::PersistentVolume* Find(std::size_t i, const NodeDecision& decision) const;
  bool IsInTopology(std::size_t i) const;
  const CapacityIndex::Entry* FindCapacity(std::size_t i) const;

 private:
  struct Affinity {
    bool matches_any = true;
    std::vector<BoundTerm> terms;
    bool Matches(framework::NodeIndex row) const;
  };
  struct BoundVolume {
    Affinity in_tree, migrated;
  };
  struct Claim {
    std::vector<Affinity> prebound;
    TermIndex free;
    std::vector<BoundTerm> topologies;
    TermIndex capacities;
    explicit Claim(const framework::NodeTable& nodes) : free(nodes), capacities(nodes) {}
  };

  Affinity Bind(const VolumeAffinity& affinity) const;
  void BindClaim(const DelayedClaim& claim, std::size_t claim_count);

  const Sources& sources_;
  const PodVolumes& pod_;
  const framework::NodeTable& nodes_;
  std::vector<BoundVolume> bound_;
  std::vector<Claim> claims_;
  framework::NodeIndex row_ = framework::kNoNode;
};

}  // namespace berth::plugins::volumes
