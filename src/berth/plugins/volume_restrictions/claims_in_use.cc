#include "berth/plugins/volume_restrictions/claims_in_use.h"

namespace berth::plugins {

void ClaimsInUse::Update(const framework::NodeTable& nodes) {
  // A table never gets shorter or older: one that seems to is another one at the same address.
  const bool is_same_table =
      nodes_ == &nodes && version_ <= nodes.version() && keys_by_row_.size() <= nodes.row_count();
  const auto changed = is_same_table ? nodes.ChangedSince(version_) : std::nullopt;
  if (!is_same_table) {
    keys_by_row_.clear();
    pod_counts_.clear();
  }
  nodes_ = &nodes;
  version_ = nodes.version();
  keys_by_row_.resize(nodes.row_count());
  if (changed) {
    for (const framework::NodeIndex row : *changed) UpdateRow(row);
  } else {
    for (framework::NodeIndex row = 0; row < nodes.row_count(); ++row) UpdateRow(row);
  }
}

void ClaimsInUse::UpdateRow(framework::NodeIndex row) {
  std::vector<std::string>& keys = keys_by_row_[row];
  for (const std::string& key : keys) {
    const auto it = pod_counts_.find(key);
    if (--it->second == 0) pod_counts_.erase(it);
  }
  keys.clear();
  const framework::NodeInfo& node = nodes_->Info(row);
  if (!node.has_node()) return;
  for (const framework::PodInfoPtr& pod : node.pods()) {
    for (const api::Volume& volume : pod->spec().volumes) {
      if (volume.source.kind != api::VolumeKind::kPersistentVolumeClaim) continue;
      keys.push_back(pod->namespace_name() + "/" + volume.source.id);
      ++pod_counts_[keys.back()];
    }
  }
}

}  // namespace berth::plugins
