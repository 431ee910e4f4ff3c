// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_restrictions/claims_in_use.h"

namespace berth::plugins {

void ClaimsInUse::Update(const framework::NodeTable& nodes) {
  if (!table_.IsSame(nodes)) {
    keys_by_row_.clear();
    pod_counts_.clear();
  }
  keys_by_row_.resize(nodes.row_count());
  table_.ForChanged(nodes,
                    [&](framework::NodeIndex row, std::size_t) { UpdateRow(nodes.Info(row), keys_by_row_[row]); });
}

void ClaimsInUse::UpdateRow(const framework::NodeInfo& node, std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto it = pod_counts_.find(key);
    if (--it->second == 0) pod_counts_.erase(it);
  }
  keys.clear();
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
