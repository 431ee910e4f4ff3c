// SPDX-License-Identifier: Apache-2.0
// Interprets decoded strings and maps; shared by the decoders of JSON and protobuf. Private to this folder.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/utf8.h"

namespace berth::api::internal {

inline constexpr std::size_t kShownTextMax = 64;

// Enum values of fields. An unknown text becomes kUnknown or the default.
inline void Parse(std::string_view text, TaintEffect& out) {
  out = text.empty()                 ? TaintEffect::kNone
        : text == "NoSchedule"       ? TaintEffect::kNoSchedule
        : text == "PreferNoSchedule" ? TaintEffect::kPreferNoSchedule
        : text == "NoExecute"        ? TaintEffect::kNoExecute
                                     : TaintEffect::kUnknown;
}
inline void Parse(std::string_view text, PodPhase& out) {
  out = text == "Pending"     ? PodPhase::kPending
        : text == "Running"   ? PodPhase::kRunning
        : text == "Succeeded" ? PodPhase::kSucceeded
        : text == "Failed"    ? PodPhase::kFailed
                              : PodPhase::kUnknown;
}
inline void Parse(std::string_view text, PreemptionPolicy& out) {
  out = text == "Never" ? PreemptionPolicy::kNever : PreemptionPolicy::kPreemptLowerPriority;
}
inline void Parse(std::string_view text, NodeInclusionPolicy& out) {
  out = text == "Ignore" ? NodeInclusionPolicy::kIgnore : NodeInclusionPolicy::kHonor;
}
inline void Parse(std::string_view text, UnsatisfiableConstraintAction& out) {
  out = text == "DoNotSchedule"    ? UnsatisfiableConstraintAction::kDoNotSchedule
        : text == "ScheduleAnyway" ? UnsatisfiableConstraintAction::kScheduleAnyway
                                   : UnsatisfiableConstraintAction::kUnknown;
}

// Sorts by key. Of entries with equal keys the last one is kept.
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

inline std::string NoTime(std::string_view text) {
  return '"' + std::string(CutUtf8(text, kShownTextMax)) + "\" is no RFC 3339 time";
}

}  // namespace berth::api::internal
