// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/constraint.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/helper/label_selector.h"

namespace berth::plugins {

Expected<std::vector<SpreadConstraint>> CompileConstraints(
    const std::vector<api::TopologySpreadConstraint>& constraints, const api::StringMap& pod_labels,
    api::UnsatisfiableConstraintAction action, bool counts_by_empty_selector) {
  std::vector<SpreadConstraint> compiled;
  for (const api::TopologySpreadConstraint& source : constraints) {
    if (source.when_unsatisfiable != action) continue;
    SpreadConstraint constraint;
    constraint.max_skew = source.max_skew;
    constraint.topology_key = source.topology_key;
    constraint.selector = source.selector;
    constraint.counts_by_empty_selector = counts_by_empty_selector;
    if (constraint.selector) {
      if (std::string error = LabelSelectorError(*constraint.selector); !error.empty()) {
        return InvalidError(std::move(error));
      }
      for (const std::string& key : source.match_label_keys) {
        if (const std::string* value = pod_labels.Find(key)) {
          constraint.selector->requirements.push_back({key, api::SelectorOperator::kIn, {*value}, {}});
        }
      }
    }
    constraint.min_domains = source.min_domains.value_or(constraint.min_domains);
    constraint.node_affinity_policy = source.node_affinity_policy.value_or(constraint.node_affinity_policy);
    constraint.node_taints_policy = source.node_taints_policy.value_or(constraint.node_taints_policy);
    compiled.push_back(std::move(constraint));
  }
  return compiled;
}

std::size_t BytesOf(const std::vector<SpreadConstraint>& constraints) {
  std::size_t bytes = constraints.capacity() * sizeof(SpreadConstraint);
  for (const SpreadConstraint& constraint : constraints) {
    bytes += constraint.topology_key.capacity();
    if (!constraint.selector) continue;
    for (const api::Requirement& requirement : constraint.selector->requirements) {
      bytes += sizeof(requirement) + requirement.key.capacity();
      for (const std::string& value : requirement.values) bytes += sizeof(value) + value.capacity();
    }
  }
  return bytes;
}

bool HasAllTopologyKeys(const api::StringMap& node_labels, const std::vector<SpreadConstraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& constraint) {
    return node_labels.Find(constraint.topology_key) != nullptr;
  });
}

}  // namespace berth::plugins
