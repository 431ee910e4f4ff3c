// SPDX-License-Identifier: Apache-2.0
// RequiredNodeAffinity: what a pod requires of a node by nodeSelector and by required node affinity. Upstream:
// component-helpers nodeaffinity.RequiredNodeAffinity; terms that do not validate match nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/plugins/helper/node_selector.h"

namespace berth::plugins {

class RequiredNodeAffinity {
 public:
  explicit RequiredNodeAffinity(const api::PodSpec& spec) {
    for (const auto& [key, value] : spec.node_selector) {
      selector_.push_back({key, api::SelectorOperator::kIn, {value}, {}});
    }
    if (spec.node_affinity && spec.node_affinity->required) affinity_.emplace(*spec.node_affinity->required);
  }

  bool Matches(const api::Node& node) const {
    const api::StringMap& labels = node.metadata.labels;
    return std::all_of(selector_.begin(), selector_.end(),
                       [&](const api::Requirement& r) { return r.Matches(labels.Find(r.key)); }) &&
           (!affinity_ || affinity_->Matches(node.metadata.name, labels));
  }

  // True when every node matches.
  bool empty() const { return selector_.empty() && !affinity_; }
  const std::vector<api::Requirement>& selector() const { return selector_; }
  const std::optional<NodeSelector>& affinity() const { return affinity_; }

 private:
  std::vector<api::Requirement> selector_;
  std::optional<NodeSelector> affinity_;
};

// A RequiredNodeAffinity bound to a node table. Valid until the table changes; `required` must outlive it.
class BoundNodeAffinity {
 public:
  BoundNodeAffinity(const RequiredNodeAffinity& required, const framework::NodeTable& nodes)
      : selector_(required.selector(), nodes) {
    if (required.affinity()) affinity_ = BindTerms(required.affinity()->terms(), nodes);
  }

  bool Matches(framework::NodeIndex row) const {
    return selector_.Matches(row) && (!affinity_ || AnyMatches(*affinity_, row));
  }

 private:
  BoundTerm selector_;
  std::optional<std::vector<BoundTerm>> affinity_;
};

}  // namespace berth::plugins
