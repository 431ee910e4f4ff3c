// SPDX-License-Identifier: Apache-2.0
// Which annotations of a pod ask for a label of its node, and how much they ask: the arguments of NodeLabelMatch, and
// what they make of one pod. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/meta.h"
#include "berth/base/expected.h"
#include "berth/core/config/args.h"

namespace berth::plugins {

enum class Strictness : std::uint8_t { kRequired, kPreferred };

// A rule for the annotation of that key, or for all whose key begins with `prefix`. One of the two is empty.
struct LabelRule {
  std::string key;
  std::string prefix;  // ends with a slash
  std::string label;   // with `key`: the node's label, if it is called otherwise
  Strictness strictness = Strictness::kRequired;
  std::int64_t weight = 1;  // kPreferred: 1 to kRuleWeightMax
};

inline constexpr std::int64_t kRuleWeightMax = 100;
inline constexpr std::size_t kRulesMax = 64;

// What one annotation of a pod asks of a node.
struct LabelWish {
  std::string annotation;
  std::string label;
  std::string value;
  Strictness strictness = Strictness::kRequired;
  std::int64_t weight = 1;

  bool IsMetBy(const api::StringMap& labels) const {
    const std::string* found = labels.Find(label);
    return found != nullptr && *found == value;
  }
};

// Reads the arguments; without any, `cluster.type` is required. Every wrong field is named in the error.
Expected<std::vector<LabelRule>> ReadLabelRules(const config::PluginArgs& args);

// The wishes of that strictness, in the order of the annotations' keys. A rule for a key goes before prefixes, and a
// longer prefix before a shorter one.
std::vector<LabelWish> WishesOf(const std::vector<LabelRule>& rules, const api::StringMap& annotations,
                                Strictness strictness);

}  // namespace berth::plugins
