// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/shadow_answer.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"
#include "berth/shell/cli/text.h"

namespace berth::answers {
namespace {

namespace json = codec::json;
using cli::Color;
using shadow::Comparison, shadow::DecisionCost, shadow::Match, shadow::MatchCount, shadow::PluginPoints,
    shadow::ShadowReport;
using shadow::kMatchCount;

constexpr std::size_t kDifferencesMax = 20;  // unless wide
constexpr std::size_t kPluginsMax = 3;       // that tell two nodes apart

std::string DurationText(Duration duration) {
  return FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

void AddSummary(const ShadowReport& report, const cli::Table::Style& style, Page& page) {
  const std::uint64_t decisions = report.Decisions();
  page.Text("Compared:   " + Counted(decisions, "decision", "decisions") + " of " +
            NamesText(report.scheduler_names, report.scheduler_names.size()) + " in " +
            DurationText(report.ended_at - report.began_at) + ", with " + Counted(report.node_count, "node", "nodes") +
            " and " + Counted(report.pod_count, "pod", "pods") + " on them");
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
  page.Line(std::move(text));
  const DecisionCost& cost = report.cost;
  if (cost.count() > 0) {
    const auto count = static_cast<Duration::rep>(cost.count());
    page.Line("Time:       " + MillisecondsText(cost.total() / count) + " a decision (half within " +
              MillisecondsText(cost.Quantile(500)) + ", 99 % within " + MillisecondsText(cost.Quantile(990)) +
              "), CPU " + MillisecondsText(cost.cpu() / count));
  }
  for (const std::string& line : report.unknown) page.Text("Unknown:    " + line);
}

void AddMatches(const ShadowReport& report, Page& page) {
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
  page.Rows(table);
}

void AddLeftOut(const ShadowReport& report, Page& page) {
  cli::Table table({{"LEFT OUT"}, {"PODS", true}});
  for (const LeftOutLine& line : LeftOutLines(report)) {
    if (line.count > 0) table.AddRow({std::string(line.text), std::to_string(line.count)});
  }
  if (table.row_count() == 0) return;
  page.Gap();
  page.Rows(table);
}

void AddDifferences(const ShadowReport& report, bool is_wide, Page& page) {
  const std::vector<Comparison> all = report.Differences();
  if (all.empty()) return;
  const std::size_t first = is_wide || all.size() <= kDifferencesMax ? 0 : all.size() - kDifferencesMax;
  const std::uint64_t count = report.Decisions() - report.Agreements();
  page.Gap();
  if (all.size() - first < count)
    page.Line("The newest " + std::to_string(all.size() - first) + " of " + std::to_string(count) + " differences");
  cli::Table table({{"POD"}, {"SCHEDULER"}, {"BERTH"}, {"POINTS", true}, {"BY ORDER"}, {"WHY"}});
  for (std::size_t i = first; i < all.size(); ++i) {
    const Comparison& each = all[i];
    const auto node = [](const std::string& name) { return name.empty() ? std::string("<none>") : name; };
    table.AddRow({each.pod, node(each.their_node), node(each.our_node),
                  each.match == Match::kWorseNode ? std::to_string(each.points) : "",
                  each.is_explained_by_order ? "yes" : "", WhyText(each)});
  }
  page.Rows(table);
}

double Milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

json::object CostJson(const DecisionCost& cost) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(cost.count(), 1));
  return {{"decisions", cost.count()},
          {"meanMs", Milliseconds(cost.total()) / count},
          {"p50Ms", Milliseconds(cost.Quantile(500))},
          {"p99Ms", Milliseconds(cost.Quantile(990))},
          {"maxMs", Milliseconds(cost.max())},
          {"cpuMeanMs", Milliseconds(cost.cpu()) / count},
          {"cpuSeconds", Milliseconds(cost.cpu()) / 1000}};
}

json::object SideJson(const std::string& node, const std::string& message, const std::string& preemption) {
  json::object side;
  if (!node.empty()) side["node"] = node;
  if (!message.empty()) side["message"] = message;
  if (!preemption.empty()) side["preemptionNode"] = preemption;
  return side;
}

json::object DifferenceJson(const Comparison& comparison) {
  json::object object{
      {"pod", comparison.pod},
      {"scheduler", comparison.scheduler_name},
      {"seenAt", FormatRfc3339Micro(comparison.seen_at)},
      {"match", ToString(comparison.match)},
      {"explainedByOrder", comparison.is_explained_by_order},
      {"theirs", SideJson(comparison.their_node, comparison.their_message, comparison.their_preemption)},
      {"ours", SideJson(comparison.our_node, comparison.our_message, comparison.our_preemption)}};
  if (comparison.match == Match::kWorseNode) {
    object["points"] = comparison.points;
    json::array plugins;
    for (const PluginPoints& plugin : comparison.plugins)
      plugins.push_back(json::object{{"plugin", plugin.plugin}, {"ours", plugin.ours}, {"theirs", plugin.theirs}});
    object["plugins"] = std::move(plugins);
  }
  return object;
}

}  // namespace

