// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_label_match/label_rules.h"

#include <set>

#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kDefaultKey = "cluster.type";

void ReadStrictness(config::ObjectReader& reader, Strictness& out) {
  std::string text = out == Strictness::kRequired ? "Required" : "Preferred";
  reader.Read("strictness", text);
  if (text != "Required" && text != "Preferred")
    reader.errors().NotSupported(reader.PathOf("strictness"), text, {"Required", "Preferred"});
  out = text == "Preferred" ? Strictness::kPreferred : Strictness::kRequired;
}

constexpr std::string_view kNotAName = "must be a name as of a label, such as \"cluster.type\" or \"example.com/disk\"";

void CheckName(config::ObjectReader& reader, std::string_view field, const std::string& name) {
  if (!name.empty() && !api::IsQualifiedName(name)) reader.errors().Invalid(reader.PathOf(field), name, kNotAName);
}

void CheckPrefix(config::ObjectReader& reader, const std::string& prefix) {
  if (prefix.ends_with('/') && api::IsDnsSubdomain(std::string_view(prefix).substr(0, prefix.size() - 1))) return;
  reader.errors().Invalid(reader.PathOf("prefix"), prefix,
                          "must be a domain and a slash, such as \"match.example.com/\"");
}

LabelRule ReadRule(config::ObjectReader& reader, Strictness by_default) {
  LabelRule rule;
  rule.strictness = by_default;
  reader.Read("key", rule.key);
  reader.Read("prefix", rule.prefix);
  reader.Read("label", rule.label);
  ReadStrictness(reader, rule.strictness);
  const bool has_weight = reader.Find("weight") != nullptr;
  reader.Read("weight", rule.weight);
  if (rule.key.empty() && rule.prefix.empty()) reader.errors().Required(reader.PathOf("key"), "or a prefix");
  if (!rule.key.empty() && !rule.prefix.empty())
    reader.errors().Forbidden(reader.PathOf("prefix"), "a rule is for a key or for a prefix");
  CheckName(reader, "key", rule.key);
  CheckName(reader, "label", rule.label);
  if (!rule.prefix.empty()) CheckPrefix(reader, rule.prefix);
  if (!rule.prefix.empty() && !rule.label.empty())
    reader.errors().Forbidden(reader.PathOf("label"), "the labels of a prefix are called as the annotations are");
  if (has_weight && rule.strictness == Strictness::kRequired)
    reader.errors().Forbidden(reader.PathOf("weight"), "only what is preferred has a weight");
  if (rule.weight < 1 || rule.weight > kRuleWeightMax)
    reader.errors().Invalid(reader.PathOf("weight"), rule.weight, "must be between 1 and 100");
  return rule;
}

const LabelRule* RuleFor(const std::vector<LabelRule>& rules, std::string_view key) {
  const LabelRule* best = nullptr;
  for (const LabelRule& rule : rules) {
    if (rule.key == key) return &rule;
    if (rule.prefix.empty() || !key.starts_with(rule.prefix)) continue;
    if (best == nullptr || rule.prefix.size() > best->prefix.size()) best = &rule;
  }
  return best;
}

}  // namespace

Expected<std::vector<LabelRule>> ReadLabelRules(const config::PluginArgs& args) {
  using Rules = std::vector<LabelRule>;
  return ReadPolicyArgs<Rules>(names::kNodeLabelMatch, args, [](config::ObjectReader& reader, Rules& rules) {
    Strictness by_default = Strictness::kRequired;
    ReadStrictness(reader, by_default);
    if (reader.Find("keys") == nullptr) {
      rules.push_back({std::string(kDefaultKey), {}, {}, by_default, 1});
      return;
    }
    std::set<std::string> seen;
    reader.List("keys", [&](const codec::json::value& item, const std::string& path) {
      config::ObjectReader fields(item, path, reader.errors());
      if (!item.is_object() && !item.is_null()) return;
      LabelRule rule = ReadRule(fields, by_default);
      const std::string& name = rule.key.empty() ? rule.prefix : rule.key;
      if (!name.empty() && !seen.insert(name).second) reader.errors().Duplicate(path, name);
      rules.push_back(std::move(rule));
    });
    if (rules.empty()) reader.errors().Required(reader.PathOf("keys"), "at least one");
    if (rules.size() > kRulesMax)
      reader.errors().Invalid(reader.PathOf("keys"), static_cast<std::int64_t>(rules.size()), "at most 64 are allowed");
  });
}

std::vector<LabelWish> WishesOf(const std::vector<LabelRule>& rules, const api::StringMap& annotations,
                                Strictness strictness) {
  std::vector<LabelWish> wishes;
  for (const auto& [key, value] : annotations) {
    const LabelRule* rule = RuleFor(rules, key);
    if (rule == nullptr || rule->strictness != strictness) continue;
    wishes.push_back({key, rule->label.empty() ? key : rule->label, value, strictness, rule->weight});
  }
  return wishes;
}

}  // namespace berth::plugins
