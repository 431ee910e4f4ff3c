// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/explain_check/case_explanation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/base/text.h"
#include "berth/plugins/registry.h"

namespace berth::conformance {
namespace {

using whatif::Explanation;
using whatif::NodeVerdict;
using whatif::PodState;

// The oracle's first bound pod starts at this time.
constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

whatif::ClusterState StateOf(const Case& test) {
  whatif::ClusterState state;
  state.nodes = test.nodes;
  state.objects = test.objects;
  for (const auto& pod : test.pods) {
    if (pod->status.phase != api::PodPhase::kSucceeded && pod->status.phase != api::PodPhase::kFailed)
      state.pods.push_back(pod);
  }
  state.pods.insert(state.pods.end(), test.pending.begin(), test.pending.end());
  return state;
}

// Reasons as one text, in the oracle's order.
std::string Reasons(std::vector<std::string> reasons) {
  std::sort(reasons.begin(), reasons.end());
  return Joined(reasons);
}

// The reasons of a refusal are one text; those of NodeResourcesFit come in another order than the oracle's.
std::string Sorted(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return Reasons(std::move(parts));
}

std::string Show(const std::optional<StatusRecord>& refused) {
  if (!refused) return "fits";
  const bool is_resolvable = refused->code == "Unschedulable";
  return refused->plugin + ": " + Sorted(Reasons(refused->reasons)) + (is_resolvable ? " (resolvable)" : "");
}

std::string Show(const NodeVerdict& verdict) {
  if (verdict.refusals.empty()) return "fits";
  const whatif::Refusal& first = verdict.refusals.front();
  return first.plugin + ": " + Sorted(first.reason) + (first.is_resolvable ? " (resolvable)" : "");
}

std::string Show(const std::vector<std::string>& names) { return Joined(names, " "); }

// A message may name any of several equally good nodes. ComparePreemption compares the node.
std::string_view WithoutPlacement(std::string_view message) {
  constexpr std::string_view kFound = "preemption: found a potential placement for pod on node ";
  const std::size_t at = message.find(kFound);
  return at == std::string_view::npos ? message : message.substr(0, at + kFound.size());
}

class Comparison {
 public:
  Comparison(const Case& test, const Attempt& want, const Explanation& got) : test_(test), want_(want), got_(got) {}

  std::vector<std::string> Go() {
    const Compared compared = ComparedOf(want_);
    if (compared == Compared::kNothing) {
      Differ("state", "no profile", got_.asked_profile ? "no profile" : "some profile");
      return std::move(differences_);
    }
    Differ("state", ToString(WantedState()), ToString(got_.state));
    if (got_.state != WantedState()) return std::move(differences_);
    if (want_.result == "gated") {
      Differ("gate", want_.pre_enqueue->plugin + ": " + Reasons(want_.pre_enqueue->reasons), got_.message);
      return std::move(differences_);
    }
    if (want_.result == "skipped") return std::move(differences_);
    if (compared != Compared::kFiltersOnly)
      Differ("message", WithoutPlacement(want_.message), WithoutPlacement(got_.message));
    if (want_.result == "error") return std::move(differences_);
    CompareNodes();
    if (WantedState() == PodState::kFits) {
      std::vector<std::string> best;
      for (std::size_t i = 0; i < got_.best_count; ++i) best.push_back(got_.nodes[i].node);
      std::sort(best.begin(), best.end());
      Differ("best", Show(want_.best), Show(best));
      const bool is_one_of_them = std::find(best.begin(), best.end(), got_.node) != best.end();
      Differ("node", "one of the best", is_one_of_them ? "one of the best" : got_.node);
    } else {
      ComparePreemption();
    }
    return std::move(differences_);
  }

 private:
  PodState WantedState() const {
    if (want_.result == "scheduled" || want_.reserve) return PodState::kFits;
    if (want_.result == "gated") return PodState::kGated;
    if (want_.result == "skipped") return PodState::kDeleted;
    if (want_.result == "error") return PodState::kFailed;
    return PodState::kRefused;
  }

