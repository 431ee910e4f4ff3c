// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/shadow_report.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "berth/whatif/answer_text.h"

namespace berth::shadow {
namespace {

namespace json = codec::json;

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

void ShadowReport::Add(Comparison comparison) {
  const auto index = static_cast<std::size_t>(comparison.match);
  ++counts[index].total;
  comparison.number = Decisions();
  if (comparison.is_explained_by_order) ++counts[index].by_order;
  if (comparison.is_order_untried) ++order_untried;
  if (comparison.match == Match::kWorseNode) {
    points_total += static_cast<std::uint64_t>(comparison.points);
    points_max = std::max(points_max, comparison.points);
  }
  if (Agrees(comparison.match)) return;
  if (kept[index].size() == kKeptMax) kept[index].pop_front();
  kept[index].push_back(std::move(comparison));
}

std::uint64_t ShadowReport::Decisions() const {
  std::uint64_t sum = 0;
  for (const MatchCount& count : counts) sum += count.total;
  return sum;
}

std::uint64_t ShadowReport::Agreements() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kMatchCount; ++i) sum += Agrees(static_cast<Match>(i)) ? counts[i].total : 0;
  return sum;
}

std::uint64_t ShadowReport::Unexplained() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kMatchCount; ++i)
    sum += Agrees(static_cast<Match>(i)) ? 0 : counts[i].total - counts[i].by_order;
  return sum;
}

std::vector<Comparison> ShadowReport::Differences() const {
  std::vector<Comparison> all;
  for (const auto& some : kept) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end(), [](const Comparison& a, const Comparison& b) { return a.number < b.number; });
  return all;
}

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
  const LeftOut& left_out = report.left_out;
  return {{"hadNode", "had a node when seen first", left_out.had_node},
          {"otherScheduler", "placed by another scheduler", left_out.other_scheduler},
          {"deleted", "deleted before a decision", left_out.deleted},
          {"ownClaims", "volumes or claims were bound for it before it was", left_out.own_claims},
          {"failed", "attempts that ended with an error of the scheduler", left_out.failed},
          {"late", "berth was too far behind", left_out.late},
          {"gated", "held back by a scheduling gate at the end", report.waiting.gated},
          {"undecided", "not decided yet at the end", report.waiting.undecided}};
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
          {"schedulers", whatif::NamesJson(report.scheduler_names)},
          {"configuration", report.configuration},
          {"unknown", whatif::NamesJson(report.unknown)},
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

}  // namespace berth::shadow
