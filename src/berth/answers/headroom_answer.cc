// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/headroom_answer.h"

#include <cstddef>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"

namespace berth::answers {
namespace {

using whatif::Headroom, whatif::WorkloadHeadroom;

constexpr std::size_t kNodesShown = 3;

bool IsKnown(const WorkloadHeadroom& workload) { return workload.why_unknown.empty(); }

std::string Survives(const Headroom& headroom, const WorkloadHeadroom& workload) {
  if (!IsKnown(workload)) return "unknown";
  if (workload.pod_count == 0) return "-";
  return std::to_string(workload.survives) + (workload.survives == headroom.losses_max ? "+" : "");
}

// The nodes of the loss that the workload does not survive, or why its headroom is not known.
std::string Without(const WorkloadHeadroom& workload, bool is_wide) {
  if (!IsKnown(workload)) return workload.why_unknown;
  if (workload.pod_count == 0) return "none of its pods has a node";
  return NamesText(workload.lost_nodes, is_wide ? workload.lost_nodes.size() : kNodesShown);
}

}  // namespace

std::vector<std::string> HeadroomLines(const Headroom& headroom, bool is_wide, const cli::Table::Style& style) {
  std::vector<cli::Column> columns = {{"NAMESPACE"},      {"WORKLOAD"},       {"PODS", true}, {"NODES", true},
                                      {"SURVIVES", true}, {"NO PLACE", true}, {"WITHOUT"}};
  if (is_wide) {
    columns.insert(columns.begin() + 2, {{"PRIORITY", true}, {"PENDING", true}});
    columns.push_back({"BECAUSE"});
  }
  cli::Table table(std::move(columns));
  std::vector<std::size_t> counts(headroom.losses_max + 1);
  for (const WorkloadHeadroom& workload : headroom.workloads) {
    const bool is_shown = IsKnown(workload) && workload.pod_count > 0;
    if (is_shown) ++counts[workload.survives];
    const cli::Color color = is_shown && workload.survives == 0 ? cli::Color::kRed : cli::Color::kNone;
    std::vector<cli::Cell> cells = {workload.namespace_name,
                                    workload.kind + "/" + workload.name,
                                    std::to_string(workload.pod_count),
                                    std::to_string(workload.node_count),
                                    {Survives(headroom, workload), color},
                                    workload.lost_nodes.empty() ? "" : std::to_string(workload.homeless_count),
                                    Without(workload, is_wide)};
    if (is_wide) {
      cells.insert(cells.begin() + 2, {std::to_string(workload.priority), std::to_string(workload.pending_count)});
      cells.emplace_back(workload.refusal ? ReasonsText(*workload.refusal) : "");
    }
    table.AddRow(std::move(cells));
  }
  Page page(style);
  if (table.row_count() > 0) page.Rows(table);
  page.Gap();
  std::string summary = Counted(headroom.workloads.size(), "workload", "workloads");
  for (std::size_t losses = 0; losses < counts.size(); ++losses) {
    if (counts[losses] == 0) continue;
    const bool is_most = losses == headroom.losses_max;
    summary += "; " + std::to_string(counts[losses]) + (counts[losses] == 1 ? " survives " : " survive ") +
               (is_most && losses > 0 ? "at least " : "") +
               (losses == 0   ? "no node loss"
                : losses == 1 ? "one node loss"
                              : std::to_string(losses) + " node losses");
  }
  page.Text(summary + ".");
  if (headroom.is_interrupted) page.Line("Interrupted: the true numbers may be higher.");
  return std::move(page).Take();
}

codec::json::object HeadroomJson(const Headroom& headroom) {
  codec::json::array workloads;
  for (const WorkloadHeadroom& workload : headroom.workloads) {
    codec::json::object object{
        {"namespace", workload.namespace_name}, {"kind", workload.kind},      {"name", workload.name},
        {"priority", workload.priority},        {"pods", workload.pod_count}, {"nodes", workload.node_count},
        {"pendingPods", workload.pending_count}};
    if (!IsKnown(workload)) {
      object["unknown"] = workload.why_unknown;
    } else if (workload.pod_count > 0) {
      object["survives"] = workload.survives;
      object["isAtLimit"] = workload.survives == headroom.losses_max;
    }
    if (!workload.lost_nodes.empty()) {
      codec::json::object failure{{"nodes", NamesJson(workload.lost_nodes)},
                                  {"podsWithoutPlace", workload.homeless_count}};
      if (workload.refusal) failure["refusal"] = RefusalJson(*workload.refusal);
      object["failsWithout"] = std::move(failure);
    }
    workloads.push_back(std::move(object));
  }
  return {{"kind", "Headroom"},
          {"nodes", headroom.node_count},
          {"maxLosses", headroom.losses_max},
          {"interrupted", headroom.is_interrupted},
          {"workloads", std::move(workloads)}};
}

}  // namespace berth::answers
