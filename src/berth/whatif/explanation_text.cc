// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/explanation_text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/shell/cli/text.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;
using cli::Color;

constexpr std::size_t kRunnersUpMax = 3;
constexpr std::size_t kVictimsShownMax = 5;
constexpr std::size_t kReasonWidth = 58;
constexpr std::size_t kNodeWidth = 24;
constexpr std::size_t kColumns = 100;

std::string Joined(const std::vector<std::string>& parts, std::string_view separator, std::size_t count_max) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), count_max); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  if (parts.size() > count_max) text += " and " + std::to_string(parts.size() - count_max) + " more";
  return text;
}

// Lines of at most so many columns, broken between words; one at least.
std::vector<std::string> Broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  do {
    std::size_t length = text.size();
    if (length > columns) {
      length = text.rfind(' ', columns);
      if (length == std::string_view::npos || length == 0) length = std::min(text.find(' '), text.size());
    }
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  } while (!text.empty());
  return lines;
}

class Writer {
 public:
  Writer(const Explanation& said, const ExplanationStyle& style) : said_(said), style_(style) {}

  std::vector<std::string> Go() {
    Head();
    if (said_.state == PodState::kPlaced || said_.state == PodState::kFits) Scores();
    if (said_.state == PodState::kRefused) Refused();
    if (style_.with_nodes) Nodes();
    return std::move(lines_);
  }

 private:
  void Line(std::string text) { lines_.push_back(std::move(text)); }
  void Field(std::string_view name, std::string_view value) {
    std::string label(name);
    label += ':';
    label.resize(std::max<std::size_t>(label.size() + 1, 12), ' ');
    std::string line = cli::Paint(label, Color::kBold, style_.table.has_color);
    for (const std::string& part : Broken(cli::Printable(value), kColumns - label.size())) {
      Line(line + part);
      line.assign(label.size(), ' ');
    }
  }
  void Title(std::string_view text) {
    Line("");
    Line(cli::Paint(text, Color::kBold, style_.table.has_color));
  }
  void Show(const cli::Table& table) {
    for (std::string& line : table.Lines(style_.table)) Line("  " + std::move(line));
  }
  bool IsCut(std::size_t count, std::size_t count_max) const { return !style_.is_wide && count > count_max; }

  std::string Counts() const {
    return std::to_string(said_.feasible_count) + " of " + std::to_string(said_.node_count) + " nodes";
  }

  void Head() {
    Field("Pod", said_.pod);
    std::string scheduler = said_.scheduler_name;
    if (said_.asked_profile)
      scheduler += " (no profile of this configuration; answered by that of " + *said_.asked_profile + ")";
    Field("Scheduler", scheduler);
    switch (said_.state) {
      case PodState::kPlaced: Field("Placed", said_.node); break;
      case PodState::kFits: Field("Fits", Counts() + "; it would go to " + said_.node); break;
      case PodState::kRefused: Field("Refused", said_.message); break;
      case PodState::kGated: Field("Gated", said_.message); break;
      case PodState::kDeleted: Field("Deleted", said_.message); break;
      case PodState::kFailed: Field("Failed", said_.message); break;
    }
    if (!said_.told.empty() && said_.told != said_.message) Field("Condition", said_.told);
    if (said_.state == PodState::kPlaced) Field("Today", Today());
  }

  std::string Today() const {
    if (!said_.message.empty()) return said_.message;
    if (said_.rank == 0) {
      std::string why;
      for (const NodeVerdict& verdict : said_.nodes) {
        if (verdict.node != said_.node) continue;
        for (const Refusal& refusal : verdict.refusals)
          why += (why.empty() ? "" : "; ") + refusal.plugin + ": " + refusal.reason;
      }
      return why.empty() ? "the node is gone" : "its node would refuse it: " + why;
    }
    if (said_.feasible_count == 1) return "the only node that it fits, of " + std::to_string(said_.node_count);
    if (said_.rank == 1) {
      if (said_.best_count == 1) return "the best node of the " + Counts() + " that it fits";
      return "one of " + std::to_string(said_.best_count) + " equally good nodes, of the " + Counts() + " that it fits";
    }
    return "the node comes " + std::to_string(said_.rank) + ". of the " + Counts() + " that it fits; it would go to " +
           said_.nodes.front().node;
  }

