// SPDX-License-Identifier: Apache-2.0
// NodeAttachments: the CSINode and the VolumeAttachments of each node, by the node's name and by row. Fed by the object
// store, so that a pod costs no look-up a node. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/framework/objects.h"

namespace berth::plugins {

// Drivers with a limit on a node, each once.
using VolumeLimits = std::vector<std::pair<std::string, std::int64_t>>;
VolumeLimits VolumeLimitsOf(const api::CsiNode* csi_node);

class NodeAttachments {
 public:
  // Distinct sets of limits, and names of nodes whose row is to be looked at again; beyond that all rows are.
  static constexpr std::size_t kLimitSetsMax = 1024;
  static constexpr std::size_t kStaleMax = 1024;

  struct Row {
    bool has_csi_node = false;
    std::uint32_t limit_set = 0;         // equal ids: equal limits; 0: none
    std::uint32_t attachment_count = 0;  // VolumeAttachments of the node
  };

  // Follows the stores for as long as it lives.
  static std::shared_ptr<NodeAttachments> Make(const framework::Objects& objects);

  // Keys of the VolumeAttachments of a node, in order.
  const std::set<std::string, std::less<>>& AttachmentsOf(std::string_view node_name) const;

  // Brings the rows up to date. They hold until the next change of the table or the stores.
  void Update(const framework::NodeTable& nodes, const framework::Objects& objects);
  std::span<const Row> rows() const { return rows_; }
  const VolumeLimits& LimitSet(std::uint32_t id) const { return limit_sets_[id]; }
  std::size_t limit_set_count() const { return limit_sets_.size(); }

 private:
  void Attach(const api::VolumeAttachment& attachment);
  void Detach(const api::VolumeAttachment& attachment);
  void MarkStale(const std::string& node_name);
  void FillRow(const framework::NodeTable& nodes, const framework::Objects& objects, framework::NodeIndex row);

  StringHashMap<std::set<std::string, std::less<>>> attachments_;  // by node name
  std::vector<Row> rows_;
  std::vector<VolumeLimits> limit_sets_{VolumeLimits()};
  std::vector<std::string> stale_;  // node names
  bool is_all_stale_ = true;
  const framework::NodeTable* nodes_ = nullptr;
  std::uint64_t nodes_version_ = 0;
};

}  // namespace berth::plugins
