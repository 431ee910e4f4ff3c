// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/shadow_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "berth/shell/cli/text.h"
#include "berth/whatif/answer_text.h"

namespace berth::shadow {
namespace {

using cli::Color;

constexpr std::size_t kDifferencesMax = 20;  // unless wide
constexpr std::size_t kPluginsMax = 3;       // that tell two nodes apart

std::string DurationText(Duration duration) {
  return FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

void AddSummary(std::vector<std::string>& lines, const ShadowReport& report, const cli::Table::Style& style) {
  const std::uint64_t decisions = report.Decisions();
  whatif::AddWrapped(lines,
                     "Compared:   " + whatif::Counted(decisions, "decision", "decisions") + " of " +
                         whatif::NamesText(report.scheduler_names, report.scheduler_names.size()) + " in " +
                         DurationText(report.ended_at - report.began_at) + ", with " +
                         whatif::Counted(report.node_count, "node", "nodes") + " and " +
                         whatif::Counted(report.pod_count, "pod", "pods") + " on them",
                     whatif::TextColumns(style));
  const std::uint64_t agreements = report.Agreements();
  const std::uint64_t unexplained = report.Unexplained();
  const Color color = unexplained == 0 ? Color::kGreen : Color::kYellow;
  std::string text =
      "Agreement:  " +
      cli::Paint(PercentText(agreements, decisions), decisions == 0 ? Color::kNone : color, style.has_color) + " (" +
      std::to_string(agreements) + ")";
  const std::uint64_t by_order = decisions - agreements - unexplained;
  if (by_order > 0) text += ", and " + std::to_string(by_order) + " explained by the order of decisions";
  if (unexplained > 0) text += "; " + std::to_string(unexplained) + " differ";
  if (report.order_untried > 0) text += ", of " + std::to_string(report.order_untried) + " the order was not tried";
  lines.push_back(std::move(text));
  const DecisionCost& cost = report.cost;
  if (cost.count() > 0) {
    const auto count = static_cast<Duration::rep>(cost.count());
    lines.push_back("Time:       " + MillisecondsText(cost.total() / count) + " a decision (half within " +
                    MillisecondsText(cost.Quantile(500)) + ", 99 % within " + MillisecondsText(cost.Quantile(990)) +
                    "), CPU " + MillisecondsText(cost.cpu() / count));
  }
  for (const std::string& line : report.unknown)
    whatif::AddWrapped(lines, "Unknown:    " + line, whatif::TextColumns(style));
}

void AddMatches(std::vector<std::string>& lines, const ShadowReport& report, const cli::Table::Style& style) {
  cli::Table table({{"OUTCOME"}, {"DECISIONS", true}, {"SHARE", true}, {"BY ORDER", true}});
  for (std::size_t i = 0; i < kMatchCount; ++i) {
    const MatchCount& count = report.counts[i];
    const auto match = static_cast<Match>(i);
    if (count.total == 0 && match > Match::kSameRefusal) continue;
    const bool is_bad = !Agrees(match) && count.total > count.by_order;
    table.AddRow({std::string(Describe(match)),
                  {std::to_string(count.total), is_bad ? Color::kYellow : Color::kNone},
                  PercentText(count.total, report.Decisions()),
                  Agrees(match) ? "" : std::to_string(count.by_order)});
  }
  whatif::AddTable(lines, table, style);
}

void AddLeftOut(std::vector<std::string>& lines, const ShadowReport& report, const cli::Table::Style& style) {
  cli::Table table({{"LEFT OUT"}, {"PODS", true}});
  for (const LeftOutLine& line : LeftOutLines(report)) {
    if (line.count > 0) table.AddRow({std::string(line.text), std::to_string(line.count)});
  }
  if (table.row_count() == 0) return;
  lines.emplace_back();
  whatif::AddTable(lines, table, style);
}

void AddDifferences(std::vector<std::string>& lines, const ShadowReport& report, bool is_wide,
                    const cli::Table::Style& style) {
  const std::vector<Comparison> all = report.Differences();
  if (all.empty()) return;
  const std::size_t first = is_wide || all.size() <= kDifferencesMax ? 0 : all.size() - kDifferencesMax;
  const std::uint64_t count = report.Decisions() - report.Agreements();
  lines.emplace_back();
  if (all.size() - first < count)
    lines.push_back("The newest " + std::to_string(all.size() - first) + " of " + std::to_string(count) +
                    " differences");
  cli::Table table({{"POD"}, {"SCHEDULER"}, {"BERTH"}, {"POINTS", true}, {"BY ORDER"}, {"WHY"}});
  for (std::size_t i = first; i < all.size(); ++i) {
    const Comparison& each = all[i];
    const auto node = [](const std::string& name) { return name.empty() ? std::string("<none>") : name; };
    table.AddRow({each.pod, node(each.their_node), node(each.our_node),
                  each.match == Match::kWorseNode ? std::to_string(each.points) : "",
                  each.is_explained_by_order ? "yes" : "", WhyText(each)});
  }
  whatif::AddTable(lines, table, style);
}

}  // namespace

std::string WhyText(const Comparison& comparison) {
  switch (comparison.match) {
    case Match::kWorseNode: {
      std::string text;
      for (std::size_t i = 0; i < comparison.plugins.size() && i < kPluginsMax; ++i) {
        const PluginPoints& plugin = comparison.plugins[i];
        text += (text.empty() ? "" : ", ") + plugin.plugin + " " + std::to_string(plugin.theirs) + " against " +
                std::to_string(plugin.ours);
      }
      return text;
    }
    case Match::kUnfitNode:
    case Match::kRefusedHere:
    case Match::kFailedHere: return comparison.our_message;
    case Match::kPlacedHere: return comparison.their_message;
    case Match::kOtherReasons: return "scheduler: " + comparison.their_message + " berth: " + comparison.our_message;
    case Match::kOtherPreemption:
      return "preemption on " + (comparison.their_preemption.empty() ? "no node" : comparison.their_preemption) +
             ", berth: " + (comparison.our_preemption.empty() ? "no node" : comparison.our_preemption);
    case Match::kSameNode:
    case Match::kEqualNode:
    case Match::kSameRefusal: return std::string(Describe(comparison.match));
  }
  return "";
}

std::vector<std::string> ShadowLines(const ShadowReport& report, bool is_wide, const cli::Table::Style& style) {
  std::vector<std::string> lines;
  AddSummary(lines, report, style);
  lines.emplace_back();
  AddMatches(lines, report, style);
  AddLeftOut(lines, report, style);
  AddDifferences(lines, report, is_wide, style);
  return lines;
}

}  // namespace berth::shadow
