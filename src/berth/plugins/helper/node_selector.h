// SPDX-License-Identifier: Apache-2.0
// NodeSelector: node selector terms, checked once and matched many times: against one node, or against the label
// columns of a node table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// One requirement bound to a node table. Valid until the table changes.
class BoundRequirement {
 public:
  BoundRequirement(const api::Requirement& requirement, bool is_field, const framework::NodeTable& nodes);

  bool Matches(framework::NodeIndex row) const;

 private:
  enum class Kind : std::uint8_t { kConstant, kIn, kNotIn, kExists, kDoesNotExist, kCompare, kRowIn, kRowNotIn };

  bool HasValue(framework::ValueId id) const;

  Kind kind_ = Kind::kConstant;
  bool constant_ = false;
  std::span<const framework::ValueId> column_;
  framework::ValueId first_ = 0;  // most requirements name one value; 0 when no node has it
  std::vector<framework::ValueId> others_;
  framework::NodeIndex row_ = framework::kNoNode;
  const api::Requirement* requirement_ = nullptr;  // kCompare
  const framework::NodeTable* nodes_ = nullptr;
  mutable framework::ValueId compared_ = 0;  // the value that was compared last, and how that went
  mutable bool compared_matches_ = false;
};

// A term bound to a node table: all requirements must match.
class BoundTerm {
 public:
  BoundTerm(const api::NodeSelectorTerm& term, const framework::NodeTable& nodes);

  bool Matches(framework::NodeIndex row) const {
    for (const BoundRequirement& requirement : requirements_) {
      if (!requirement.Matches(row)) return false;
    }
    return true;
  }

 private:
  std::vector<BoundRequirement> requirements_;
};

// What upstream says about preferred scheduling terms that do not validate; empty when all do. Terms of weight 0 and
// empty terms are not looked at.
std::string PreferredTermErrors(const std::vector<api::PreferredSchedulingTerm>& terms);
// What upstream says about the terms of a node selector that do not validate; empty when all do.
std::string NodeSelectorErrors(const std::vector<api::NodeSelectorTerm>& terms);

}  // namespace berth::plugins
