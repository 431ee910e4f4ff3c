// SPDX-License-Identifier: Apache-2.0
// ColumnNodeTable: the node table that the cache owns and changes. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"

namespace berth::cache {

class ColumnNodeTable final : public framework::NodeTable {
 public:
  using NodeIndex = framework::NodeIndex;
  using NodeInfo = framework::NodeInfo;

  // Limits on data that is built on demand. When a limit is passed, the data is dropped and built again when needed.
  static constexpr std::size_t kLabelColumnsMax = 256;
  static constexpr std::size_t kValuesMax = 1'000'000;

  std::size_t row_count() const override { return infos_.size(); }
  std::span<const NodeIndex> rows() const override { return rows_; }
  std::size_t node_count() const override { return rows_.size(); }
  NodeIndex Find(std::string_view node_name) const override;
  const NodeInfo& Info(NodeIndex row) const override { return infos_[row]; }
  const Columns& columns() const override { return columns_; }
  const std::vector<api::Taint>& TaintSet(std::uint32_t id) const override { return taint_sets_[id].taints; }
  std::size_t taint_set_count() const override { return taint_sets_.size(); }
  std::span<const framework::ValueId> LabelColumn(std::string_view key) const override;
  std::optional<framework::ValueId> FindValue(std::string_view value) const override;
  std::string_view Value(framework::ValueId id) const override { return values_[id]; }
  std::size_t value_count() const override { return values_.size(); }
  std::uint64_t values_version() const override { return values_version_; }
  std::int64_t ImageNodeCount(std::string_view image) const override;
  std::int64_t ImageSizeBytes(std::string_view image) const override;
  std::span<const NodeIndex> ImageRows(std::string_view image) const override;
  std::uint64_t version() const override { return log_base_ + log_.size(); }
  std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version) const override;
  std::span<const std::uint32_t> PodsKeptSince(std::uint64_t version) const override;
  std::uint64_t nodes_version() const override { return nodes_version_; }

  const std::string& Name(NodeIndex row) const { return names_[row]; }
  // Prefetches what AddPod(row, ...) will change. With thousands of nodes the chosen node's data is mostly not in the
  // CPU's caches.
  void Prefetch(NodeIndex row) const;

  // Adds or replaces a node and returns its row. Changes that scheduling does not read (heartbeats) do not change any
  // version.
  NodeIndex SetNode(std::shared_ptr<const api::Node> node);
  // The node's pods stay until each is removed.
  void RemoveNode(std::string_view node_name);

  // Sets the size of an image. Undoing a change of nodes needs this, because the size depends on which node had the
  // image first. To be called after SetNode(). No effect on an image that no node has.
  void SetImageSizeBytes(std::string_view image, std::int64_t size_bytes);

  // Records a change of outside data that affects the node in this row.
  void RecordChange(NodeIndex row) { Touch(row, infos_[row].pods().size()); }

  // Adds a pod to the row of pod->node_name. An unknown node gets a row that rows() does not list.
  NodeIndex AddPod(framework::PodInfoPtr pod);
  // Adds a pod to `row`, which is the row of pod->node_name.
  void AddPod(NodeIndex row, framework::PodInfoPtr pod);
  // Returns the place that the pod had in NodeInfo::pods(); the last one takes it.
  std::size_t RemovePod(NodeIndex row, std::string_view uid);
  // The same for an object that is on the node, which saves a comparison of uids.
  std::size_t RemovePod(NodeIndex row, const framework::PodInfoPtr& pod);
  // Undoes RemovePod(): the pod that took this place goes to the end again.
  NodeIndex PutBack(framework::PodInfoPtr pod, std::size_t place);
  // Replaces the pod of the same uid. Versions stay the same if the pod's class, start time and deletion state do.
  void UpdatePod(NodeIndex row, framework::PodInfoPtr pod);
  void UpdatePod(NodeIndex row, const framework::PodInfoPtr& before, framework::PodInfoPtr pod);

 private:
  struct InternedTaints {
    std::vector<api::Taint> taints;
    std::uint32_t users = 0;
  };

  struct ImageState {
    std::vector<NodeIndex> rows;  // ascending
    std::int64_t size_bytes = 0;  // size reported by the first node with the image; never updated, as upstream
  };

  NodeIndex RowFor(std::string_view node_name);
  void FreeRowIfEmpty(NodeIndex row);
  framework::PodInfoPtr PodOn(NodeIndex row, std::string_view uid) const;  // null: the pod is not on this node
  void SyncObject(NodeIndex row);  // updates the columns that depend on the node object
  void SyncPods(NodeIndex row);    // updates the columns that depend on the pods
  void Touch(NodeIndex row, std::size_t pods_kept);
  void BoundOnDemandData();
  void AddImages(NodeIndex row);
  void RemoveImages(NodeIndex row);
  std::uint32_t AcquireTaintSet(const std::vector<api::Taint>& taints);
  void ReleaseTaintSet(std::uint32_t id);
  framework::ValueId Intern(std::string_view value) const;
  void FillLabelCell(const std::string& key, std::vector<framework::ValueId>& column, NodeIndex row) const;
  void CountLabelKeys(const api::Node& node, int difference);

  std::vector<NodeInfo> infos_;
  std::vector<std::string> names_;  // of rows in use, with or without a node object
  std::vector<NodeIndex> rows_;     // rows with a node object, ascending
  std::vector<NodeIndex> free_rows_;
  StringHashMap<NodeIndex> row_of_name_;
  Columns columns_;

  StringHashMap<std::uint32_t> taint_set_ids_;  // key: TaintKey
  std::vector<InternedTaints> taint_sets_{InternedTaints{{}, 1}};
  std::vector<std::uint32_t> free_taint_sets_;

  // Columns of label keys that some node has had. All other keys share one column of zeros, because a pod may name any
  // number of keys.
  mutable StringHashMap<std::vector<framework::ValueId>> label_columns_;
  mutable std::vector<framework::ValueId> no_labels_;
  StringHashMap<std::uint32_t> label_keys_;  // number of nodes with each key
  mutable StringHashMap<framework::ValueId> value_ids_;
  mutable std::vector<std::string> values_{std::string()};
  std::uint64_t values_version_ = 0;

  StringHashMap<ImageState> images_;

  // The newest changes, oldest first: entry i made version log_base_ + i + 1.
  std::vector<NodeIndex> log_;
  std::vector<std::uint32_t> log_pods_kept_;  // parallel to log_
  std::uint64_t log_base_ = 0;
  std::uint64_t nodes_version_ = 0;
};

}  // namespace berth::cache
