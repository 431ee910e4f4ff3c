// SPDX-License-Identifier: Apache-2.0
// NodeSelector: node selector terms, checked once and matched many times: against one node, or against the label
// columns of a node table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "berth/api/pod.h"
#include "berth/api/selector.h"
#include "berth/framework/node_table.h"

namespace berth::plugins {

// The field by which a term can name nodes.
inline constexpr std::string_view kNodeNameField = "metadata.name";

// The terms are ORed. An empty term matches nothing, and neither does one that does not validate (as upstream, which
// accepts such terms in old objects).
class NodeSelector {
 public:
  NodeSelector() = default;
  explicit NodeSelector(const std::vector<api::NodeSelectorTerm>& terms);

  bool Matches(std::string_view node_name, const api::StringMap& labels) const;

  const std::vector<api::NodeSelectorTerm>& terms() const { return terms_; }

 private:
  std::vector<api::NodeSelectorTerm> terms_;  // those that can match
};

// What a term asks of one label, all of its requirements on that key together, so that a row costs the same however
// many there are.
class BoundKey {
 public:
  explicit BoundKey(std::span<const framework::ValueId> column) : column_(column) {}

  bool IsAbout(std::span<const framework::ValueId> column) const { return column_.data() == column.data(); }
  // After the last Add, Finish; before it, no question. `requirement` must outlive this.
  void Add(const api::Requirement& requirement, const framework::NodeTable& nodes);
  void Finish();
  // Whether no row matches.
  bool IsVoid() const { return must_be_absent_ ? must_be_present_ : one_of_ && one_of_->empty(); }
  bool Matches(framework::NodeIndex row) const;

 private:
  using Values = absl::InlinedVector<framework::ValueId, 4>;

  void Intersect(Values values);

  std::span<const framework::ValueId> column_;
  bool must_be_present_ = false;
  bool must_be_absent_ = false;
  std::optional<Values> one_of_;  // sorted
  Values none_of_;                // sorted after Finish
  // The strictest Gt and the strictest Lt; null when there is none.
  const api::Requirement* above_ = nullptr;
  const api::Requirement* below_ = nullptr;
  const framework::NodeTable* nodes_ = nullptr;
  mutable framework::ValueId compared_ = 0;  // the value that was compared last, and how that went
  mutable bool compared_matches_ = false;
};

// A term bound to a node table: all requirements must match. Valid until the table changes. Requirements on labels that
// no node has, or with values that none has, are decided once.
class BoundTerm {
 public:
  BoundTerm(const api::NodeSelectorTerm& term, const framework::NodeTable& nodes);
  // A term of requirements on labels alone.
  BoundTerm(const std::vector<api::Requirement>& requirements, const framework::NodeTable& nodes);

  bool Matches(framework::NodeIndex row) const {
    if (is_void_ || (only_row_ && *only_row_ != row)) return false;
    for (const framework::NodeIndex other : other_rows_) {
      if (other == row) return false;
    }
    for (const BoundKey& key : keys_) {
      if (!key.Matches(row)) return false;
    }
    return true;
  }
  // Whether no row matches.
  bool IsVoid() const { return is_void_; }

 private:
  void AddLabels(const std::vector<api::Requirement>& requirements, const framework::NodeTable& nodes);
  void AddField(const api::Requirement& requirement, const framework::NodeTable& nodes);

  bool is_void_ = false;
  std::vector<BoundKey> keys_;
  std::optional<framework::NodeIndex> only_row_;
  absl::InlinedVector<framework::NodeIndex, 2> other_rows_;
};

// Binds the terms that some row may match, and leaves out the others.
std::vector<BoundTerm> BindTerms(const std::vector<api::NodeSelectorTerm>& terms, const framework::NodeTable& nodes);
inline bool AnyMatches(const std::vector<BoundTerm>& terms, framework::NodeIndex row) {
  return std::any_of(terms.begin(), terms.end(), [row](const BoundTerm& term) { return term.Matches(row); });
}

// What upstream says about preferred scheduling terms that do not validate; empty when all do. Terms of weight 0 and
// empty terms are not looked at.
std::string PreferredTermErrors(const std::vector<api::PreferredSchedulingTerm>& terms);
// What upstream says about the terms of a node selector that do not validate; empty when all do.
std::string NodeSelectorErrors(const std::vector<api::NodeSelectorTerm>& terms);

}  // namespace berth::plugins
