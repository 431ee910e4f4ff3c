// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/node_mark.h"

#include <optional>

namespace berth::rebalance {
namespace {

constexpr std::string_view kTrue = "true";
constexpr std::string_view kAfter = "after ";

// Empty: there is none.
std::string_view MarkOf(const api::Node& node) {
  const std::string* const text = node.metadata.annotations.Find(kConsolidatingAnnotation);
  return text == nullptr ? std::string_view() : *text;
}

}  // namespace

NodeMark CordonMark() { return {true, std::string(kTrue)}; }

NodeMark LeaveAloneMark(Time until) { return {false, std::string(kAfter) + FormatRfc3339(until)}; }

bool IsConsolidating(const api::Node& node) { return node.unschedulable && MarkOf(node) == kTrue; }

bool WasUncordoned(const api::Node& node) { return !node.unschedulable && MarkOf(node) == kTrue; }

bool IsLeftAlone(const api::Node& node, Time now) {
  if (WasUncordoned(node)) return true;
  std::string_view text = MarkOf(node);
  if (!text.starts_with(kAfter)) return false;
  text.remove_prefix(kAfter.size());
  const std::optional<Time> until = ParseRfc3339(text);
  return until && now < *until;
}

}  // namespace berth::rebalance
