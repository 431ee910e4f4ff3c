// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/column_node_table.h"

#include <algorithm>
#include <map>

#include "berth/base/check.h"
#include "berth/base/prefetch.h"

namespace berth::cache {
namespace {

using framework::kNoNode;
using framework::ValueId;

bool IsSameForScheduling(const api::Node& a, const api::Node& b) {
  return a.unschedulable == b.unschedulable && a.taints == b.taints && a.allocatable == b.allocatable &&
         a.images == b.images && a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations && a.declared_features == b.declared_features &&
         a.conditions == b.conditions;
}

// The image names of a node, without duplicates, with their sizes.
std::map<std::string_view, std::int64_t> ImageSizes(const api::Node& node) {
  std::map<std::string_view, std::int64_t> sizes;
  for (const api::ContainerImage& image : node.images) {
    for (const std::string& name : image.names) sizes.try_emplace(name, image.size_bytes);
  }
  return sizes;
}

// A key that is equal for equal taint lists only: each text is preceded by its length.
std::string TaintKey(const std::vector<api::Taint>& taints) {
  std::string key;
  for (const api::Taint& taint : taints) {
    for (const std::string& text : {taint.key, taint.value})
      key.append(std::to_string(text.size())).append(1, ' ').append(text);
    key.append(std::to_string(static_cast<int>(taint.effect))).append(1, ' ');
  }
  return key;
}

// Whether a node's capacity and the two sums of requests are in the usual range, in one comparison.
bool IsUsual(std::int64_t allocatable, std::int64_t requested, std::int64_t nonzero) {
  // A capacity of 0 wraps to all ones, so that it is out of range like a negative amount.
  return ((static_cast<std::uint64_t>(allocatable) - 1) | static_cast<std::uint64_t>(requested) |
          static_cast<std::uint64_t>(nonzero)) < static_cast<std::uint64_t>(framework::kUsualAmountMax);
}

double Reciprocal(std::int64_t amount) { return amount == 0 ? 0 : 1 / static_cast<double>(amount); }

}  // namespace

ColumnNodeTable::NodeIndex ColumnNodeTable::Find(std::string_view node_name) const {
  const auto it = row_of_name_.find(node_name);
  return it != row_of_name_.end() && infos_[it->second].has_node() ? it->second : kNoNode;
}

ColumnNodeTable::NodeIndex ColumnNodeTable::RowFor(std::string_view node_name) {
  const auto it = row_of_name_.find(node_name);
  if (it != row_of_name_.end()) return it->second;
  NodeIndex row = 0;
  if (!free_rows_.empty()) {
    row = free_rows_.back();
    free_rows_.pop_back();
  } else {
    row = static_cast<NodeIndex>(infos_.size());
    infos_.emplace_back();
    names_.emplace_back();
    const std::size_t count = infos_.size();
    Columns& c = columns_;
    for (auto* column : {&c.allocatable_cpu_milli, &c.allocatable_memory_bytes, &c.allocatable_ephemeral_bytes,
                         &c.allocatable_pods, &c.requested_cpu_milli, &c.requested_memory_bytes,
                         &c.requested_ephemeral_bytes, &c.nonzero_cpu_milli, &c.nonzero_memory_bytes, &c.pod_count}) {
      column->resize(count);
    }
    c.reciprocal_cpu.resize(count);
    c.reciprocal_memory.resize(count);
    c.is_unusual.resize(count);
    c.is_unschedulable.resize(count);
    c.taint_set.resize(count);
    for (auto& [key, column] : label_columns_) column.resize(count);
  }
  names_[row] = node_name;
  row_of_name_.emplace(node_name, row);
  return row;
}

void ColumnNodeTable::FreeRowIfEmpty(NodeIndex row) {
  if (infos_[row].has_node() || !infos_[row].pods().empty()) return;
  row_of_name_.erase(names_[row]);
  names_[row].clear();
  infos_[row] = NodeInfo();
  free_rows_.push_back(row);
}

ColumnNodeTable::NodeIndex ColumnNodeTable::SetNode(std::shared_ptr<const api::Node> node) {
  BoundOnDemandData();
  const NodeIndex row = RowFor(node->metadata.name);
  NodeInfo& info = infos_[row];
  if (info.has_node()) {
    const bool same = IsSameForScheduling(info.node(), *node);
    const bool same_images = same || info.node().images == node->images;
    if (!same_images) RemoveImages(row);
    if (!same && info.node().metadata.labels != node->metadata.labels) {
      CountLabelKeys(*node, +1);
      CountLabelKeys(info.node(), -1);
    }
    info.SetNode(std::move(node));
    if (same) return row;
    if (!same_images) AddImages(row);
  } else {
    CountLabelKeys(*node, +1);
    info.SetNode(std::move(node));
    AddImages(row);
    rows_.insert(std::lower_bound(rows_.begin(), rows_.end(), row), row);
  }
  ++nodes_version_;
  SyncObject(row);
  SyncPods(row);
  Touch(row, 0);
  return row;
}

void ColumnNodeTable::RemoveNode(std::string_view node_name) {
  const NodeIndex row = Find(node_name);
  if (row == kNoNode) return;
  RemoveImages(row);
  CountLabelKeys(infos_[row].node(), -1);
  infos_[row].ClearNode();
  rows_.erase(std::lower_bound(rows_.begin(), rows_.end(), row));
  ++nodes_version_;
  SyncObject(row);
  SyncPods(row);
  Touch(row, 0);
  FreeRowIfEmpty(row);
}

ColumnNodeTable::NodeIndex ColumnNodeTable::AddPod(framework::PodInfoPtr pod) {
  const NodeIndex row = RowFor(pod->node_name);
  AddPod(row, std::move(pod));
  return row;
}

void ColumnNodeTable::AddPod(NodeIndex row, framework::PodInfoPtr pod) {
  BERTH_DCHECK(names_[row] == pod->node_name, names_[row], pod->node_name);
  const std::size_t pods_kept = infos_[row].pods().size();
  infos_[row].AddPod(std::move(pod));
  SyncPods(row);
  Touch(row, pods_kept);
}

framework::PodInfoPtr ColumnNodeTable::PodOn(NodeIndex row, std::string_view uid) const {
  for (const framework::PodInfoPtr& pod : infos_[row].pods()) {
    if (pod->uid == uid) return pod;
  }
  return nullptr;
}

std::size_t ColumnNodeTable::RemovePod(NodeIndex row, std::string_view uid) { return RemovePod(row, PodOn(row, uid)); }

std::size_t ColumnNodeTable::RemovePod(NodeIndex row, const framework::PodInfoPtr& pod) {
  const std::optional<std::size_t> pods_kept = infos_[row].RemovePod(pod);
  BERTH_CHECK(pods_kept.has_value(), names_[row]);
  SyncPods(row);
  Touch(row, *pods_kept);
  FreeRowIfEmpty(row);
  return *pods_kept;
}

ColumnNodeTable::NodeIndex ColumnNodeTable::PutBack(framework::PodInfoPtr pod, std::size_t place) {
  const NodeIndex row = RowFor(pod->node_name);
  NodeInfo& info = infos_[row];
  BERTH_CHECK(place <= info.pods().size(), names_[row], place, info.pods().size());
  if (place < info.pods().size()) {
    framework::PodInfoPtr moved = info.pods()[place];
    info.UpdatePod(moved, std::move(pod));
    pod = std::move(moved);
  }
  info.AddPod(std::move(pod));
  SyncPods(row);
  Touch(row, place);
  return row;
}

void ColumnNodeTable::UpdatePod(NodeIndex row, framework::PodInfoPtr pod) {
  const framework::PodInfoPtr before = PodOn(row, pod->uid);
  UpdatePod(row, before, std::move(pod));
}

void ColumnNodeTable::UpdatePod(NodeIndex row, const framework::PodInfoPtr& before, framework::PodInfoPtr pod) {
  // Start time and deletion are not part of the class. They count because some plugins ignore pods that are being
  // deleted, and preemption compares victims by their start.
  const bool is_same = before != nullptr && before->pod_class == pod->pod_class &&
                       before->deletion_time.has_value() == pod->deletion_time.has_value() &&
                       before->start_time == pod->start_time;
  const std::optional<std::size_t> pods_kept = infos_[row].UpdatePod(before, std::move(pod));
  BERTH_CHECK(pods_kept.has_value(), names_[row]);
  if (is_same) return;
  SyncPods(row);
  Touch(row, *pods_kept);
}

void ColumnNodeTable::SyncObject(NodeIndex row) {
  const NodeInfo& info = infos_[row];
  const bool has_node = info.has_node();
  Columns& c = columns_;
  c.allocatable_cpu_milli[row] = info.allocatable().cpu_milli;
  c.allocatable_memory_bytes[row] = info.allocatable().memory_bytes;
  c.allocatable_ephemeral_bytes[row] = info.allocatable().ephemeral_storage_bytes;
  c.allocatable_pods[row] = info.allocatable().pods;
  c.reciprocal_cpu[row] = Reciprocal(info.allocatable().cpu_milli);
  c.reciprocal_memory[row] = Reciprocal(info.allocatable().memory_bytes);
  c.unschedulable_count -= c.is_unschedulable[row];
  c.is_unschedulable[row] = has_node && info.node().unschedulable ? 1 : 0;
  c.unschedulable_count += c.is_unschedulable[row];
  const std::uint32_t before = c.taint_set[row];
  c.taint_set[row] = has_node ? AcquireTaintSet(info.node().taints) : 0;
  ReleaseTaintSet(before);
  c.tainted_count += c.taint_set[row] != 0 ? 1 : 0;
  c.tainted_count -= before != 0 ? 1 : 0;
  for (auto& [key, column] : label_columns_) FillLabelCell(key, column, row);
}

void ColumnNodeTable::SyncPods(NodeIndex row) {
  const NodeInfo& info = infos_[row];
  Columns& c = columns_;
  c.requested_cpu_milli[row] = info.requested().cpu_milli;
  c.requested_memory_bytes[row] = info.requested().memory_bytes;
  c.requested_ephemeral_bytes[row] = info.requested().ephemeral_storage_bytes;
  c.nonzero_cpu_milli[row] = info.nonzero_cpu_milli();
  c.nonzero_memory_bytes[row] = info.nonzero_memory_bytes();
  c.pod_count[row] = static_cast<std::int64_t>(info.pods().size());
  const bool is_usual =
      !info.has_node() ||
      (IsUsual(c.allocatable_cpu_milli[row], c.requested_cpu_milli[row], c.nonzero_cpu_milli[row]) &&
       IsUsual(c.allocatable_memory_bytes[row], c.requested_memory_bytes[row], c.nonzero_memory_bytes[row]));
  c.unusual_count -= c.is_unusual[row];
  c.is_unusual[row] = is_usual ? 0 : 1;
  c.unusual_count += c.is_unusual[row];
}

void ColumnNodeTable::Prefetch(NodeIndex row) const {
  berth::Prefetch(&infos_[row]);
  const Columns& c = columns_;
  for (const auto* column : {&c.requested_cpu_milli, &c.requested_memory_bytes, &c.requested_ephemeral_bytes,
                             &c.nonzero_cpu_milli, &c.nonzero_memory_bytes, &c.pod_count}) {
    berth::Prefetch(column->data() + row);
  }
}

void ColumnNodeTable::Touch(NodeIndex row, std::size_t pods_kept) {
  log_.push_back(row);
  log_pods_kept_.push_back(static_cast<std::uint32_t>(pods_kept));
  // Replaying a log longer than the table is no faster than reading all rows.
  const std::size_t log_max = 2 * infos_.size() + 1024;
  if (log_.size() <= log_max) return;
  const std::size_t dropped = log_.size() / 2;
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
  log_pods_kept_.erase(log_pods_kept_.begin(), log_pods_kept_.begin() + static_cast<std::ptrdiff_t>(dropped));
  log_base_ += dropped;
}

std::optional<std::span<const ColumnNodeTable::NodeIndex>> ColumnNodeTable::ChangedSince(std::uint64_t since) const {
  if (since < log_base_) return std::nullopt;
  BERTH_DCHECK(since <= version(), since, version());
  return std::span<const NodeIndex>(log_).subspan(since - log_base_);
}

std::span<const std::uint32_t> ColumnNodeTable::PodsKeptSince(std::uint64_t since) const {
  BERTH_DCHECK(since >= log_base_ && since <= version(), since, log_base_, version());
  return std::span<const std::uint32_t>(log_pods_kept_).subspan(since - log_base_);
}

void ColumnNodeTable::BoundOnDemandData() {
  if (label_columns_.size() <= kLabelColumnsMax && values_.size() <= kValuesMax) return;
  label_columns_.clear();
  value_ids_.clear();
  values_.assign(1, std::string());
  ++values_version_;
}

void ColumnNodeTable::AddImages(NodeIndex row) {
  for (const auto& [name, size_bytes] : ImageSizes(infos_[row].node())) {
    std::vector<NodeIndex>& rows = images_.try_emplace(name, ImageState{{}, size_bytes}).first->second.rows;
    rows.insert(std::lower_bound(rows.begin(), rows.end(), row), row);
  }
}

void ColumnNodeTable::RemoveImages(NodeIndex row) {
  for (const auto& [name, size_bytes] : ImageSizes(infos_[row].node())) {
    const auto it = images_.find(name);
    std::vector<NodeIndex>& rows = it->second.rows;
    rows.erase(std::lower_bound(rows.begin(), rows.end(), row));
    if (rows.empty()) images_.erase(it);
  }
}

std::int64_t ColumnNodeTable::ImageNodeCount(std::string_view image) const {
  return static_cast<std::int64_t>(ImageRows(image).size());
}

std::span<const ColumnNodeTable::NodeIndex> ColumnNodeTable::ImageRows(std::string_view image) const {
  const auto it = images_.find(image);
  return it == images_.end() ? std::span<const NodeIndex>() : std::span<const NodeIndex>(it->second.rows);
}

std::int64_t ColumnNodeTable::ImageSizeBytes(std::string_view image) const {
  const auto it = images_.find(image);
  return it == images_.end() ? 0 : it->second.size_bytes;
}

void ColumnNodeTable::SetImageSizeBytes(std::string_view image, std::int64_t size_bytes) {
  const auto it = images_.find(image);
  if (it != images_.end()) it->second.size_bytes = size_bytes;
}

std::uint32_t ColumnNodeTable::AcquireTaintSet(const std::vector<api::Taint>& taints) {
  if (taints.empty()) return 0;
  const auto [it, is_new] = taint_set_ids_.try_emplace(TaintKey(taints), 0);
  if (!is_new) {
    ++taint_sets_[it->second].users;
    return it->second;
  }
  if (free_taint_sets_.empty()) {
    it->second = static_cast<std::uint32_t>(taint_sets_.size());
    taint_sets_.push_back({taints, 1});
  } else {
    it->second = free_taint_sets_.back();
    free_taint_sets_.pop_back();
    taint_sets_[it->second] = {taints, 1};
  }
  return it->second;
}

void ColumnNodeTable::ReleaseTaintSet(std::uint32_t id) {
  if (id == 0 || --taint_sets_[id].users > 0) return;
  taint_set_ids_.erase(TaintKey(taint_sets_[id].taints));
  taint_sets_[id].taints.clear();
  free_taint_sets_.push_back(id);
}

ValueId ColumnNodeTable::Intern(std::string_view value) const {
  const auto [it, added] = value_ids_.try_emplace(std::string(value), static_cast<ValueId>(values_.size()));
  if (added) values_.emplace_back(value);
  return it->second;
}

void ColumnNodeTable::FillLabelCell(const std::string& key, std::vector<ValueId>& column, NodeIndex row) const {
  const std::string* value = infos_[row].has_node() ? infos_[row].node().metadata.labels.Find(key) : nullptr;
  column[row] = value ? Intern(*value) : 0;
}

void ColumnNodeTable::CountLabelKeys(const api::Node& node, int difference) {
  for (const auto& [key, value] : node.metadata.labels) {
    std::uint32_t& count = label_keys_[key];
    count += static_cast<std::uint32_t>(difference);
    if (count == 0) label_keys_.erase(key);
  }
}

std::span<const ValueId> ColumnNodeTable::LabelColumn(std::string_view key) const {
  const auto found = label_columns_.find(key);
  if (found != label_columns_.end()) return found->second;
  if (!label_keys_.contains(key)) {
    no_labels_.resize(infos_.size());
    return no_labels_;
  }
  const auto it = label_columns_.try_emplace(std::string(key), infos_.size()).first;
  for (NodeIndex row = 0; row < infos_.size(); ++row) FillLabelCell(it->first, it->second, row);
  return it->second;
}

std::optional<ValueId> ColumnNodeTable::FindValue(std::string_view value) const {
  const auto it = value_ids_.find(value);
  return it == value_ids_.end() ? std::nullopt : std::optional<ValueId>(it->second);
}

}  // namespace berth::cache
