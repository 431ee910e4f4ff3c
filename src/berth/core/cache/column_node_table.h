// SPDX-License-Identifier: Apache-2.0
// ColumnNodeTable: the node table that the cache owns and changes. Within turns only.
#pragma once

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

  // Bounds of what is built on demand; beyond them it is dropped and built anew when asked for.
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

  // Of the row's node.
  const std::string& Name(NodeIndex row) const { return names_[row]; }
  // Brings what AddPod(row, ...) will change into the processor's cache, while something else is done: of thousands of
  // nodes it has most of the chosen node's data no longer, and each of its lines would be waited for.
  void Prefetch(NodeIndex row) const;

  // The row of the node, made when there is none. A node object that differs only in what scheduling does not read
  // (heartbeats) changes no version.
  NodeIndex SetNode(std::shared_ptr<const api::Node> node);
  // The pods stay until they are removed one by one.
  void RemoveNode(std::string_view node_name);

  // As it was told before: for who takes back a change of nodes, after which an image's first node may be another one.
  // Without effect for an image that no node has. Follow a call of SetNode() with it.
  void SetImageSizeBytes(std::string_view image, std::int64_t size_bytes);

  // Something outside has changed what is to be said of the node in this row.
  void RecordChange(NodeIndex row) { Touch(row, infos_[row].pods().size()); }

  // Adds a pod to the row of pod->node_name; a node that is not known yet gets a row that rows() does not list.
  NodeIndex AddPod(framework::PodInfoPtr pod);
  // To the row of that node, which has one.
  void AddPod(NodeIndex row, framework::PodInfoPtr pod);
  void RemovePod(NodeIndex row, std::string_view uid);
  // This very object, which spares a look at the node's other pods.
  void RemovePod(NodeIndex row, const framework::PodInfoPtr& pod);
  // Replaces the pod of the same uid. Without effect on versions when the class is the same, when the pod started, and
  // whether it is being deleted.
  void UpdatePod(NodeIndex row, framework::PodInfoPtr pod);
  void UpdatePod(NodeIndex row, const framework::PodInfoPtr& before, framework::PodInfoPtr pod);

 private:
  struct InternedTaints {
    std::vector<api::Taint> taints;
    std::uint32_t users = 0;
  };

  struct ImageState {
    std::vector<NodeIndex> rows;  // ascending
    std::int64_t size_bytes = 0;  // as the first node to have it said; never updated, as upstream
  };

  NodeIndex RowFor(std::string_view node_name);
  void FreeRowIfEmpty(NodeIndex row);
  framework::PodInfoPtr PodOn(NodeIndex row, std::string_view uid) const;  // null: it is not there
  void SyncObject(NodeIndex row);                                          // columns that follow the node object
  void SyncPods(NodeIndex row);                                            // columns that follow its pods
  void Touch(NodeIndex row, std::size_t pods_kept);
  void BoundOnDemandData();
  void AddImages(NodeIndex row);  // those of its node
  void RemoveImages(NodeIndex row);
  std::uint32_t AcquireTaintSet(const std::vector<api::Taint>& taints);
  void ReleaseTaintSet(std::uint32_t id);
  framework::ValueId Intern(std::string_view value) const;
  void FillLabelCell(const std::string& key, std::vector<framework::ValueId>& column, NodeIndex row) const;
  void CountLabelKeys(const api::Node& node, int difference);

  std::vector<NodeInfo> infos_;
  std::vector<std::string> names_;  // of each row in use, with or without node object
  std::vector<NodeIndex> rows_;     // with a node object, ascending
  std::vector<NodeIndex> free_rows_;
  StringHashMap<NodeIndex> row_of_name_;
  Columns columns_;

  StringHashMap<std::uint32_t> taint_set_ids_;  // by TaintKey
  std::vector<InternedTaints> taint_sets_{InternedTaints{{}, 1}};
  std::vector<std::uint32_t> free_taint_sets_;

  // Of keys that some node has had. The others share one column of zeros: a pod may name as many as it likes.
  mutable StringHashMap<std::vector<framework::ValueId>> label_columns_;
  mutable std::vector<framework::ValueId> no_labels_;
  StringHashMap<std::uint32_t> label_keys_;  // how many nodes have each
  mutable StringHashMap<framework::ValueId> value_ids_;
  mutable std::vector<std::string> values_{std::string()};
  std::uint64_t values_version_ = 0;

  StringHashMap<ImageState> images_;

  // The newest changes, oldest first; the entry at i brought the table to version log_base_ + i + 1.
  std::vector<NodeIndex> log_;
  std::vector<std::uint32_t> log_pods_kept_;  // parallel to it
  std::uint64_t log_base_ = 0;
  std::uint64_t nodes_version_ = 0;
};

}  // namespace berth::cache
