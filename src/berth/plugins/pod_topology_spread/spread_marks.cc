// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/spread_marks.h"

#include <algorithm>
#include <string>
#include <utility>

#include <absl/container/inlined_vector.h>

#include "berth/base/check.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;

// More constraints than these tell too many groups apart.
constexpr std::size_t kMarksMax = 12;
// Topology keys of fewer values mark a row by its value.
constexpr std::int32_t kDomainsByCount = 48;

// Whether a hard constraint marks a row by the pods in its domain: where the domain is the row's own, no pod that comes
// to another row changes that.
bool MarksByCount(const SpreadCounts& counts, std::size_t constraint) {
  return counts.hard().domains[constraint]->size() > kDomainsByCount && counts.hard().key(constraint).IsUnique();
}

}  // namespace

std::optional<std::uint64_t> ConstraintsByCount(const SpreadCounts& counts) {
  if (counts.hard().constraints.size() + counts.soft().constraints.size() > kMarksMax) return std::nullopt;
  std::uint64_t by_count = 0;
  for (std::size_t i = 0; i < counts.hard().constraints.size(); ++i) {
    if (MarksByCount(counts, i)) by_count |= std::uint64_t{1} << i;
  }
  return by_count;
}

std::uint64_t SpreadMarkVersions::Shared(SpreadCounts& counts, std::uint64_t numbering, std::uint64_t by_count) {
  SpreadCounts::SharedVersion& known = counts.shared_version;
  if (known.version != 0 && known.by_count == by_count) return known.version;
  std::string text = std::to_string(numbering) + "," + std::to_string(by_count);
  for (const SpreadCounts::Group* group : {&counts.hard(), &counts.soft()}) {
    text += group->key_set != nullptr && group->key_set->needs_all_keys ? '+' : '-';
    for (const SpreadConstraint& constraint : group->constraints) AppendText(text, constraint.topology_key);
  }
  if (shared_.size() > kSharedMax) shared_.clear();
  const auto [it, is_new] = shared_.try_emplace(std::move(text));
  if (is_new) it->second = New();
  known = {by_count, it->second};
  return known.version;
}

bool CollectSpecialRows(const SpreadCounts& counts, std::uint64_t by_count, std::size_t special_max,
                        std::vector<NodeIndex>& special) {
  absl::InlinedVector<const SparseCounts*, 2> by_row;
  const auto add = [&by_row](const SparseCounts& pods) {
    if (std::find(by_row.begin(), by_row.end(), &pods) == by_row.end()) by_row.push_back(&pods);
  };
  for (std::size_t i = 0; i < counts.hard().constraints.size(); ++i) {
    if ((by_count >> i & 1) != 0) add(counts.hard().pods[i]->by_row());
  }
  for (std::size_t i = 0; i < counts.soft().constraints.size(); ++i) {
    if (counts.soft().domains[i] == nullptr) add(counts.soft().pods[i]->by_row());
  }
  const auto begin = static_cast<std::ptrdiff_t>(special.size());
  for (const SparseCounts* pods : by_row) {
    if (pods->size() > special_max) return false;
    pods->ForEach([&special](NodeIndex row, std::int32_t) { special.push_back(row); });
  }
  if (by_row.size() > 1) {
    std::sort(special.begin() + begin, special.end());
    special.erase(std::unique(special.begin() + begin, special.end()), special.end());
    if (special.size() - static_cast<std::size_t>(begin) > special_max) return false;
  }
  return true;
}

void WriteMarks(const SpreadCounts& counts, framework::GroupingPlugin::MarkScope scope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) {
  using MarkScope = framework::GroupingPlugin::MarkScope;
  const SpreadCounts::Group& hard = counts.hard();
  const SpreadCounts::Group& soft = counts.soft();
  if (hard.constraints.empty() && soft.constraints.empty()) return;
  std::size_t offset = 0;
  const auto put = [&](const auto& mark) {
    BERTH_CHECK(rows.empty() || (rows.size() - 1) * stride + offset < marks.size(), rows.size(), stride, marks.size());
    std::uint32_t* const all = marks.data();
    std::size_t at = offset;
    for (const NodeIndex row : rows) {
      all[at] = static_cast<std::uint32_t>(mark(row));
      at += stride;
    }
    ++offset;
  };
  // A constraint marks rows by their value or, where each row has a value of its own, by the pods there, which shared
  // marks leave out.
  const auto put_constraint = [&](const std::vector<DomainId>& domain_of, const SparseCounts* pods, bool is_by_row) {
    if (pods == nullptr) return put([&](NodeIndex row) { return domain_of[row]; });
    if (scope == MarkScope::kShared) return put([&](NodeIndex row) { return domain_of[row] == 0 ? 0 : 1; });
    const CountReader count(*pods, rows.size());
    put([&](NodeIndex row) { return domain_of[row] == 0 ? 0 : count[is_by_row ? row : domain_of[row]] + 1; });
  };
  for (std::size_t c = 0; c < hard.constraints.size(); ++c) {
    put_constraint(hard.key(c).by_row, MarksByCount(counts, c) ? &hard.domains[c]->counts() : nullptr, false);
  }
  for (std::size_t c = 0; c < soft.constraints.size(); ++c) {
    put_constraint(soft.key(c).by_row, soft.domains[c] == nullptr ? &soft.pods[c]->by_row() : nullptr, true);
  }
  put([&](NodeIndex row) { return soft.LacksKey(row) ? 1 : 0; });
}

}  // namespace berth::plugins