  void Differ(const std::string& what, std::string_view want, std::string_view got) {
    if (want == got) return;
    differences_.push_back(want_.pod + ": " + what + ": kube-scheduler " + std::string(want) + ", explain " +
                           std::string(got));
  }

  void CompareNodes() {
    std::map<std::string, const NodeVerdict*> verdicts;
    for (const NodeVerdict& verdict : got_.nodes) verdicts.emplace(verdict.node, &verdict);
    for (const auto& [name, node] : want_.nodes) {
      const auto at = verdicts.find(name);
      if (at == verdicts.end()) {
        Differ("node " + name, Show(node.refused), "says nothing");
        continue;
      }
      const NodeVerdict& verdict = *at->second;
      Differ("node " + name, Show(node.refused), Show(verdict));
      if (node.refused || !verdict.refusals.empty()) continue;
      Differ("node " + name + " total", std::to_string(node.total.value_or(0)), std::to_string(verdict.total));
      if (test_.has_scores) CompareScores(node, verdict);
    }
    // Where the search was narrowed, or a PreFilter plugin refused the pod, no other node may seem to fit.
    for (const auto& [name, verdict] : verdicts) {
      if (!want_.nodes.contains(name) && verdict->refusals.empty()) Differ("node " + name, "out of the search", "fits");
    }
  }

  void CompareScores(const NodeRecord& node, const NodeVerdict& verdict) {
    std::map<std::string, std::int64_t> scores;
    for (const whatif::NodeScore& score : verdict.scores) scores.emplace(score.plugin, score.normalized);
    const auto show = [](const std::map<std::string, std::int64_t>& all) {
      std::string text;
      for (const auto& [plugin, score] : all) text += plugin + "=" + std::to_string(score) + " ";
      return text;
    };
    Differ("node " + verdict.node + " scores", show(node.scores), show(scores));
  }

  void ComparePreemption() {
    const bool has_candidate = got_.preemption && !got_.preemption->node.empty();
    Differ("preemption", want_.preemption ? "some" : "none", has_candidate ? "some" : "none");
    if (!want_.preemption || !has_candidate) return;
    const whatif::PreemptionAnswer& answer = *got_.preemption;
    const auto candidate = want_.preemption->candidates.find(answer.node);
    const auto& acceptable = want_.preemption->acceptable;
    if (candidate == want_.preemption->candidates.end() ||
        std::find(acceptable.begin(), acceptable.end(), answer.node) == acceptable.end()) {
      Differ("preemption for node", Show(acceptable), answer.node);
      return;
    }
    Differ("victims", Show(candidate->second.victims), Show(answer.victims));
    Differ("disruption budgets violated", std::to_string(candidate->second.pdb_violations),
           std::to_string(answer.pdb_violations));
    Differ("candidates", std::to_string(want_.preemption->candidates.size()), std::to_string(answer.candidate_count));
  }

  const Case& test_;
  const Attempt& want_;
  const Explanation& got_;
  std::vector<std::string> differences_;
};

}  // namespace

Expected<Explanation> ExplainFirst(const Case& test) {
  whatif::OfflineOptions options;
  BERTH_ASSIGN_OR_RETURN(options.configuration, ConfigurationOf(test));
  options.plugins = plugins::InTreePlugins();
  options.now = kNow;
  BERTH_ASSIGN_OR_RETURN(const auto cluster, whatif::OfflineCluster::Make(std::move(options)));
  const whatif::ClusterState state = StateOf(test);
  cluster->Load(state);
  const std::string& pod = test.expected.front().pod;
  const std::size_t slash = pod.find('/');
  return whatif::ExplainPod(*cluster, state, pod.substr(0, slash), pod.substr(slash + 1));
}

Compared ComparedOf(const Attempt& want) {
  if (want.result == "ignored") return Compared::kNothing;
  return want.reserve ? Compared::kFiltersOnly : Compared::kAll;
}

std::vector<std::string> Differences(const Case& test, const Attempt& want, const Explanation& got) {
  return Comparison(test, want, got).Go();
}

}  // namespace berth::conformance
