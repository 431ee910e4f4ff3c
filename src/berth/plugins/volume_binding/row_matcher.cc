// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/row_matcher.h"

#include <algorithm>

namespace berth::plugins::volumes {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// The requirement by which a term is filed: one that names values, and few nodes at that. Null: there is none.
const api::Requirement* MostSelective(const api::NodeSelectorTerm& term) {
  const api::Requirement* best = nullptr;
  for (const api::Requirement& r : term.match_expressions) {
    if (r.op != api::SelectorOperator::kIn) continue;
    if (r.key == kHostname) return &r;
    if (best == nullptr || r.values.size() < best->values.size()) best = &r;
  }
  return best;
}

}  // namespace

TermIndex::Column& TermIndex::ColumnOf(const std::string& key) {
  for (Column& column : columns_) {
    if (column.key == key) return column;
  }
  columns_.push_back({key, nodes_.LabelColumn(key), {}, {}, {}});
  return columns_.back();
}

void TermIndex::Add(std::size_t item, const api::NodeSelectorTerm& term) {
  const api::Requirement* filed = MostSelective(term);
  Entry entry{item, -1};
  const auto bind = [&] {
    if (entry.term >= 0) return;
    entry.term = static_cast<int>(terms_.size());
    terms_.emplace_back(term, nodes_);
  };
  if (filed == nullptr) {
    if (!term.match_expressions.empty()) bind();
    others_.push_back(entry);
    return;
  }
  Column& column = ColumnOf(filed->key);
  for (const std::string& value : filed->values) {
    const auto id = nodes_.FindValue(value);
    if (!id) continue;  // no node has it
    if (term.match_expressions.size() > 1) bind();
    column.added.push_back({*id, entry});
  }
}

// A counting sort by value, which keeps the order of the items.
void TermIndex::Finish() {
  for (Column& column : columns_) {
    column.ends.assign(nodes_.value_count() + 1, 0);
    for (const auto& [value, entry] : column.added) ++column.ends[value + 1];
    for (std::size_t v = 1; v < column.ends.size(); ++v) column.ends[v] += column.ends[v - 1];
    // Each value's count of entries before it moves on to the end of its own.
    column.entries.resize(column.added.size());
    for (const auto& [value, entry] : column.added) column.entries[column.ends[value]++] = entry;
    column.added = {};
  }
}

bool RowMatcher::Affinity::Matches(framework::NodeIndex row) const { return matches_any || AnyMatches(terms, row); }

RowMatcher::RowMatcher(const Sources& sources, const PodVolumes& pod, const framework::NodeTable& nodes)
    : sources_(sources), pod_(pod), nodes_(nodes) {
  for (const BoundClaim& claim : pod.bound) {
    bound_.push_back({Bind(claim.affinity.in_tree()), Bind(claim.affinity.migrated())});
  }
  claims_.reserve(pod.delayed.size());
  for (const DelayedClaim& claim : pod.delayed) BindClaim(claim, pod.delayed.size());
}

RowMatcher::Affinity RowMatcher::Bind(const VolumeAffinity& affinity) const {
  Affinity out{affinity.MatchesAny(), {}};
  for (const api::NodeSelectorTerm& term : affinity.terms()) out.terms.emplace_back(term, nodes_);
  return out;
}

void RowMatcher::BindClaim(const DelayedClaim& claim, std::size_t claim_count) {
  Claim& out = claims_.emplace_back(nodes_);
  for (const Candidate& candidate : claim.prebound) out.prebound.push_back(Bind(*candidate.affinity));
  std::size_t for_all = 0;
  // Other claims of the pod can take all but one of the volumes that fit everywhere; none is looked at behind those.
  for (std::size_t i = 0; i < claim.free.size() && for_all < claim_count; ++i) {
    const VolumeAffinity& affinity = *claim.free[i].affinity;
    if (affinity.MatchesAny()) {
      out.free.AddForAll(i);
      ++for_all;
    }
    for (const api::NodeSelectorTerm& term : affinity.terms()) out.free.Add(i, term);
  }
  out.free.Finish();
  if (claim.provisioning.topologies) {
    for (const auto& term : *claim.provisioning.topologies) {
      out.topologies.emplace_back(term, nodes_);
    }
  }
  if (claim.provisioning.capacities) {
    std::size_t i = 0;
    for (const CapacityIndex::Entry* capacity : *claim.provisioning.capacities)
      out.capacities.Add(i++, capacity->nodes);
    out.capacities.Finish();
  }
}

BoundVerdict RowMatcher::Bound(std::size_t i, std::string& error) const {
  const NodeDependentAffinity& affinity = pod_.bound[i].affinity;
  const bool is_migrated =
      !affinity.migrated_plugin().empty() &&
      IsMigratedOn(affinity.migrated_plugin(), sources_.objects.Of<api::CsiNode>().Find(nodes_.Info(row_).name()));
  if (is_migrated && !affinity.migration_error().empty()) {
    error = affinity.migration_error();
    return BoundVerdict::kError;
  }
  const Affinity& bound = is_migrated ? bound_[i].migrated : bound_[i].in_tree;
  return bound.Matches(row_) ? BoundVerdict::kFits : BoundVerdict::kMismatch;
}

const api::PersistentVolume* RowMatcher::Find(std::size_t i, const NodeDecision& decision) const {
  const DelayedClaim& claim = pod_.delayed[i];
  for (std::size_t p = 0; p < claim.prebound.size(); ++p) {
    if (decision.IsTaken(claim.prebound[p].volume)) continue;
    return claims_[i].prebound[p].Matches(row_) ? claim.prebound[p].volume : nullptr;
  }
  const std::size_t found =
      claims_[i].free.First(row_, [&](std::size_t item) { return !decision.IsTaken(claim.free[item].volume); });
  return found == TermIndex::npos ? nullptr : claim.free[found].volume;
}

bool RowMatcher::IsInTopology(std::size_t i) const {
  if (!pod_.delayed[i].provisioning.topologies) return true;
  return AnyMatches(claims_[i].topologies, row_);
}

const CapacityIndex::Entry* RowMatcher::FindCapacity(std::size_t i) const {
  const auto& capacities = pod_.delayed[i].provisioning.capacities;
  if (!capacities) return nullptr;
  const std::size_t found = claims_[i].capacities.First(row_, [](std::size_t) { return true; });
  return found == TermIndex::npos ? nullptr : (*capacities)[found];
}

}  // namespace berth::plugins::volumes
