// SpreadCounts: for the spread constraints of one pod class, the matching pods on each node and in each topology
// domain, kept up to date with a node table instead of counted for every pod. Core's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/plugins/helper/pod_counts.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/pod_topology_spread/constraint.h"
#include "berth/plugins/pod_topology_spread/domain_counts.h"

namespace berth::plugins {

class SpreadCounts {
 public:
  // Constraints of one kind, DoNotSchedule or ScheduleAnyway, that are decided together.
  struct Group {
    std::vector<SpreadConstraint> constraints;
    // Nodes that lack a topology key count in no domain of any constraint. Not so with the System defaults, where they
    // count in the domain of the empty value: upstream's oddity.
    bool needs_all_keys = true;
    std::vector<DomainCounts> domains;    // by constraint
    std::vector<std::size_t> pods;        // by constraint: which of the pod counts is its own
    std::vector<std::uint8_t> lacks_key;  // by row: a node that counts in no domain, for lack of a topology key
    std::int32_t lacking_rows = 0;
  };

  // A pod's own labels and namespace, and what it requires of nodes, are its class's.
  SpreadCounts(std::shared_ptr<const framework::PodClass> pod_class, std::vector<SpreadConstraint> hard,
               std::vector<SpreadConstraint> soft, bool soft_needs_all_keys);

  // Brings everything up to date with the table. What the accessors return holds until the table changes.
  void Update(const framework::NodeTable& nodes);

  const framework::PodClass& pod_class() const { return *pod_class_; }
  const Group& hard() const { return hard_; }
  const Group& soft() const { return soft_; }
  // The id of the empty label value; 0 when no node has it.
  framework::ValueId empty_value() const { return empty_value_; }
  // How many domains of a soft constraint there are among the nodes that do not lack a key, those included that the pod
  // cannot use.
  std::size_t SoftDomainCount(std::size_t constraint) const;
  // Whether no two rows have the same value of a hard constraint's key, as with host names.
  bool IsUnique(std::size_t hard_constraint) const { return hard_values_[hard_constraint].shared_count() == 0; }
  // Grows when something else than pods that came or went changed what these accessors say of rows that the table does
  // not list as changed.
  std::uint64_t rebuild_count() const { return rebuild_count_; }
  // Matching pods by row, of a group's constraint.
  std::span<const std::int32_t> PodsByRow(const Group& group, std::size_t constraint) const {
    return pod_counts_[group.pods[constraint]].by_row();
  }

  std::size_t Bytes() const;

 private:
  using LabelColumn = std::span<const framework::ValueId>;

  void AddGroup(std::vector<SpreadConstraint> constraints, Group& group);
  bool BindColumns(const framework::NodeTable& nodes);
  void RebuildDomains(const framework::NodeTable& nodes);
  void Grow(const framework::NodeTable& nodes);
  void PlaceRow(Group& group, const std::vector<LabelColumn>& columns, framework::NodeIndex row,
                const framework::NodeInfo& node);

  std::shared_ptr<const framework::PodClass> pod_class_;
  RequiredNodeAffinity required_;
  std::vector<std::optional<api::LabelSelector>> selectors_;  // distinct
  std::vector<PodCounts> pod_counts_;                         // by selector
  Group hard_;
  Group soft_;
  std::vector<DomainCounts> soft_values_;  // by constraint: the domain of every row with the label, without pods
  std::vector<DomainCounts> hard_values_;
  std::uint64_t rebuild_count_ = 0;

  // The table as of the last update; null: none yet.
  const framework::NodeTable* nodes_ = nullptr;
  std::uint64_t version_ = 0;
  std::uint64_t nodes_version_ = 0;
  std::uint64_t values_version_ = 0;
  std::size_t node_count_ = 0;
  framework::ValueId empty_value_ = 0;
  std::vector<LabelColumn> hard_columns_;
  std::vector<LabelColumn> soft_columns_;
};

}  // namespace berth::plugins
