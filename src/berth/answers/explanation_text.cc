// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/explanation_text.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"
#include "berth/base/text.h"
#include "berth/base/time.h"

namespace berth::answers {
namespace {

using cli::Color;
using whatif::Change, whatif::Explanation, whatif::FunnelStep, whatif::NodeScore, whatif::NodeVerdict, whatif::PodState,
    whatif::PreemptionAnswer, whatif::Refusal;
using whatif::LiveRecord, whatif::QueueStanding;

constexpr std::size_t kRunnersUpMax = 3;
constexpr std::size_t kVictimsShownMax = 5;
constexpr std::size_t kReasonWidth = 58;
constexpr std::size_t kNodeWidth = 24;
constexpr std::size_t kChangeWidth = 64;
constexpr std::size_t kColumns = 100;

// Upstream's message of a pod that was refused, without the sentence about preemption, which the answer has once.
std::string WithoutPreemption(std::string_view message) {
  const std::size_t preemption = message.find("preemption: ");
  if (preemption == std::string_view::npos) return std::string(message);
  const std::size_t end = message.rfind(". ", preemption);
  return std::string(message.substr(0, end == std::string_view::npos ? preemption : end + 1));
}

class ExplanationPage {
 public:
  ExplanationPage(const Explanation& said, const ExplanationStyle& style)
      : said_(said), style_(style), page_(style.table, kColumns) {}

  std::vector<std::string> Go() {
    Head();
    if (said_.state == PodState::kPlaced || said_.state == PodState::kFits) Scores();
    const bool fits_none = said_.asked_profile && said_.node.empty();  // if the asked profile had it
    if (said_.state == PodState::kRefused || (said_.state == PodState::kWaits && fits_none)) Refused();
    if (style_.with_nodes) Nodes();
    LeftOut();
    return std::move(page_).Take();
  }

 private:
  std::string Counts() const {
    return std::to_string(said_.feasible_count) + " of " + std::to_string(said_.node_count) + " nodes";
  }

  void Head() {
    page_.Field("Pod", said_.pod);
    std::string scheduler = said_.scheduler_name;
    if (said_.asked_profile && said_.state != PodState::kWaits)
      scheduler += " (no profile of this configuration; answered by that of " + *said_.asked_profile + ")";
    page_.Field("Scheduler", scheduler);
    if (said_.live) Live(*said_.live);
    switch (said_.state) {
      case PodState::kPlaced: page_.Field("Placed", said_.node); break;
      case PodState::kFits: page_.Field("Fits", Counts() + "; it would go to " + said_.node); break;
      case PodState::kRefused: page_.Field("Refused", said_.message); break;
      case PodState::kGated: page_.Field("Gated", said_.message); break;
      case PodState::kDeleted: page_.Field("Deleted", said_.message); break;
      case PodState::kWaits: Waits(); break;
      case PodState::kEnded: page_.Field("Ended", said_.message); break;
      case PodState::kFailed: page_.Field("Failed", said_.message); break;
    }
    const bool has_said_it = said_.condition == said_.message;
    if (!said_.condition.empty() && !has_said_it)
      page_.Field("Condition",
                  said_.state == PodState::kRefused ? WithoutPreemption(said_.condition) : said_.condition);
    if (said_.state == PodState::kPlaced) page_.Field("Today", Today());
  }

  void Waits() {
    page_.Field("Waits", said_.message);
    if (said_.asked_profile && !said_.node.empty())
      page_.Field("Room",
                  "it would fit " + Counts() + " if " + *said_.asked_profile + " had it, and go to " + said_.node);
    if (said_.asked_profile && said_.node.empty())
      page_.Field("Room", "no node would take it if " + *said_.asked_profile + " had it, either");
  }

  void Live(const LiveRecord& live) {
    page_.Field("Decided", live.decision ? Decided(*live.decision, live.asked_at) : NotDecided(live));
    if (live.queue) page_.Field("Queue", Queue(*live.queue));
    page_.Field("Now", "all that follows was found anew at " + FormatRfc3339(live.asked_at));
  }

  static std::string Decided(const scheduler::Decision& kept, Time asked_at) {
    std::string text = FormatGoDuration(std::chrono::floor<std::chrono::seconds>(asked_at - kept.time)) +
                       " ago, attempt " + std::to_string(kept.attempt) + ", seed " + std::to_string(kept.seed) + ": ";
    if (kept.node_name.empty()) return text + WithoutPreemption(kept.message);
    text += kept.node_name + ", ";
    if (kept.feasible_count == 1) return text + "the only feasible node of " + std::to_string(kept.node_count);
    return text + "one of the best of " + std::to_string(kept.feasible_count) + " feasible nodes of " +
           std::to_string(kept.node_count) + ", score " + std::to_string(kept.total);
  }

  static std::string NotDecided(const LiveRecord& live) {
    if (live.queue && live.queue->place == queue::Place::kActive && live.queue->refused_by.empty())
      return "not yet: it waits for its turn";
    return "not kept: the scheduler keeps its newest " + std::to_string(live.decisions_max) + " decisions";
  }

