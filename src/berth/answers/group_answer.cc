// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/group_answer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"

namespace berth::answers {
namespace {

namespace json = codec::json;
using cli::Cell;
using cli::Color;
using whatif::GroupExplanation, whatif::GroupMemberAnswer, whatif::GroupState;

constexpr std::size_t kVictimsMax = 5;

std::string Policy(const api::PodGroup& group) {
  std::string text = group.min_count ? "gang, minCount " + std::to_string(*group.min_count) : "basic";
  text += ", priority " + std::to_string(group.priority.value_or(0));
  if (group.is_disrupted_whole) text += ", preempted whole";
  for (const std::string& key : group.topology_keys) text += ", within one " + key;
  return text;
}

std::string StateOf(const GroupMemberAnswer& member, const GroupExplanation& said) {
  if (member.is_running) return "placed";
  if (!member.node.empty()) return "would go";
  return said.state == GroupState::kGated ? "gated" : "waits";
}

// The beginning of a longer text: "0/3 nodes are available: 3 Insufficient cpu."
std::string FirstSentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

}  // namespace

std::vector<std::string> GroupLines(const GroupExplanation& said, bool is_wide, const cli::Table::Style& style) {
  Page page(style);
  const auto field = [&](std::string_view name, std::string_view value) { page.Field(name, value, 2); };
  const std::size_t running = said.RunningCount();
  field("PodGroup", said.group);
  field("Policy", Policy(said.object));
  field("Pods", std::to_string(said.members.size()) + ", of which " + std::to_string(running) + " placed and " +
                    std::to_string(said.members.size() - running) + " waiting");
  switch (said.state) {
    case GroupState::kPlaced: field("Placed", "all of its pods"); break;
    case GroupState::kFits: field("Fits", "it would be placed now"); break;
    case GroupState::kPreempts:
      field("Preempts", NamesText(said.victims, is_wide ? said.victims.size() : kVictimsMax));
      break;
    case GroupState::kRefused: field("Refused", said.message); break;
    case GroupState::kGated: field("Gated", said.message); break;
  }
  if (said.fitting) {
    const auto min_count = static_cast<std::size_t>(said.object.min_count.value_or(1));
    const std::size_t needed = min_count - std::min(min_count, running);
    field("Room", "for " + std::to_string(*said.fitting) + " of the " + std::to_string(needed) + " that are needed");
  }
  for (const api::GroupCondition& condition : said.object.conditions) {
    std::string text = condition.type + "=" + condition.status + ", " + condition.reason;
    if (!condition.message.empty() && condition.message != said.message) text += ": " + condition.message;
    field("Condition", text);
  }
  if (said.members.empty()) return std::move(page).Take();
  page.Gap();
  cli::Table table({{"POD"}, {"STATE"}, {"NODE"}, {"WHY"}});
  for (const GroupMemberAnswer& member : said.members) {
    const std::string why = is_wide ? member.why : FirstSentence(member.why);
    table.AddRow({member.name, StateOf(member, said), member.node.empty() ? Cell("<none>", Color::kRed) : member.node,
                  !why.empty() && member.why.ends_with(said.message) ? "as the group" : why});
  }
  page.Rows(table);
  return std::move(page).Take();
}

json::object GroupJson(const GroupExplanation& said) {
  const api::PodGroup& group = said.object;
  json::array conditions;
  for (const api::GroupCondition& each : group.conditions)
    conditions.push_back(
        json::object{{"type", each.type}, {"status", each.status}, {"reason", each.reason}, {"message", each.message}});
  json::array members;
  for (const GroupMemberAnswer& each : said.members) {
    json::object item{{"name", each.name},
                      {"placed", each.is_running},
                      {"node", each.node.empty() ? json::value() : json::value(each.node)}};
    if (!each.why.empty()) item["reason"] = each.why;
    members.push_back(std::move(item));
  }
  return {{"podGroup", said.group},
          {"policy", group.min_count ? "gang" : "basic"},
          {"minCount", group.min_count ? json::value(*group.min_count) : json::value()},
          {"priority", group.priority.value_or(0)},
          {"disruptionMode", group.is_disrupted_whole ? "all" : "single"},
          {"topologyKeys", NamesJson(group.topology_keys)},
          {"state", ToString(said.state)},
          {"message", said.message},
          {"fitting", said.fitting ? json::value(*said.fitting) : json::value()},
          {"conditions", std::move(conditions)},
          {"victims", NamesJson(said.victims)},
          {"pods", std::move(members)}};
}

}  // namespace berth::answers
