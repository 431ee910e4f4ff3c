// SPDX-License-Identifier: Apache-2.0
// NaiveSpread: what PodTopologySpread has to find, counted from scratch over all nodes and keyed by label values as
// upstream does. For tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/plugins/pod_topology_spread/constraint.h"

namespace berth::plugins {

class NaiveSpread {
 public:
  NaiveSpread(const framework::NodeTable& nodes, const framework::PodInfo& pod,
              std::vector<SpreadConstraint> constraints, bool needs_all_keys = true)
      : nodes_(nodes),
        pod_(pod),
        constraints_(std::move(constraints)),
        needs_all_keys_(needs_all_keys),
        counts_(constraints_.size()) {
    for (const framework::NodeIndex row : nodes.rows()) {
      for (std::size_t i = 0; i < constraints_.size(); ++i) {
        if (IsIncluded(nodes.Info(row), i)) counts_[i][Value(nodes.Info(row), i)] += CountOn(nodes.Info(row), i);
      }
    }
  }

  void AddOrRemove(const framework::PodInfo& other, const framework::NodeInfo& node, int difference) {
    if (other.namespace_name() != pod_.namespace_name()) return;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      if (constraints_[i].Matches(other.labels()) && IsIncluded(node, i)) counts_[i][Value(node, i)] += difference;
    }
  }

  // "ok", "missing" or "skewed".
  std::string Filter(const framework::NodeInfo& node) const {
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const SpreadConstraint& c = constraints_[i];
      if (node.node().metadata.labels.Find(c.topology_key) == nullptr) return "missing";
      std::int64_t minimum = INT32_MAX;
      for (const auto& [value, count] : counts_[i]) minimum = std::min<std::int64_t>(minimum, count);
      if (static_cast<std::int64_t>(counts_[i].size()) < c.min_domains) minimum = 0;
      const auto it = counts_[i].find(Value(node, i));
      const std::int64_t count = it == counts_[i].end() ? 0 : it->second;
      if (count + (c.Matches(pod_.labels()) ? 1 : 0) - minimum > c.max_skew) return "skewed";
    }
    return "ok";
  }

  // Raw and normalised scores of these nodes.
  std::vector<std::int64_t> Scores(std::span<const framework::NodeIndex> feasible, bool is_normalized) const {
    std::vector<std::int64_t> scores;
    std::vector<double> weights;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      std::set<std::string> values;
      std::size_t scored = 0;
      for (const framework::NodeIndex row : feasible) {
        if (IsIgnored(nodes_.Info(row))) continue;
        ++scored;
        values.insert(Value(nodes_.Info(row), i));
      }
      const bool is_hostname = constraints_[i].topology_key == "kubernetes.io/hostname";
      weights.push_back(std::log(static_cast<double>((is_hostname ? scored : values.size()) + 2)));
    }
    std::int64_t min = INT64_MAX;
    std::int64_t max = 0;
    for (const framework::NodeIndex row : feasible) {
      const framework::NodeInfo& node = nodes_.Info(row);
      double score = 0;
      for (std::size_t i = 0; i < constraints_.size() && !IsIgnored(node); ++i) {
        const SpreadConstraint& c = constraints_[i];
        if (node.node().metadata.labels.Find(c.topology_key) == nullptr) continue;
        int count = 0;
        if (c.topology_key == "kubernetes.io/hostname") {
          count = CountOn(node, i);
        } else if (const auto it = counts_[i].find(Value(node, i)); it != counts_[i].end()) {
          count = it->second;
        }
        score += count * weights[i] + (c.max_skew - 1);
      }
      scores.push_back(static_cast<std::int64_t>(std::round(score)));
      if (IsIgnored(node)) continue;
      min = std::min(min, scores.back());
      max = std::max(max, scores.back());
    }
    if (!is_normalized) return scores;
    for (std::size_t n = 0; n < scores.size(); ++n) {
      if (IsIgnored(nodes_.Info(feasible[n]))) {
        scores[n] = 0;
      } else {
        scores[n] = max == 0 ? 100 : 100 * (max + min - scores[n]) / max;
      }
    }
    return scores;
  }

  const std::map<std::string, int>& counts(std::size_t constraint) const { return counts_[constraint]; }

 private:
  std::string Value(const framework::NodeInfo& node, std::size_t i) const {
    const std::string* value = node.node().metadata.labels.Find(constraints_[i].topology_key);
    return value == nullptr ? std::string() : *value;
  }
  bool IsIgnored(const framework::NodeInfo& node) const {
    return needs_all_keys_ && !HasAllTopologyKeys(node.node().metadata.labels, constraints_);
  }
  bool IsIncluded(const framework::NodeInfo& node, std::size_t i) const {
    using enum api::NodeInclusionPolicy;
    const SpreadConstraint& c = constraints_[i];
    if (IsIgnored(node)) return false;
    if (c.node_affinity_policy == kHonor && !RequiredNodeAffinity(pod_.spec()).Matches(node.node())) return false;
    return c.node_taints_policy == kIgnore || !HasUntoleratedHardTaint(node.node().taints, pod_.spec().tolerations);
  }
  int CountOn(const framework::NodeInfo& node, std::size_t i) const {
    int count = 0;
    for (const auto& other : node.pods()) {
      const bool counts = !other->deletion_time && other->namespace_name() == pod_.namespace_name();
      if (counts && constraints_[i].Counts(other->labels())) ++count;
    }
    return count;
  }

  const framework::NodeTable& nodes_;
  const framework::PodInfo& pod_;
  std::vector<SpreadConstraint> constraints_;
  bool needs_all_keys_;
  std::vector<std::map<std::string, int>> counts_;  // by constraint and label value
};

}  // namespace berth::plugins
