// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/spread_counts.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {

using framework::NodeTable;
using framework::PodClass;

SpreadCounts::SpreadCounts(std::shared_ptr<const PodClass> pod_class, const std::vector<SpreadConstraint>& hard,
                           const std::vector<SpreadConstraint>& soft, bool soft_needs_all_keys, SpreadIndex& index)
    : pod_class_(std::move(pod_class)), epoch_(index.epoch()) {
  AddGroup(hard, false, true, index, hard_);
  AddGroup(soft, true, soft_needs_all_keys, index, soft_);
  constexpr std::size_t kPointersPerConstraint = 5;
  bytes_ = sizeof(*this) + BytesOf(hard_.constraints) + BytesOf(soft_.constraints) +
           (hard_.constraints.size() + soft_.constraints.size()) * kPointersPerConstraint * sizeof(void*);
}

bool SpreadCounts::IsOf(const SpreadIndex& index) const {
  const auto holds = [](const Group& group) { return group.missing == nullptr || group.missing->row_count == 0; };
  return epoch_ == index.epoch() && holds(hard_) && holds(soft_);
}

void SpreadCounts::AddGroup(const std::vector<SpreadConstraint>& all, bool is_soft, bool needs_all_keys,
                            SpreadIndex& index, Group& group) {
  if (all.empty()) return;
  const NodeTable& nodes = *index.table();
  SpreadTopology::Decisive decisive{all.size(), nullptr};
  if (needs_all_keys) decisive = index.topology().DecisiveOf(all, nodes);
  group.constraints.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(decisive.count));
  group.missing = std::move(decisive.missing);
  const std::vector<SpreadConstraint>& constraints = group.constraints;
  const std::shared_ptr<SpreadKeySet> key_set = index.topology().KeySetFor(constraints, needs_all_keys, nodes);
  group.key_set = key_set;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    // Most constraints of a pod have one selector.
    const bool is_known = i > 0 && constraints[i].selector == constraints[i - 1].selector;
    group.pods.push_back(is_known ? group.pods.back()
                                  : index.SelectorFor(pod_class_->namespace_name, constraints[i].selector,
                                                      constraints[i].counts_by_empty_selector));
    SelectorCounts* const pods = group.pods.back().get();
    if (std::find(distinct_pods_.begin(), distinct_pods_.end(), pods) == distinct_pods_.end()) {
      distinct_pods_.push_back(pods);
    }
    // The pods on the node itself are scored, whether or not it is included.
    const bool has_domains = !is_soft || constraints[i].topology_key != kHostnameKey;
    group.domains.push_back(
        has_domains ? pods->Follow(index.topology().LayoutFor(key_set, i, constraints[i], *pod_class_, nodes))
                    : nullptr);
  }
}

void SpreadCounts::Update(const SpreadIndex& index) {
  for (SelectorCounts* pods : distinct_pods_) index.Update(*pods);
}

}  // namespace berth::plugins
