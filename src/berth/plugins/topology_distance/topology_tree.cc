// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_distance/topology_tree.h"

namespace berth::plugins {

TopologyTree::DomainId TopologyTree::LeafOf(const api::Node& node) {
  path_.clear();
  DomainId domain = kNoDomain;
  for (std::size_t level = keys_.size(); level-- > 0;) {
    const std::string* const value = node.metadata.labels.Find(keys_[level]);
    const bool is_labelled = value != nullptr && !value->empty();
    // The values of labels have no slash.
    path_ += '/';
    if (is_labelled) path_ += *value;
    const auto [it, is_new] = by_path_.try_emplace(path_, static_cast<DomainId>(domains_.size()));
    if (is_new) domains_.push_back({domain, static_cast<std::uint32_t>(level), is_labelled});
    domain = it->second;
  }
  return domain;
}

void TopologyTree::Clear() {
  domains_.clear();
  by_path_.clear();
}

}  // namespace berth::plugins
