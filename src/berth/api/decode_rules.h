// What a decoded text or map means, whatever it was written in: shared by the decoders of JSON and of protobuf.
// Private to this folder.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/pod.h"
#include "berth/api/selector.h"

namespace berth::api::internal {

inline constexpr std::size_t kShownTextMax = 64;

inline TaintEffect ParseEffect(std::string_view text) {
  if (text.empty()) return TaintEffect::kNone;
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  return TaintEffect::kUnknown;
}

inline PodPhase ParsePhase(std::string_view text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

inline PreemptionPolicy ParsePreemptionPolicy(std::string_view text) {
  return text == "Never" ? PreemptionPolicy::kNever : PreemptionPolicy::kPreemptLowerPriority;
}

inline NodeInclusionPolicy ParsePolicy(std::string_view text) {
  return text == "Ignore" ? NodeInclusionPolicy::kIgnore : NodeInclusionPolicy::kHonor;
}

inline UnsatisfiableConstraintAction ParseAction(std::string_view text) {
  if (text == "DoNotSchedule") return UnsatisfiableConstraintAction::kDoNotSchedule;
  if (text == "ScheduleAnyway") return UnsatisfiableConstraintAction::kScheduleAnyway;
  return UnsatisfiableConstraintAction::kUnknown;
}

// A container's restartPolicy, and the action of one of its restartPolicyRules.
inline bool IsRestartAlways(std::string_view policy) { return policy == "Always"; }
inline bool IsRestartAll(std::string_view action) { return action == "RestartAllContainers"; }

// Of the conditions of a pod, those that scheduling looks at.
inline bool IsKeptCondition(std::string_view type) {
  return type == "PodScheduled" || type == "DisruptionTarget" || type == "PodResizePending";
}

inline void SetOperator(Requirement& out, std::string_view text) {
  out.op = ParseSelectorOperator(text);
  out.unknown_op = out.op == SelectorOperator::kUnknown ? text : std::string_view();
}

// The requirements of matchLabels, which are sorted and without doubles, then those of matchExpressions. Texts of a
// container that can be changed are moved.
template <typename Labels>
void SetRequirements(LabelSelector& out, Labels&& labels, std::vector<Requirement>&& expressions) {
  out.requirements.clear();
  out.requirements.reserve(labels.size() + expressions.size());
  for (auto&& [key, text] : labels) {
    Requirement& requirement = out.requirements.emplace_back();
    requirement.key = std::move(key);
    requirement.op = SelectorOperator::kIn;
    requirement.values.push_back(std::move(text));
  }
  std::move(expressions.begin(), expressions.end(), std::back_inserter(out.requirements));
}

// Sorted by key; of a doubled key the last entry wins.
template <typename Value>
void SortMap(std::vector<std::pair<std::string, Value>>& map) {
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(map.begin(), map.end(), by_key)) std::stable_sort(map.begin(), map.end(), by_key);
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::adjacent_find(map.begin(), map.end(), same_key) != map.end()) {
    const auto kept = std::unique(map.rbegin(), map.rend(), same_key);
    map.erase(map.begin(), kept.base());
  }
}

// "Pod namespace/name: failure", as far as the object has a name.
inline Error ObjectError(std::string_view kind, std::string_view namespace_name, std::string_view name,
                         std::string_view failure) {
  std::string text(kind);
  if (!namespace_name.empty()) text.append(" ").append(namespace_name).append("/");
  if (!name.empty()) {
    if (text.back() != '/') text += ' ';
    text += name;
  }
  return InvalidError(text.append(": ").append(failure));
}

inline std::string NoTime(std::string_view text) {
  return '"' + std::string(text.substr(0, kShownTextMax)) + "\" is no RFC 3339 time";
}

inline constexpr std::string_view kNameMissing = "is missing";

}  // namespace berth::api::internal
