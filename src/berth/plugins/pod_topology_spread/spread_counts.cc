#include "berth/plugins/pod_topology_spread/spread_counts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/plugins/helper/tolerations.h"

namespace berth::plugins {

using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeTable;
using framework::PodClass;
using framework::ValueId;

SpreadCounts::SpreadCounts(std::shared_ptr<const PodClass> pod_class, std::vector<SpreadConstraint> hard,
                           std::vector<SpreadConstraint> soft, bool soft_needs_all_keys)
    : pod_class_(std::move(pod_class)), required_(pod_class_->spec) {
  AddGroup(std::move(hard), hard_);
  AddGroup(std::move(soft), soft_);
  soft_.needs_all_keys = soft_needs_all_keys;
}

void SpreadCounts::AddGroup(std::vector<SpreadConstraint> constraints, Group& group) {
  group.constraints = std::move(constraints);
  group.domains.resize(group.constraints.size());
  for (const SpreadConstraint& constraint : group.constraints) {
    const auto known = std::find(selectors_.begin(), selectors_.end(), constraint.selector);
    group.pods.push_back(static_cast<std::size_t>(known - selectors_.begin()));
    if (known != selectors_.end()) continue;
    selectors_.push_back(constraint.selector);
    // A pod that is being deleted counts no longer.
    const auto counts = [constraint, own = pod_class_](const PodClass& other, bool is_terminating) {
      return !is_terminating && other.namespace_name == own->namespace_name && constraint.Counts(other.labels) ? 1 : 0;
    };
    pod_counts_.emplace_back(counts);
  }
}

// Asks for the label columns. True when the ids in them are those of the last time.
bool SpreadCounts::BindColumns(const NodeTable& nodes) {
  hard_columns_.clear();
  soft_columns_.clear();
  for (const SpreadConstraint& c : hard_.constraints) hard_columns_.push_back(nodes.LabelColumn(c.topology_key));
  for (const SpreadConstraint& c : soft_.constraints) soft_columns_.push_back(nodes.LabelColumn(c.topology_key));
  const ValueId empty_value = nodes.FindValue("").value_or(0);
  const bool is_same = values_version_ == nodes.values_version() && empty_value_ == empty_value;
  values_version_ = nodes.values_version();
  empty_value_ = empty_value;
  return is_same;
}

void SpreadCounts::PlaceRow(Group& group, const std::vector<LabelColumn>& columns, NodeIndex row,
                            const NodeInfo& node) {
  bool is_counted = node.has_node();
  if (group.needs_all_keys) {
    is_counted &= std::all_of(columns.begin(), columns.end(), [row](const LabelColumn& c) { return c[row] != 0; });
  }
  std::optional<bool> matches_affinity;
  std::optional<bool> is_tolerated;
  for (std::size_t i = 0; i < group.constraints.size(); ++i) {
    const SpreadConstraint& constraint = group.constraints[i];
    bool is_included = is_counted;
    if (is_included && constraint.node_affinity_policy == api::NodeInclusionPolicy::kHonor) {
      if (!matches_affinity) matches_affinity = required_.Matches(node.node());
      is_included = *matches_affinity;
    }
    if (is_included && constraint.node_taints_policy == api::NodeInclusionPolicy::kHonor) {
      if (!is_tolerated) {
        is_tolerated = !HasUntoleratedHardTaint(node.node().taints, pod_class_->spec.tolerations);
      }
      is_included = *is_tolerated;
    }
    ValueId domain = 0;
    if (is_included) domain = columns[i][row] != 0 ? columns[i][row] : empty_value_;
    group.domains[i].Move(row, domain, PodsByRow(group, i)[row]);
  }
}

void SpreadCounts::RebuildDomains(const NodeTable& nodes) {
  for (Group* group : {&hard_, &soft_}) {
    for (DomainCounts& domains : group->domains) domains.Reset(nodes.row_count(), nodes.value_count());
  }
  for (const NodeIndex row : nodes.rows()) {
    PlaceRow(hard_, hard_columns_, row, nodes.Info(row));
    PlaceRow(soft_, soft_columns_, row, nodes.Info(row));
  }
}

void SpreadCounts::Update(const NodeTable& nodes) {
  // As in PodCounts: a table that seems to have got older is another one.
  const bool is_same_table = nodes_ == &nodes && version_ <= nodes.version() && nodes_version_ <= nodes.nodes_version();
  if (is_same_table && version_ == nodes.version() && values_version_ == nodes.values_version()) return;
  const auto changed = is_same_table ? nodes.ChangedSince(version_) : std::nullopt;
  const bool nodes_changed = nodes_version_ != nodes.nodes_version();
  nodes_ = &nodes;
  version_ = nodes.version();
  nodes_version_ = nodes.nodes_version();

  bool is_anew = !changed;
  if (!BindColumns(nodes)) is_anew = true;
  for (std::size_t p = 0; p < pod_counts_.size(); ++p) {
    const auto changes = pod_counts_[p].Update(nodes);
    if (!changes) is_anew = true;
    if (is_anew) continue;
    for (Group* group : {&hard_, &soft_}) {
      for (std::size_t i = 0; i < group->domains.size(); ++i) {
        if (group->pods[i] != p) continue;
        group->domains[i].Grow(nodes.row_count(), nodes.value_count());
        for (const PodCounts::Change& change : *changes) {
          group->domains[i].Add(change.row, change.after - change.before);
        }
      }
    }
  }
  if (is_anew) return RebuildDomains(nodes);
  if (!nodes_changed) return;
  // What a node's labels and taints decide can differ only where nodes changed.
  for (const NodeIndex row : *changed) {
    PlaceRow(hard_, hard_columns_, row, nodes.Info(row));
    PlaceRow(soft_, soft_columns_, row, nodes.Info(row));
  }
}

std::size_t SpreadCounts::Bytes() const {
  std::size_t bytes = sizeof(*this);
  for (const PodCounts& counts : pod_counts_) bytes += sizeof(counts) + counts.Bytes();
  for (const Group* group : {&hard_, &soft_}) {
    for (const DomainCounts& domains : group->domains) bytes += sizeof(domains) + domains.Bytes();
  }
  return bytes;
}

}  // namespace berth::plugins
