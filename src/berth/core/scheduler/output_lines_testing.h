// SPDX-License-Identifier: Apache-2.0
// The core's outputs as lines of text, for tests:
//   bind p to a | read p | work | status p [Unschedulable: message] [nominates a] | ask 0 filter p: a b
//   ask 0 preempt p: a[uid1 uid2] b[uid3]!1 (one budget overdrawn)
//   Normal Scheduled p: note
//   booked default/r: main a=2 b=1 | refused default/r: why | moved default/r: main b=3: why | lost default/r: why
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "berth/core/scheduler/io.h"

namespace berth::scheduler {

using Lines = std::vector<std::string>;

inline std::string LineOf(const framework::ApiWrite& write) {
  if (const auto* bind = std::get_if<framework::BindWrite>(&write))
    return "bind " + bind->pod.name + " to " + bind->node_name;
  if (const auto* read = std::get_if<framework::PodRead>(&write)) return "read " + read->pod.name;
  if (const auto* patch = std::get_if<framework::ObjectPatch>(&write)) return "patch " + patch->object.name;
  if (const auto* create = std::get_if<framework::ObjectCreate>(&write)) return "create " + create->object.resource;
  if (const auto* gone = std::get_if<framework::ObjectDelete>(&write)) return "delete " + gone->object.name;
  if (const auto* object = std::get_if<framework::ObjectRead>(&write)) return "get " + object->object.name;
  const auto& status = std::get<framework::PodStatusWrite>(write);
  std::string text = "status " + status.pod.name;
  if (status.has_condition) text += " " + status.condition_reason + ": " + status.condition_message;
  if (status.has_nomination) text += " nominates " + status.nominated_node_name;
  return text;
}

inline std::string LineOf(const BookingReport& report) {
  constexpr const char* kStates[] = {"booked", "refused", "moved", "lost"};
  std::string line = kStates[static_cast<int>(report.state)] + (" " + report.request) + ":";
  const bool is_kept = report.state == BookingState::kBooked || report.state == BookingState::kMoved;
  for (const BookedSet& set : report.sets) {
    if (is_kept) line += " " + set.name;
    for (const auto& [node, count] : set.nodes) line += " " + node + "=" + std::to_string(count);
  }
  if (is_kept && !report.why.empty()) line += ":";
  return report.why.empty() ? line : line + " " + report.why;
}

inline std::string LineOf(const Output& output) {
  if (const auto* report = std::get_if<BookingReport>(&output)) return LineOf(*report);
  if (const auto* event = std::get_if<EmitEvent>(&output)) {
    return std::string(event->is_warning ? "Warning " : "Normal ") + event->reason + " " + event->regarding.name +
           ": " + event->note;
  }
  if (const auto* ask = std::get_if<AskExtender>(&output)) {
    constexpr const char* kVerbs[] = {"filter", "prioritize", "bind", "preempt"};
    std::string line =
        "ask " + std::to_string(ask->extender) + " " + kVerbs[static_cast<int>(ask->verb)] + " " + ask->pod.name + ":";
    for (const std::string& name : ask->node_names) line += " " + name;
    for (const VictimsOnNode& each : ask->victims) {
      line += " " + each.node_name + "[";
      for (const std::string& uid : each.pod_uids) line += (line.back() == '[' ? "" : " ") + uid;
      line += each.pdb_violations == 0 ? "]" : "]!" + std::to_string(each.pdb_violations);
    }
    return line;
  }
  if (std::holds_alternative<Work>(output)) return "work";
  return LineOf(std::get<Write>(output).write);
}

}  // namespace berth::scheduler
