// SPDX-License-Identifier: Apache-2.0
// The types that all kinds share: metadata, owners, selectors, resources. Private to this folder.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/fields.h"
#include "berth/api/meta.h"
#include "berth/api/selector.h"

namespace berth::api::internal {

struct Owner : OwnerReference {
  bool is_controller = false;
};
template <>
inline constexpr auto kFields<Owner> = Fields{
    Field{"kind", 1, &Owner::kind},
    Field{"name", 3, &Owner::name},
    Field{"uid", 4, &Owner::uid},
    Field{"apiVersion", 5, &Owner::api_version},
    Field{"controller", 6, &Owner::is_controller},
};

inline void KeepController(ObjectMeta& out, Owner&& owner) {
  if (owner.is_controller && !out.controller) out.controller = std::move(owner);
}
template <>
inline constexpr auto kFields<ObjectMeta> = Fields{
    Field{"name", 1, &ObjectMeta::name},
    Field{"namespace", 3, &ObjectMeta::namespace_name},
    Field{"uid", 5, &ObjectMeta::uid},
    Field{"resourceVersion", 6, &ObjectMeta::resource_version},
    Field{"generation", 7, &ObjectMeta::generation},
    Field{"creationTimestamp", 8, &ObjectMeta::creation_time},
    Field{"deletionTimestamp", 9, &ObjectMeta::deletion_time},
    Field{"labels", 11, &ObjectMeta::labels},
    Field{"annotations", 12, &ObjectMeta::annotations},
    Field{"ownerReferences", 13, Each{&KeepController}},
};

// A LabelSelectorRequirement or a NodeSelectorRequirement.
inline void SetOperator(Requirement& out, std::string_view text) {
  out.op = ParseSelectorOperator(text);
  out.unknown_op = out.op == SelectorOperator::kUnknown ? text : std::string_view();
}
template <>
inline constexpr auto kBefore<Requirement> = [](Requirement& out) { out.op = SelectorOperator::kUnknown; };
template <>
inline constexpr auto kFields<Requirement> = Fields{
    Field{"key", 1, &Requirement::key},
    Field{"operator", 2, &SetOperator},
    Field{"values", 3, &Requirement::values},
};

struct LabelSelectorParts {
  std::vector<std::pair<std::string, std::string>> match_labels;
  std::vector<Requirement> match_expressions;
};
template <>
inline constexpr auto kFields<LabelSelectorParts> = Fields{
    Field{"matchLabels", 1, &LabelSelectorParts::match_labels},
    Field{"matchExpressions", 2, &LabelSelectorParts::match_expressions},
};
// The requirements of matchLabels, sorted by key, then those of matchExpressions.
inline void MakeSelector(LabelSelector& out, LabelSelectorParts&& parts) {
  out.requirements.clear();
  out.requirements.reserve(parts.match_labels.size() + parts.match_expressions.size());
  for (auto& [key, value] : parts.match_labels) {
    Requirement& requirement = out.requirements.emplace_back();
    requirement.key = std::move(key);
    requirement.op = SelectorOperator::kIn;
    requirement.values.push_back(std::move(value));
  }
  std::move(parts.match_expressions.begin(), parts.match_expressions.end(), std::back_inserter(out.requirements));
}
template <>
inline constexpr auto kMake<LabelSelector> = &MakeSelector;

template <>
inline constexpr auto kFields<NodeSelectorTerm> = Fields{
    Field{"matchExpressions", 1, &NodeSelectorTerm::match_expressions},
    Field{"matchFields", 2, &NodeSelectorTerm::match_fields},
};

// Stored as its terms.
struct NodeSelector;
template <>
inline constexpr auto kFields<NodeSelector> = Fields{Field{"nodeSelectorTerms", 1, Self{}}};

// Stored as its requests. Also the fields of a VolumeResourceRequirements.
struct ResourceRequirements;
template <>
inline constexpr auto kFields<ResourceRequirements> = Fields{Field{"requests", 2, Self{}}};

}  // namespace berth::api::internal
