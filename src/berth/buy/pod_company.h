// SPDX-License-Identifier: Apache-2.0
// PodCompany: what hard rules of asked pods say of each other: pods that spread over zones or nodes, pods that bear
// others on no node of theirs, and pods that no such rule concerns. By groups; a packing keeps these rules as well as
// it can, the core has the last word. A value; one thread's while it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/selector.h"
#include "berth/framework/pod_info.h"

namespace berth::buy {

// A topology spread constraint with DoNotSchedule that pods of some groups have.
struct SpreadRule {
  std::string namespace_name;
  api::LabelSelector selector;
  std::int32_t max_skew = 1;
  bool is_by_zone = false;             // else by node
  std::vector<std::uint8_t> is_bound;  // by group: its pods have the constraint
  std::vector<std::uint8_t> counts;    // by group: its pods are counted by it
};

// Pods that bear no pods with some labels on their node (pod anti-affinity by hostname), each other included.
struct NodeExclusion {
  std::vector<std::uint8_t> excludes;  // by group: its pods have the rule
  std::vector<std::uint8_t> counts;    // by group: the rule is about its pods
};

class PodCompany {
 public:
  // Rules of each kind that are kept in mind; what further ones say is left to the core.
  static constexpr std::size_t kRulesMax = 64;

  PodCompany() = default;
  // One pod of each group, and how many there are.
  PodCompany(const std::vector<framework::PodInfoPtr>& models, const std::vector<std::size_t>& sizes);

  const std::vector<SpreadRule>& spreads() const { return spreads_; }
  // Only those of several groups, and whose pods exclude each other.
  const std::vector<NodeExclusion>& exclusions() const { return exclusions_; }
  // How many pods of `is_in_crowd` groups a new node should have at most, so that pods find nodes with few of those
  // that their rules about nodes count; 0: it does not matter. No rule says so: it makes room for seating.
  std::int32_t crowd_max() const { return crowd_max_; }
  bool IsInCrowd(std::size_t group) const { return is_in_crowd_[group] != 0; }
  // Whether no rule of the pods, nor of other asked pods about them, is about company, claims or volumes: a node takes
  // them or not by itself. Defaults of a profile and plugins of one's own may still have a say.
  bool IsAlone(std::size_t group) const { return is_alone_[group] != 0; }

 private:
  void FindSpreads(const std::vector<framework::PodInfoPtr>& models);
  void FindExclusions(const std::vector<framework::PodInfoPtr>& models);
  void FindCrowd(const std::vector<std::size_t>& sizes);

  std::vector<SpreadRule> spreads_;
  std::vector<NodeExclusion> exclusions_;
  std::vector<std::uint8_t> is_alone_;
  std::vector<std::uint8_t> is_in_crowd_;
  std::int32_t crowd_max_ = 0;
};

}  // namespace berth::buy
