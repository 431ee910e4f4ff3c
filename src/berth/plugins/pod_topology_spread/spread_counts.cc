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
  soft_values_.resize(soft_.constraints.size());
  hard_values_.resize(hard_.constraints.size());
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
  const bool lacks_key =
      node.has_node() && group.needs_all_keys &&
      std::any_of(columns.begin(), columns.end(), [row](const LabelColumn& c) { return c[row] == 0; });
  group.lacking_rows += (lacks_key ? 1 : 0) - group.lacks_key[row];
  group.lacks_key[row] = lacks_key ? 1 : 0;
  const bool is_counted = node.has_node() && !lacks_key;
  std::optional<bool> matches_affinity;
  std::optional<bool> is_tolerated;
  for (std::size_t i = 0; i < group.constraints.size(); ++i) {
    const SpreadConstraint& constraint = group.constraints[i];
    const ValueId value = columns[i][row] != 0 ? columns[i][row] : empty_value_;
    if (&group == &soft_) soft_values_[i].Move(row, is_counted ? value : 0, 0);
    if (&group == &hard_) hard_values_[i].Move(row, columns[i][row], 0);
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
    group.domains[i].Move(row, is_included ? value : 0, PodsByRow(group, i)[row]);
  }
}

void SpreadCounts::RebuildDomains(const NodeTable& nodes) {
  for (Group* group : {&hard_, &soft_}) {
    for (DomainCounts& domains : group->domains) domains.Reset(nodes.row_count(), nodes.value_count());
    group->lacks_key.assign(nodes.row_count(), 0);
    group->lacking_rows = 0;
  }
  for (DomainCounts& values : soft_values_) values.Reset(nodes.row_count(), nodes.value_count());
  for (DomainCounts& values : hard_values_) values.Reset(nodes.row_count(), nodes.value_count());
  ++rebuild_count_;
  for (const NodeIndex row : nodes.rows()) {
    PlaceRow(hard_, hard_columns_, row, nodes.Info(row));
    PlaceRow(soft_, soft_columns_, row, nodes.Info(row));
  }
}

void SpreadCounts::Grow(const NodeTable& nodes) {
  for (Group* group : {&hard_, &soft_}) {
    for (DomainCounts& domains : group->domains) domains.Grow(nodes.row_count(), nodes.value_count());
    group->lacks_key.resize(nodes.row_count(), 0);
  }
  for (DomainCounts& values : soft_values_) values.Grow(nodes.row_count(), nodes.value_count());
  for (DomainCounts& values : hard_values_) values.Grow(nodes.row_count(), nodes.value_count());
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
  node_count_ = nodes.node_count();

  bool is_anew = !BindColumns(nodes) || !changed;
  if (!is_anew) Grow(nodes);
  for (std::size_t p = 0; p < pod_counts_.size(); ++p) {
    const auto changes = pod_counts_[p].Update(nodes);
    if (!changes) is_anew = true;
    if (is_anew) continue;
    for (Group* group : {&hard_, &soft_}) {
      for (std::size_t i = 0; i < group->domains.size(); ++i) {
        if (group->pods[i] != p) continue;
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

std::size_t SpreadCounts::SoftDomainCount(std::size_t constraint) const {
  const DomainCounts& values = soft_values_[constraint];
  // Nodes without the label are a domain too, where they count.
  const std::size_t counted = node_count_ - static_cast<std::size_t>(soft_.lacking_rows);
  return static_cast<std::size_t>(values.size()) + (values.row_count() < counted ? 1 : 0);
}

std::size_t SpreadCounts::Bytes() const {
  std::size_t bytes = sizeof(*this);
  for (const PodCounts& counts : pod_counts_) bytes += sizeof(counts) + counts.Bytes();
  for (const Group* group : {&hard_, &soft_}) {
    for (const DomainCounts& domains : group->domains) bytes += sizeof(domains) + domains.Bytes();
    bytes += group->lacks_key.capacity();
  }
  for (const DomainCounts& values : soft_values_) bytes += sizeof(values) + values.Bytes();
  for (const DomainCounts& values : hard_values_) bytes += sizeof(values) + values.Bytes();
  return bytes;
}

}  // namespace berth::plugins
