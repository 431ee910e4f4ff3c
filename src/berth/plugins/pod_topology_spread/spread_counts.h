// SPDX-License-Identifier: Apache-2.0
// SpreadCounts: for the spread constraints of one pod class, the matching pods on each node and in each topology
// domain. All of it is shared with other classes and kept up to date with a node table. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/plugins/pod_topology_spread/constraint.h"
#include "berth/plugins/pod_topology_spread/selector_counts.h"
#include "berth/plugins/pod_topology_spread/spread_index.h"
#include "berth/plugins/pod_topology_spread/spread_layout.h"

namespace berth::plugins {

// A soft constraint over this key looks at the node itself.
inline constexpr std::string_view kHostnameKey = "kubernetes.io/hostname";

class SpreadCounts {
 public:
  // Constraints of one kind, DoNotSchedule or ScheduleAnyway, that are decided together.
  struct Group {
    std::vector<SpreadConstraint> constraints;                 // those that decide (SpreadTopology::Decisive)
    std::shared_ptr<const SpreadKey> missing;                  // why the others do not; null: there are none
    std::shared_ptr<const SpreadKeySet> key_set;               // null without constraints
    std::vector<std::shared_ptr<SelectorCounts>> pods;         // by constraint
    std::vector<std::shared_ptr<const DomainCounts>> domains;  // by constraint; null: soft, and by host name

    const SpreadKey& key(std::size_t constraint) const { return *key_set->keys[constraint]; }
    bool LacksKey(framework::NodeIndex row) const { return key_set != nullptr && key_set->lacks_key[row] != 0; }
  };

  // A pod's own labels and namespace, and what it requires of nodes, are its class's. The index must be up to date.
  SpreadCounts(std::shared_ptr<const framework::PodClass> pod_class, const std::vector<SpreadConstraint>& hard,
               const std::vector<SpreadConstraint>& soft, bool soft_needs_all_keys, SpreadIndex& index);

  // Whether it can be brought up to date: not in another epoch of the index than that in which it was made, nor when a
  // node has got a label that none had.
  bool IsOf(const SpreadIndex& index) const;
  // Brings the counts up to date with the index. What the accessors return holds until the table changes.
  void Update(const SpreadIndex& index);

  const framework::PodClass& pod_class() const { return *pod_class_; }
  const Group& hard() const { return hard_; }
  const Group& soft() const { return soft_; }
  // How many domains of a soft constraint there are among the nodes that do not lack a key, those included that the pod
  // cannot use.
  std::size_t SoftDomainCount(std::size_t constraint) const { return soft_.key_set->domain_counts[constraint]; }

  // About what it holds on the heap alone.
  std::size_t Bytes() const { return bytes_; }

  // Which hard constraints mark rows by count, as bits; the version of the shared marks goes with it.
  struct SharedVersion {
    std::uint64_t by_count = 0;
    std::uint64_t version = 0;  // 0: not known yet
  };
  SharedVersion shared_version;

 private:
  void AddGroup(const std::vector<SpreadConstraint>& all, bool is_soft, bool needs_all_keys, SpreadIndex& index,
                Group& group);

  std::shared_ptr<const framework::PodClass> pod_class_;
  Group hard_;
  Group soft_;
  std::vector<SelectorCounts*> distinct_pods_;  // of both groups
  std::uint64_t epoch_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace berth::plugins