std::string_view Describe(Match match) {
  switch (match) {
    case Match::kSameNode: return "the same node";
    case Match::kEqualNode: return "another node, equally good";
    case Match::kSameRefusal: return "refused by both, for the same reasons";
    case Match::kOtherReasons: return "refused by both, for other reasons";
    case Match::kOtherPreemption: return "refused by both, preemption elsewhere";
    case Match::kWorseNode: return "another node, with fewer points";
    case Match::kUnfitNode: return "another node, which berth refuses";
    case Match::kRefusedHere: return "placed, but refused by berth";
    case Match::kPlacedHere: return "refused, but placed by berth";
    case Match::kFailedHere: return "a plugin of berth's failed";
  }
  return "";
}

std::string PercentText(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  std::uint64_t hundredths = (part * 10'000 + whole / 2) / whole;
  if (part < whole) hundredths = std::min<std::uint64_t>(hundredths, 9'999);
  if (part > 0) hundredths = std::max<std::uint64_t>(hundredths, 1);
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%02llu %%", static_cast<unsigned long long>(hundredths / 100),
                static_cast<unsigned long long>(hundredths % 100));
  return text;
}

std::string MillisecondsText(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", Milliseconds(duration));
  return text;
}

std::vector<LeftOutLine> LeftOutLines(const ShadowReport& report) {
  const shadow::LeftOut& left_out = report.left_out;
  return {{"hadNode", "had a node when seen first", left_out.had_node},
          {"otherScheduler", "placed by another scheduler", left_out.other_scheduler},
          {"deleted", "deleted before a decision", left_out.deleted},
          {"ownClaims", "volumes or claims were bound for it before it was", left_out.own_claims},
          {"failed", "attempts that ended with an error of the scheduler", left_out.failed},
          {"late", "berth was too far behind", left_out.late},
          {"gated", "held back by a scheduling gate at the end", report.waiting.gated},
          {"undecided", "not decided yet at the end", report.waiting.undecided}};
}

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
  Page page(style);
  AddSummary(report, style, page);
  page.Gap();
  AddMatches(report, page);
  AddLeftOut(report, page);
  AddDifferences(report, is_wide, page);
  return std::move(page).Take();
}

codec::json::object ShadowJson(const ShadowReport& report) {
  json::object matches;
  for (std::size_t i = 0; i < kMatchCount; ++i)
    matches[ToString(static_cast<Match>(i))] =
        json::object{{"count", report.counts[i].total}, {"explainedByOrder", report.counts[i].by_order}};
  json::object left_out;
  for (const LeftOutLine& line : LeftOutLines(report)) left_out[line.key] = line.count;
  json::array differences;
  for (const Comparison& comparison : report.Differences()) differences.push_back(DifferenceJson(comparison));
  const MatchCount& worse = report.Of(Match::kWorseNode);
  const double mean =
      worse.total == 0 ? 0 : static_cast<double>(report.points_total) / static_cast<double>(worse.total);
  return {{"source", report.source},
          {"schedulers", NamesJson(report.scheduler_names)},
          {"configuration", report.configuration},
          {"unknown", NamesJson(report.unknown)},
          {"beganAt", FormatRfc3339(report.began_at)},
          {"endedAt", FormatRfc3339(report.ended_at)},
          {"nodes", report.node_count},
          {"podsOnNodes", report.pod_count},
          {"decisions", report.Decisions()},
          {"agreements", report.Agreements()},
          {"unexplained", report.Unexplained()},
          {"orderNotTried", report.order_untried},
          {"matches", std::move(matches)},
          {"points", json::object{{"mean", mean}, {"max", report.points_max}}},
          {"leftOut", std::move(left_out)},
          {"cost", CostJson(report.cost)},
          {"differences", std::move(differences)}};
}

}  // namespace berth::answers
