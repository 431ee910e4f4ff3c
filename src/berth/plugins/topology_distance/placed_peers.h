// SPDX-License-Identifier: Apache-2.0
// PlacedPeers: where the peers of a pod run or are assumed. Peers are pods that should be close to each other: those of
// one pod group, or with one value of a label, or of one controller. Kept up to date instead of counted again for each
// pod that is scheduled, and so are the nodes' topology domains. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"
#include "berth/plugins/topology_distance/topology_distance_args.h"
#include "berth/plugins/topology_distance/topology_tree.h"

namespace berth::plugins {

class PlacedPeers {
 public:
  // Sets without a placed pod that are kept beyond as many as there are with one, and domains beyond twice as many as
  // all rows could have; then all is looked at anew.
  static constexpr std::size_t kDeadMax = 4096;
  // Classes whose set is remembered.
  static constexpr std::size_t kClassesMax = 65536;

  // Peers that have a node.
  struct Set {
    std::uint64_t version = 0;   // no other set ever has it
    std::string pod_group_name;  // empty: they are in no pod group
    std::int64_t pods = 0;
    absl::flat_hash_map<framework::NodeIndex, std::int64_t> by_row;
  };

  explicit PlacedPeers(const TopologyDistanceArgs& args);

  // Whether a pod like this one may have peers.
  bool HasPeers(const framework::PodInfo& pod) const;
  // Looks at rows that changed since the last time only. Pods that are being deleted do not count, nor do those on rows
  // without a node object.
  void Sync(const framework::NodeTable& nodes);

  // The pod's peers that have a node, as of the last Sync(); null when none has.
  const Set* Find(const framework::PodInfo& pod) const;
  // kNoDomain for a row without a node.
  TopologyTree::DomainId leaf(framework::NodeIndex row) const {
    return row < rows_.size() ? rows_[row].leaf : TopologyTree::kNoDomain;
  }
  const std::vector<TopologyTree::Domain>& domains() const { return tree_.domains(); }
  // Changes when domains get new numbers; no set has it as its version.
  std::uint64_t numbering() const { return numbering_; }

 private:
  using SetId = std::uint32_t;
  static constexpr SetId kNoSet = UINT32_MAX;

  // A pod as of the last Sync().
  struct Pod {
    std::uint64_t class_id = 0;
    SetId set = kNoSet;  // none also for one that is being deleted
    bool is_in_pod_group = false;
    bool is_terminating = false;
  };
  struct Row {
    std::shared_ptr<const api::Node> node;
    TopologyTree::DomainId leaf = TopologyTree::kNoDomain;
    std::vector<Pod> pods;
  };

  void Reset();
  bool Keeps(const Pod& kept, const framework::PodInfo& pod) const;
  Pod PodOf(const framework::PodInfo& pod);
  SetId SetOf(const framework::PodInfo& pod);
  bool WriteKey(const framework::PodInfo& pod) const;
  void Count(const Pod& pod, framework::NodeIndex row, std::int64_t pods);

  const std::string label_;
  const bool by_controller_;
  const std::size_t level_count_;
  TopologyTree tree_;
  TableSync table_;
  std::uint64_t last_version_ = 1;
  std::uint64_t numbering_ = 1;
  std::vector<Row> rows_;
  std::vector<Set> sets_;
  std::size_t live_sets_ = 0;
  StringHashMap<SetId> set_of_key_;
  absl::flat_hash_map<std::uint64_t, SetId> set_of_class_;  // by PodClass::id, of pods in no pod group; some
  mutable std::string key_;                                 // scratch
};

}  // namespace berth::plugins