  // The pod's node and the runners-up, a line for each plugin.
  void Scores() {
    std::vector<const NodeVerdict*> shown;
    for (const NodeVerdict& verdict : said_.nodes) {
      if (verdict.node == said_.node && verdict.refusals.empty()) shown.push_back(&verdict);
    }
    for (const NodeVerdict& verdict : said_.nodes) {
      if (!verdict.refusals.empty() || shown.size() > kRunnersUpMax) break;
      if (verdict.node != said_.node) shown.push_back(&verdict);
    }
    if (shown.size() < 2) return;
    Title(style_.is_wide ? "Scores: raw / normalised / weighted" : "Scores");
    std::vector<cli::Column> columns = {{"PLUGIN"}, {"WEIGHT", true}};
    for (const NodeVerdict* verdict : shown) columns.push_back({verdict->node, true, kNodeWidth});
    cli::Table table(std::move(columns));
    for (std::size_t s = 0; s < shown.front()->scores.size(); ++s) {
      std::vector<cli::Cell> cells = {shown.front()->scores[s].plugin, std::to_string(shown.front()->scores[s].weight)};
      for (const NodeVerdict* verdict : shown) {
        const NodeScore& score = verdict->scores[s];
        const bool differs = score.weighted() != shown.front()->scores[s].weighted();
        std::string text = std::to_string(score.weighted());
        if (style_.is_wide) text = std::to_string(score.raw) + " / " + std::to_string(score.normalized) + " / " + text;
        cells.emplace_back(std::move(text), differs ? Color::kYellow : Color::kNone);
      }
      table.AddRow(std::move(cells));
    }
    std::vector<cli::Cell> totals = {{"total", Color::kBold}, ""};
    for (const NodeVerdict* verdict : shown) totals.emplace_back(std::to_string(verdict->total), Color::kBold);
    table.AddRow(std::move(totals));
    Show(table);
  }

  void Refused() {
    if (!said_.funnel.empty()) {
      Title("Why, node by node (OF: all that it would refuse)");
      cli::Table table({{"NODES", true}, {"OF", true}, {"PLUGIN"}, {"REASON", false, kReasonWidth}});
      for (const FunnelStep& step : said_.funnel)
        table.AddRow({std::to_string(step.refused), std::to_string(step.would_refuse), step.plugin, step.reason});
      Show(table);
    }
    BlockingObjects();
    Changes();
    Preemption();
    if (!said_.woken_by.empty()) {
      Title("Tried again after one of these events, and every five minutes");
      Wrapped(Joined(said_.woken_by, " ", said_.woken_by.size()));
    }
  }

  void Changes() {
    if (!said_.changes) return;
    if (said_.changes->changes.empty()) {
      Title("No single change that was tried lets it fit");
      return;
    }
    Title("It would fit after any of these changes, each the smallest of its kind");
    cli::Table table({{"CHANGE", false, 66}, {"NODES", true}, {"SUCH AS", false, kNodeWidth}});
    for (const Change& change : said_.changes->changes) {
      for (std::size_t i = 0; i < change.what.size(); ++i) {
        const std::string what = i == 0 ? change.what[i] : "  and " + change.what[i];
        if (i == 0) {
          table.AddRow({what, std::to_string(change.node_count), Joined(change.nodes, ", ", 1)});
        } else {
          table.AddRow({what});
        }
      }
    }
    Show(table);
    if (!said_.changes->is_complete) Line("  There may be others: the search is bounded.");
  }

  void Preemption() {
    if (!said_.preemption) return;
    const PreemptionAnswer& answer = *said_.preemption;
    Title("Preemption");
    if (answer.node.empty()) {
      Wrapped(cli::Printable(answer.why_not));
      return;
    }
    std::string text = "would take place on " + answer.node + " (" + std::to_string(answer.candidate_count) +
                       (answer.candidate_count == 1 ? " candidate)" : " candidates)") + " and evict " +
                       Joined(answer.victims, ", ", style_.is_wide ? answer.victims.size() : kVictimsShownMax);
    if (answer.pdb_violations > 0) text += ", against " + std::to_string(answer.pdb_violations) + " disruption budgets";
    Wrapped(cli::Printable(text));
  }

