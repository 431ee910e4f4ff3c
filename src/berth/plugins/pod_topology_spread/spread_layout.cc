// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/spread_layout.h"

#include <algorithm>

#include "berth/plugins/helper/tolerations.h"

namespace berth::plugins {
namespace {

using api::NodeInclusionPolicy;
using framework::NodeIndex;
using framework::NodeTable;
using framework::ValueId;

// The domains of a key may outnumber twice the rows of the table by this many.
constexpr std::size_t kSpareDomainsMax = 4096;

template <typename T>
std::size_t BytesOf(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

DomainId Intern(SpreadKey& key, ValueId value, const NodeTable& nodes) {
  if (value == 0) return 0;
  if (value >= key.domain_of_value.size())
    key.domain_of_value.resize(std::max<std::size_t>(value + 1, nodes.value_count()));
  DomainId& domain = key.domain_of_value[value];
  if (domain != 0) return domain;
  if (nodes.Value(value).empty()) return domain = kEmptyDomain;
  domain = static_cast<DomainId>(key.rows_of.size());
  key.rows_of.push_back(0);
  return domain;
}

void SetDomain(SpreadKey& key, NodeIndex row, DomainId domain) {
  const DomainId before = key.by_row[row];
  key.row_count += domain != 0 ? 1 : 0;
  key.row_count -= before != 0 ? 1 : 0;
  if (before != 0 && --key.rows_of[before] == 1) --key.shared_count;
  if (domain != 0 && ++key.rows_of[domain] == 2) ++key.shared_count;
  key.by_row[row] = domain;
}

// Counts one row more, or one less; true when that makes a domain of it, or unmakes one.
bool CountRow(std::vector<std::uint32_t>& rows_of, DomainId domain, bool is_more) {
  if (domain >= rows_of.size()) rows_of.resize(domain + 1);
  return is_more ? ++rows_of[domain] == 1 : --rows_of[domain] == 0;
}

void EnterKeySet(SpreadKeySet& set, NodeIndex row) {
  set.lacks_key[row] = set.needs_all_keys && std::any_of(set.keys.begin(), set.keys.end(),
                                                         [row](const auto& key) { return key->by_row[row] == 0; });
  if (set.lacks_key[row] != 0) {
    ++set.lacking_rows;
    return;
  }
  for (std::size_t i = 0; i < set.keys.size(); ++i) {
    const DomainId domain = set.keys[i]->by_row[row];
    if (CountRow(set.rows_of[i], domain != 0 ? domain : kEmptyDomain, true)) ++set.domain_counts[i];
  }
}

void LeaveKeySet(SpreadKeySet& set, NodeIndex row) {
  if (set.lacks_key[row] != 0) {
    set.lacks_key[row] = 0;
    --set.lacking_rows;
    return;
  }
  for (std::size_t i = 0; i < set.keys.size(); ++i) {
    const DomainId domain = set.keys[i]->by_row[row];
    if (CountRow(set.rows_of[i], domain != 0 ? domain : kEmptyDomain, false)) --set.domain_counts[i];
  }
}

// `matches(row)`: whether the node is one that the layout requires.
template <typename Matches>
void EnterLayout(SpreadLayout& layout, NodeIndex row, const api::Node& node, const Matches& matches) {
  layout.is_included[row] = layout.key_set->lacks_key[row] == 0 && matches(row) &&
                            (!layout.honors_taints || !HasUntoleratedHardTaint(node.taints, layout.tolerations));
  const DomainId domain = layout.DomainOf(row);
  if (domain != 0 && CountRow(layout.rows_of, domain, true)) ++layout.domain_count;
}

void LeaveLayout(SpreadLayout& layout, NodeIndex row) {
  const DomainId domain = layout.DomainOf(row);
  layout.is_included[row] = false;
  if (domain != 0 && CountRow(layout.rows_of, domain, false)) --layout.domain_count;
}

void AppendTerms(std::string& out, const std::vector<api::NodeSelectorTerm>& terms) {
  for (const api::NodeSelectorTerm& term : terms) {
    out += 't';
    AppendText(out, term.match_expressions);
    out += 'f';
    AppendText(out, term.match_fields);
  }
}

// What the class requires of nodes, if the constraint honors that.
std::string InclusionText(const SpreadConstraint& constraint, const framework::PodClass& pod_class) {
  std::string text;
  if (constraint.node_affinity_policy == NodeInclusionPolicy::kHonor) {
    for (const auto& [key, value] : pod_class.spec.node_selector) {
      text += 's';
      AppendText(text, key);
      AppendText(text, value);
    }
    if (pod_class.spec.node_affinity && pod_class.spec.node_affinity->required) {
      text += 'a';
      AppendTerms(text, *pod_class.spec.node_affinity->required);
    }
  }
  if (constraint.node_taints_policy == NodeInclusionPolicy::kHonor) {
    text += 'h';
    for (const api::Toleration& toleration : pod_class.spec.tolerations) {
      AppendText(text, toleration.key);
      AppendText(text, toleration.op);
      AppendText(text, toleration.value);
      text += static_cast<char>('0' + static_cast<int>(toleration.effect));
    }
  }
  return text;
}

}  // namespace

void AppendText(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

void AppendText(std::string& out, const std::vector<api::Requirement>& requirements) {
  for (const api::Requirement& requirement : requirements) {
    out += static_cast<char>('A' + static_cast<int>(requirement.op));
    AppendText(out, requirement.key);
    AppendText(out, requirement.unknown_op);
    for (const std::string& value : requirement.values) AppendText(out, value);
    out += ';';
  }
}

DomainId SpreadKey::Find(std::string_view value, const NodeTable& nodes) const {
  const ValueId id = nodes.FindValue(value).value_or(0);
  return id < domain_of_value.size() ? domain_of_value[id] : 0;
}

std::size_t SpreadKeySet::Bytes() const {
  std::size_t bytes = sizeof(*this) + BytesOf(lacks_key);
  for (const auto& rows : rows_of) bytes += BytesOf(rows);
  return bytes;
}

std::size_t SpreadLayout::Bytes() const {
  return sizeof(*this) + required_bytes + is_included.capacity() / 8 + BytesOf(rows_of);
}

bool SpreadTopology::IsOvergrown() const {
  if (keys_.size() > kKeysMax || layouts_.size() + key_sets_.size() > kLayoutsMax) return true;
  if (layout_bytes_ > kLayoutBytesMax && layouts_.size() > 1) return true;
  // Host names of nodes that came and went.
  const std::size_t domains_max = 2 * row_count_ + kSpareDomainsMax;
  return std::any_of(keys_.begin(), keys_.end(),
                     [domains_max](const auto& entry) { return entry.second->rows_of.size() > domains_max; });
}

void SpreadTopology::Reset(const NodeTable& nodes) {
  keys_.clear();
  key_sets_.clear();
  layouts_.clear();
  layout_bytes_ = 0;
  row_count_ = nodes.row_count();
  node_of_row_.assign(row_count_, nullptr);
  for (const NodeIndex row : nodes.rows()) node_of_row_[row] = nodes.Info(row).node_ptr();
}

void SpreadTopology::Grow(const NodeTable& nodes) {
  if (row_count_ == nodes.row_count()) return;
  row_count_ = nodes.row_count();
  node_of_row_.resize(row_count_);
  for (auto& [name, key] : keys_) key->by_row.resize(row_count_);
  for (auto& [text, set] : key_sets_) set->lacks_key.resize(row_count_);
  for (auto& [text, layout] : layouts_) layout->is_included.resize(row_count_);
}

void SpreadTopology::MoveRow(const NodeTable& nodes, NodeIndex row, bool is_used) {
  const bool had_node = node_of_row_[row] != nullptr;
  node_of_row_[row] = nodes.Info(row).node_ptr();
  const bool has_node = node_of_row_[row] != nullptr;
  std::vector<DomainId> before;
  for (auto& [text, layout] : layouts_) {
    before.push_back(layout->DomainOf(row));
    LeaveLayout(*layout, row);
  }
  for (auto& [text, set] : key_sets_) {
    if (had_node) LeaveKeySet(*set, row);
  }
  for (auto& [name, key] : keys_) SetDomain(*key, row, Intern(*key, nodes.LabelColumn(name)[row], nodes));
  for (auto& [text, set] : key_sets_) {
    if (has_node) EnterKeySet(*set, row);
  }
  std::size_t i = 0;
  for (auto& [text, layout] : layouts_) {
    const api::Node* const node = node_of_row_[row].get();
    if (has_node) EnterLayout(*layout, row, *node, [&](NodeIndex) { return layout->required.Matches(*node); });
    if (layout->DomainOf(row) != before[i++] && is_used) ++layout->moves;
  }
}

std::shared_ptr<SpreadKey> SpreadTopology::Follow(const std::string& name, const NodeTable& nodes) {
  std::shared_ptr<SpreadKey>& kept = keys_[name];
  if (kept != nullptr) return kept;
  kept = std::make_shared<SpreadKey>();
  kept->name = name;
  kept->by_row.resize(row_count_);
  kept->rows_of.resize(kEmptyDomain + 1);
  const std::span<const ValueId> column = nodes.LabelColumn(name);
  for (const NodeIndex row : nodes.rows()) SetDomain(*kept, row, Intern(*kept, column[row], nodes));
  return kept;
}

SpreadTopology::Decisive SpreadTopology::DecisiveOf(const std::vector<SpreadConstraint>& constraints,
                                                    const NodeTable& nodes) {
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    std::shared_ptr<const SpreadKey> key = Follow(constraints[i].topology_key, nodes);
    if (key->row_count == 0) return {i + 1, std::move(key)};
  }
  return {constraints.size(), nullptr};
}

std::shared_ptr<SpreadKeySet> SpreadTopology::KeySetFor(const std::vector<SpreadConstraint>& constraints,
                                                        bool needs_all_keys, const NodeTable& nodes) {
  std::string text = needs_all_keys ? "all" : "any";
  for (const SpreadConstraint& constraint : constraints) AppendText(text, constraint.topology_key);
  std::shared_ptr<SpreadKeySet>& kept = key_sets_[text];
  if (kept != nullptr) return kept;
  kept = std::make_shared<SpreadKeySet>();
  kept->needs_all_keys = needs_all_keys;
  for (const SpreadConstraint& c : constraints) kept->keys.push_back(Follow(c.topology_key, nodes));
  kept->rows_of.resize(constraints.size());
  kept->domain_counts.resize(constraints.size());
  kept->lacks_key.resize(row_count_);
  for (const NodeIndex row : nodes.rows()) EnterKeySet(*kept, row);
  layout_bytes_ += kept->Bytes();
  return kept;
}

std::shared_ptr<SpreadLayout> SpreadTopology::LayoutFor(const std::shared_ptr<SpreadKeySet>& key_set, std::size_t i,
                                                        const SpreadConstraint& constraint,
                                                        const framework::PodClass& pod_class, const NodeTable& nodes) {
  std::string text = key_set->needs_all_keys ? "all" : "any";
  AppendText(text, constraint.topology_key);
  // Of the other keys only one thing matters: which rows lack one.
  std::vector<std::string_view> names;
  for (const auto& key : key_set->keys) names.push_back(key->name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string_view name : names) AppendText(text, key_set->needs_all_keys ? name : std::string_view());
  text += '|';
  text += InclusionText(constraint, pod_class);
  const std::size_t text_size = text.size();
  std::shared_ptr<SpreadLayout>& kept = layouts_[std::move(text)];
  if (kept != nullptr) return kept;
  kept = std::make_shared<SpreadLayout>();
  kept->key = key_set->keys[i];
  kept->key_set = key_set;
  if (constraint.node_affinity_policy == NodeInclusionPolicy::kHonor) {
    kept->required = RequiredNodeAffinity(pod_class.spec);
  }
  kept->honors_taints = constraint.node_taints_policy == NodeInclusionPolicy::kHonor;
  if (kept->honors_taints) kept->tolerations = pod_class.spec.tolerations;
  kept->is_included.resize(row_count_);
  const BoundNodeAffinity required(kept->required, nodes);
  const auto matches = [&required](NodeIndex row) { return required.Matches(row); };
  for (const NodeIndex row : nodes.rows()) EnterLayout(*kept, row, nodes.Info(row).node(), matches);
  // What it requires is as long as its text, and some pointers more.
  kept->required_bytes = 4 * text_size;
  layout_bytes_ += kept->Bytes();
  return kept;
}

std::size_t SpreadTopology::Bytes() const {
  std::size_t bytes = BytesOf(node_of_row_);
  for (const auto& [name, key] : keys_) {
    bytes += sizeof(*key) + BytesOf(key->by_row) + BytesOf(key->rows_of) + BytesOf(key->domain_of_value);
  }
  for (const auto& [text, set] : key_sets_) bytes += text.capacity() + set->Bytes();
  for (const auto& [text, layout] : layouts_) bytes += text.capacity() + layout->Bytes();
  return bytes;
}

}  // namespace berth::plugins
