// SPDX-License-Identifier: Apache-2.0
// SpreadConstraint: a topology spread constraint, ready to be asked about pods and nodes. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"

namespace berth::plugins {

struct SpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::optional<api::LabelSelector> selector;  // absent: matches no pod
  bool counts_by_empty_selector = false;       // Release::spreads_by_empty_selectors
  std::int32_t min_domains = 1;
  api::NodeInclusionPolicy node_affinity_policy = api::NodeInclusionPolicy::kHonor;
  api::NodeInclusionPolicy node_taints_policy = api::NodeInclusionPolicy::kIgnore;

  bool Matches(const api::StringMap& labels) const { return selector && selector->Matches(labels); }
  // A pod of these labels on a node counts. In older releases an empty selector matches the pod that is scheduled, and
  // counts no other: upstream's oddity.
  bool Counts(const api::StringMap& labels) const {
    return selector && (counts_by_empty_selector || !selector->requirements.empty()) && selector->Matches(labels);
  }
};

// The constraints that ask for `action`, for a pod with these labels. matchLabelKeys are merged into the selectors
// (the API server has done so already, which makes no difference). Fails at the first selector that is not valid.
Expected<std::vector<SpreadConstraint>> CompileConstraints(
    const std::vector<api::TopologySpreadConstraint>& constraints, const api::StringMap& pod_labels,
    api::UnsatisfiableConstraintAction action, bool counts_by_empty_selector = false);

// About what they hold on the heap.
std::size_t BytesOf(const std::vector<SpreadConstraint>& constraints);

// The node has a label under every constraint's topology key.
bool HasAllTopologyKeys(const api::StringMap& node_labels, const std::vector<SpreadConstraint>& constraints);

}  // namespace berth::plugins