  void BlockingObjects() {
    if (said_.blocking_objects.empty()) return;
    Title("Claims in the way");
    for (const std::string& sentence : said_.blocking_objects) Wrapped(cli::Printable(sentence));
  }

  void Wrapped(std::string_view text) {
    for (const std::string& line : Broken(text, kColumns - 2)) Line("  " + line);
  }

  void Nodes() {
    Title("Nodes, the best and the nearest first");
    cli::Table table({{"NODE", false, kNodeWidth}, {"TOTAL", true}, {"REFUSED BY", false, kReasonWidth}});
    for (const NodeVerdict& verdict : said_.nodes) {
      if (verdict.refusals.empty())
        table.AddRow({verdict.node, std::to_string(verdict.total), {"fits", Color::kGreen}});
      // A line for each, the scheduler's own verdict first.
      for (std::size_t i = 0; i < verdict.refusals.size(); ++i) {
        const Refusal& refusal = verdict.refusals[i];
        table.AddRow({i == 0 ? verdict.node : std::string(), "", refusal.plugin + ": " + refusal.reason});
      }
    }
    Show(table);
  }

  const Explanation& said_;
  const ExplanationStyle& style_;
  std::vector<std::string> lines_;
};

json::array Texts(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::object NodeJson(const NodeVerdict& verdict) {
  json::object node{{"name", verdict.node}};
  if (!verdict.refusals.empty()) {
    json::array& refusals = node["refusals"].emplace_array();
    for (const Refusal& refusal : verdict.refusals) {
      refusals.push_back(
          json::object{{"plugin", refusal.plugin}, {"reason", refusal.reason}, {"resolvable", refusal.is_resolvable}});
    }
    return node;
  }
  node["total"] = verdict.total;
  json::array& scores = node["scores"].emplace_array();
  for (const NodeScore& score : verdict.scores) {
    scores.push_back(json::object{{"plugin", score.plugin},
                                  {"raw", score.raw},
                                  {"normalized", score.normalized},
                                  {"weight", score.weight},
                                  {"weighted", score.weighted()}});
  }
  return node;
}

}  // namespace

std::vector<std::string> ExplanationLines(const Explanation& explanation, const ExplanationStyle& style) {
  return Writer(explanation, style).Go();
}

json::value ExplanationJson(const Explanation& said) {
  json::object out{{"pod", said.pod},
                   {"state", ToString(said.state)},
                   {"schedulerName", said.scheduler_name},
                   {"node", said.node},
                   {"message", said.message},
                   {"condition", said.told},
                   {"nodeCount", said.node_count},
                   {"feasibleCount", said.feasible_count},
                   {"bestCount", said.best_count}};
  if (said.asked_profile) out["askedProfile"] = *said.asked_profile;
  if (said.state == PodState::kPlaced) out["rank"] = said.rank;
  if (!said.blocking_objects.empty()) out["blockingObjects"] = Texts(said.blocking_objects);
  json::array& funnel = out["funnel"].emplace_array();
  for (const FunnelStep& step : said.funnel) {
    funnel.push_back(json::object{{"plugin", step.plugin},
                                  {"reason", step.reason},
                                  {"refused", step.refused},
                                  {"wouldRefuse", step.would_refuse}});
  }
  if (said.changes) {
    json::array& changes = out["changes"].emplace_array();
    for (const Change& change : said.changes->changes) {
      changes.push_back(json::object{{"kind", ToString(change.kind)},
                                     {"what", Texts(change.what)},
                                     {"nodeCount", change.node_count},
                                     {"nodes", Texts(change.nodes)}});
    }
    out["changesComplete"] = said.changes->is_complete;
  }
  if (said.preemption) {
    out["preemption"] = json::object{{"node", said.preemption->node},
                                     {"victims", Texts(said.preemption->victims)},
                                     {"pdbViolations", said.preemption->pdb_violations},
                                     {"candidateCount", said.preemption->candidate_count},
                                     {"whyNot", said.preemption->why_not}};
  }
  if (said.state == PodState::kRefused) out["wokenBy"] = Texts(said.woken_by);
  json::array& nodes = out["nodes"].emplace_array();
  for (const NodeVerdict& verdict : said.nodes) nodes.push_back(NodeJson(verdict));
  return out;
}

}  // namespace berth::whatif
