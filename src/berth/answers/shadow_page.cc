// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/shadow_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "berth/answers/shadow_answer.h"
#include "berth/shell/cli/text.h"

namespace berth::answers {
namespace {

using shadow::Comparison, shadow::DecisionCost, shadow::Match, shadow::MatchCount, shadow::ShadowReport;
using shadow::kMatchCount;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>berth shadow</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.big { font-size: 2.5rem; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 30rem; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: .7rem; background: #3a7; min-width: 1px; } .bar.bad { background: #d80; }
</style>
</head>
<body>
)";

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : cli::Printable(text)) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

struct Cell {
  std::string html;
  bool is_number = false;
};

void AddRow(std::string& page, std::string_view tag, std::initializer_list<Cell> cells) {
  page += "<tr>";
  for (const Cell& cell : cells)
    page.append("<")
        .append(tag)
        .append(cell.is_number ? " class=\"n\">" : ">")
        .append(cell.html)
        .append("</")
        .append(tag)
        .append(">");
  page += "</tr>\n";
}

void BeginTable(std::string& page, std::string_view title, std::initializer_list<Cell> titles) {
  page.append("<h2>").append(title).append("</h2>\n<div class=\"wide\"><table>\n");
  AddRow(page, "th", titles);
}

void EndTable(std::string& page) { page += "</table></div>\n"; }

std::string Bar(std::uint64_t part, std::uint64_t whole, bool is_bad) {
  const std::uint64_t width = whole == 0 ? 0 : part * 200 / whole;
  return "<span class=\"bar" + std::string(is_bad ? " bad" : "") + "\" style=\"width:" + std::to_string(width) +
         "px\"></span>";
}

void AddSummary(std::string& page, const ShadowReport& report) {
  std::string names;
  for (const std::string& name : report.scheduler_names) names += (names.empty() ? "" : ", ") + Escaped(name);
  page += "<h1>berth shadow: " + names + "</h1>\n<p class=\"big\">" +
          PercentText(report.Agreements(), report.Decisions()) + " agreement</p>\n<p>" +
          std::to_string(report.Decisions()) + " decisions from " + FormatRfc3339(report.began_at) + " to " +
          FormatRfc3339(report.ended_at) + " on " + Escaped(report.source) + ", at the end with " +
          std::to_string(report.node_count) + " nodes and " + std::to_string(report.pod_count) +
          " pods on them. Configuration: " +
          (report.configuration.empty() ? "kube-scheduler's defaults" : Escaped(report.configuration)) + ".</p>\n";
  if (report.order_untried > 0)
    page += "<p>Of " + std::to_string(report.order_untried) + " differences the order was not tried.</p>\n";
  for (const std::string& line : report.unknown) page += "<p>Unknown: " + Escaped(line) + ".</p>\n";
}

void AddMatches(std::string& page, const ShadowReport& report) {
  BeginTable(page, "Outcomes", {{"outcome"}, {"decisions", true}, {"share", true}, {"explained by order", true}, {""}});
  for (std::size_t i = 0; i < kMatchCount; ++i) {
    const auto match = static_cast<Match>(i);
    const MatchCount& count = report.counts[i];
    AddRow(page, "td",
           {{Escaped(Describe(match))},
            {std::to_string(count.total), true},
            {PercentText(count.total, report.Decisions()), true},
            {Agrees(match) ? "" : std::to_string(count.by_order), true},
            {Bar(count.total, report.Decisions(), !Agrees(match))}});
  }
  EndTable(page);
}

void AddDifferences(std::string& page, const ShadowReport& report) {
  const std::vector<Comparison> differences = report.Differences();
  if (differences.empty()) return;
  const std::uint64_t count = report.Decisions() - report.Agreements();
  BeginTable(page,
             differences.size() == count
                 ? "Differences"
                 : "The newest " + std::to_string(differences.size()) + " of " + std::to_string(count) + " differences",
             {{"seen at"}, {"pod"}, {"outcome"}, {"scheduler"}, {"berth"}, {"points", true}, {"by order"}, {"why"}});
  for (const Comparison& each : differences) {
    const auto node = [](const std::string& name) { return name.empty() ? std::string("none") : Escaped(name); };
    AddRow(page, "td",
           {{FormatRfc3339(each.seen_at)},
            {Escaped(each.pod)},
            {Escaped(Describe(each.match))},
            {node(each.their_node)},
            {node(each.our_node)},
            {each.match == Match::kWorseNode ? std::to_string(each.points) : "", true},
            {each.is_explained_by_order ? "yes" : ""},
            {Escaped(WhyText(each))}});
  }
  EndTable(page);
}

void AddLeftOut(std::string& page, const ShadowReport& report) {
  BeginTable(page, "Pods that were left out", {{"why"}, {"pods", true}});
  for (const LeftOutLine& line : LeftOutLines(report))
    AddRow(page, "td", {{Escaped(line.text)}, {std::to_string(line.count), true}});
  EndTable(page);
}

void AddCost(std::string& page, const ShadowReport& report) {
  const DecisionCost& cost = report.cost;
  const auto count = static_cast<Duration::rep>(std::max<std::uint64_t>(cost.count(), 1));
  BeginTable(page, "Time of berth's decisions",
             {{"decisions", true},
              {"mean", true},
              {"half within", true},
              {"99 % within", true},
              {"longest", true},
              {"CPU, mean", true}});
  AddRow(page, "td",
         {{std::to_string(cost.count()), true},
          {MillisecondsText(cost.total() / count), true},
          {MillisecondsText(cost.Quantile(500)), true},
          {MillisecondsText(cost.Quantile(990)), true},
          {MillisecondsText(cost.max()), true},
          {MillisecondsText(cost.cpu() / count), true}});
  EndTable(page);
}

}  // namespace

std::string ShadowPage(const ShadowReport& report) {
  std::string page(kHead);
  AddSummary(page, report);
  AddMatches(page, report);
  AddDifferences(page, report);
  AddLeftOut(page, report);
  AddCost(page, report);
  page += "</body>\n</html>\n";
  return page;
}

}  // namespace berth::answers