  static std::string Queue(const QueueStanding& standing) {
    std::string text;
    switch (standing.place) {
      case queue::Place::kActive: text = "active: it waits for its turn"; break;
      case queue::Place::kBackoff:
      case queue::Place::kErrorBackoff:
        text = "backing off until " + FormatRfc3339(standing.backoff_until.value_or(Time{})) +
               ", or until no other pod is ready";
        if (standing.place == queue::Place::kErrorBackoff) text = text.substr(0, text.find(',')) + ", after an error";
        break;
      case queue::Place::kUnschedulable: text = "unschedulable: it waits for an event"; break;
      case queue::Place::kGated: text = "gated"; break;
      case queue::Place::kInFlight: text = "in flight: it is being decided or bound"; break;
    }
    if (!standing.refused_by.empty()) text += "; refused by " + Joined(standing.refused_by, " ");
    if (!standing.woken_by.empty()) text += "; wakes at " + Joined(standing.woken_by, " ");
    return text;
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

  // Shows the scores of the pod's node and of the runners-up, a line for each plugin.
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
    page_.Title(style_.is_wide ? "Scores: raw / normalised / weighted" : "Scores");
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
    page_.Rows(table, 2);
  }

  void Refused() {
    if (!said_.funnel.empty()) {
      page_.Title("Why, node by node (OF: all that it would refuse)");
      cli::Table table({{"NODES", true}, {"OF", true}, {"PLUGIN"}, {"REASON"}});
      for (const FunnelStep& step : said_.funnel) {
        std::vector<cli::Cell> cells = {std::to_string(step.refused), std::to_string(step.would_refuse), step.plugin};
        for (std::string& part : WrapWords(step.reason, kReasonWidth, kReasonWidth)) {
          cells.resize(3, "");
          cells.emplace_back(std::move(part));
          table.AddRow(std::exchange(cells, {"", "", ""}));
        }
      }
      page_.Rows(table, 2);
    }
    BlockingObjects();
    Changes();
    Preemption();
    if (!said_.woken_by.empty()) {
      page_.Title("Tried again after one of these events, and every five minutes");
      Sentence(Joined(said_.woken_by, " "));
    }
  }

  void Changes() {
    if (!said_.changes) return;
    if (said_.changes->changes.empty()) {
      page_.Title("No single change that was tried lets it fit");
      if (!said_.changes->is_complete) page_.Line("  There may be one: the search is bounded.");
      return;
    }
    page_.Title("It would fit after any of these changes, each the smallest of its kind");
    cli::Table table({{"CHANGE"}, {"NODES", true}, {"SUCH AS"}});
    for (const Change& change : said_.changes->changes) {
      bool is_first = true;
      for (std::size_t i = 0; i < change.what.size(); ++i) {
        for (const std::string& part :
             WrapWords(i == 0 ? change.what[i] : "and " + change.what[i], kChangeWidth, kChangeWidth)) {
          if (std::exchange(is_first, false)) {
            table.AddRow({part, std::to_string(change.node_count), SuchAs(change)});
          } else {
            table.AddRow({"  " + part});
          }
        }
      }
    }
    page_.Rows(table, 2);
    if (!said_.changes->is_complete) page_.Line("  There may be others: the search is bounded.");
  }

  // Names one of the change's nodes and counts the others, most of which have no name here.
  static std::string SuchAs(const Change& change) {
    if (change.nodes.empty()) return "";
    const std::size_t others = change.node_count - std::min<std::size_t>(change.node_count, 1);
    return change.nodes.front() + (others == 0 ? "" : " and " + std::to_string(others) + " more");
  }

  void Preemption() {
    if (!said_.preemption) return;
    const PreemptionAnswer& answer = *said_.preemption;
    // The message says it already.
    if (answer.node.empty() && said_.message.find(answer.why_not) != std::string::npos) return;
    page_.Title("Preemption");
    if (answer.node.empty()) {
      Sentence(answer.why_not);
      return;
    }
    std::string text = "would take place on " + answer.node + " (" + std::to_string(answer.candidate_count) +
                       (answer.candidate_count == 1 ? " candidate)" : " candidates)") + " and evict " +
                       NamesText(answer.victims, style_.is_wide ? answer.victims.size() : kVictimsShownMax);
    if (answer.pdb_violations > 0) text += ", against " + std::to_string(answer.pdb_violations) + " disruption budgets";
    Sentence(text);
  }

  void BlockingObjects() {
    if (said_.blocking_objects.empty()) return;
    page_.Title("Claims in the way");
    for (const std::string& sentence : said_.blocking_objects) Sentence(sentence);
  }

  void LeftOut() {
    std::vector<std::string> lines = said_.left_out;
    if (said_.live) lines.insert(lines.end(), said_.live->not_asked.begin(), said_.live->not_asked.end());
    if (lines.empty()) return;
    page_.Title("Not complete");
    for (const std::string& line : lines) Sentence(line);
  }

  // A sentence below a title.
  void Sentence(std::string_view text) { page_.Text(text, 2, 0); }

  void Nodes() {
    page_.Title("Nodes, the best and the nearest first");
    cli::Table table({{"NODE", false, kNodeWidth}, {"TOTAL", true}, {"REFUSED BY", false, kReasonWidth}});
    for (const NodeVerdict& verdict : said_.nodes) {
      if (verdict.refusals.empty())
        table.AddRow({verdict.node, std::to_string(verdict.total), {"fits", Color::kGreen}});
      // Each refusal has a line, the scheduler's own verdict the first.
      for (std::size_t i = 0; i < verdict.refusals.size(); ++i) {
        const Refusal& refusal = verdict.refusals[i];
        table.AddRow({i == 0 ? verdict.node : std::string(), "", refusal.plugin + ": " + refusal.reason});
      }
    }
    page_.Rows(table, 2);
  }

  const Explanation& said_;
  const ExplanationStyle& style_;
  Page page_;
};

}  // namespace

std::vector<std::string> ExplanationLines(const Explanation& explanation, const ExplanationStyle& style) {
  return ExplanationPage(explanation, style).Go();
}

}  // namespace berth::answers
