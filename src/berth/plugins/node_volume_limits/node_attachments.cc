// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/node_attachments.h"

#include <algorithm>

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

VolumeLimits VolumeLimitsOf(const api::CsiNode* csi_node) {
  VolumeLimits limits;
  if (csi_node == nullptr) return limits;
  for (const api::CsiNodeDriver& driver : csi_node->drivers) {
    if (!driver.allocatable_count) continue;
    // When a driver is listed twice, its last limit counts.
    const auto it =
        std::find_if(limits.begin(), limits.end(), [&](const auto& limit) { return limit.first == driver.name; });
    if (it == limits.end()) {
      limits.emplace_back(driver.name, *driver.allocatable_count);
    } else {
      it->second = *driver.allocatable_count;
    }
  }
  return limits;
}

std::shared_ptr<NodeAttachments> NodeAttachments::Make(const Objects& objects) {
  const auto made = std::make_shared<NodeAttachments>();
  for (const auto& [key, attachment] : objects.Of<api::VolumeAttachment>()) made->Attach(*attachment);
  objects.Of<api::VolumeAttachment>().Listen(
      [weak = std::weak_ptr<NodeAttachments>(made)](const auto& before, const auto& after) {
        const auto self = weak.lock();
        if (!self) return;
        if (before) self->Detach(*before);
        if (after) self->Attach(*after);
      });
  objects.Of<api::CsiNode>().Listen(
      [weak = std::weak_ptr<NodeAttachments>(made)](const auto& before, const auto& after) {
        if (const auto self = weak.lock()) self->MarkStale((before ? before : after)->metadata.name);
      });
  return made;
}

const std::set<std::string, std::less<>>& NodeAttachments::AttachmentsOf(std::string_view node_name) const {
  static const std::set<std::string, std::less<>> kNone;
  const auto it = attachments_.find(node_name);
  return it == attachments_.end() ? kNone : it->second;
}

void NodeAttachments::Attach(const api::VolumeAttachment& attachment) {
  attachments_[attachment.node_name].insert(attachment.metadata.name);
  MarkStale(attachment.node_name);
}

void NodeAttachments::Detach(const api::VolumeAttachment& attachment) {
  const auto it = attachments_.find(attachment.node_name);
  if (it == attachments_.end()) return;
  it->second.erase(attachment.metadata.name);
  if (it->second.empty()) attachments_.erase(it);
  MarkStale(attachment.node_name);
}

void NodeAttachments::MarkStale(const std::string& node_name) {
  if (is_all_stale_) return;
  stale_.push_back(node_name);
  if (stale_.size() <= kStaleMax) return;
  is_all_stale_ = true;
  stale_.clear();
}

void NodeAttachments::Update(const NodeTable& nodes, const Objects& objects) {
  const bool has_other_nodes =
      nodes_ != &nodes || nodes_version_ != nodes.nodes_version() || rows_.size() != nodes.row_count();
  if (has_other_nodes || is_all_stale_ || limit_sets_.size() > kLimitSetsMax) {
    rows_.assign(nodes.row_count(), Row());
    limit_sets_.resize(1);
    for (const NodeIndex row : nodes.rows()) FillRow(nodes, objects, row);
  } else {
    for (const std::string& name : stale_) {
      const NodeIndex row = nodes.Find(name);
      if (row != kNoNode) FillRow(nodes, objects, row);
    }
  }
  stale_.clear();
  is_all_stale_ = false;
  nodes_ = &nodes;
  nodes_version_ = nodes.nodes_version();
}

void NodeAttachments::FillRow(const NodeTable& nodes, const Objects& objects, NodeIndex row) {
  const std::string& name = nodes.Info(row).name();
  const api::CsiNode* csi_node = objects.Of<api::CsiNode>().Find(name);
  const VolumeLimits limits = VolumeLimitsOf(csi_node);
  // Nodes of a kind have the same limits: few sets are in use at a time.
  auto it = std::find(limit_sets_.begin(), limit_sets_.end(), limits);
  if (it == limit_sets_.end()) it = limit_sets_.insert(limit_sets_.end(), limits);
  rows_[row] = {csi_node != nullptr, static_cast<std::uint32_t>(it - limit_sets_.begin()),
                static_cast<std::uint32_t>(AttachmentsOf(name).size())};
}

}  // namespace berth::plugins
