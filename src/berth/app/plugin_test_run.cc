#include "berth/app/plugin_test_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "berth/app/plugin_test_cluster.h"
#include "berth/runtime/evaluator.h"

namespace berth::app {
namespace {

using runtime::Form;
using runtime::Result;

// What the plugins say about a pod, by node.
struct Said {
  std::string error;                                                   // of the whole cycle; empty: none
  std::map<std::string, std::string> filter;                           // kPass, or the reason
  std::map<std::pair<std::string, std::string>, std::int64_t> scores;  // by plugin and node
  bool operator==(const Said&) const = default;
};

Said Ask(runtime::Evaluator& evaluator, const framework::PodInfoPtr& pod, const CaseCluster& cluster) {
  const framework::NodeTable& nodes = cluster.nodes();
  const runtime::Outcome& outcome = evaluator.Evaluate(pod, nodes, nullptr, 1, cluster.now());
  Said said;
  if (outcome.result == Result::kError) said.error = outcome.error;
  if (outcome.result == Result::kNoNodes) said.error = evaluator.Message();
  if (!said.error.empty()) return said;
  for (const framework::NodeIndex row : nodes.rows()) {
    const framework::Status status = evaluator.StatusOf(row);
    said.filter[nodes.Info(row).name()] = status.IsSuccess() ? std::string(kPass) : status.Message();
  }
  for (const auto& [plugin, scores] : outcome.scores) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      said.scores[{std::string(plugin), nodes.Info(outcome.feasible[i]).name()}] = scores[i];
  }
  return said;
}

// The first thing that differs, for people to read.
std::string Difference(const Said& plain, const Said& other) {
  if (plain.error != other.error) return other.error.empty() ? "no error" : other.error;
  for (const auto& [node, verdict] : other.filter) {
    const auto at = plain.filter.find(node);
    if (at == plain.filter.end() || at->second != verdict) return "filter " + node + ": " + verdict;
  }
  for (const auto& [key, score] : other.scores) {
    const auto at = plain.scores.find(key);
    if (at == plain.scores.end() || at->second != score)
      return "score " + key.second + " of " + key.first + ": " + std::to_string(score);
  }
  return "other nodes are scored";
}

class CaseRun {
 public:
  CaseRun(const PluginCase& test, CaseCluster& cluster) : test_(test), cluster_(cluster) {}

  std::vector<PluginCheck> Go() {
    if (!test_.filter.empty() || !test_.scores.empty()) CheckVerdicts(*test_.pending.front());
    if (!test_.placements.empty() || test_.message) {
      cluster_.Run();
      CheckPlacements();
    }
    return std::move(checks_);
  }

 private:
  void CheckVerdicts(const api::Pod& pod) {
    Said said;
    const runtime::ProfilePlugins* profile = cluster_.ProfileOf(pod);
    const framework::PodInfoPtr waiting = cluster_.FindPending(pod);
    if (profile == nullptr || waiting == nullptr) {
      said.error = "no profile is called " + pod.spec.scheduler_name;
    } else if (const auto gate = cluster_.GateOf(pod)) {
      said.error = "held back by " + *gate;
    } else {
      runtime::Evaluator evaluator(*profile, {.form = Form::kPlain, .with_detail = true});
      said = Ask(evaluator, waiting, cluster_);
      CheckForms(*profile, waiting, said);
    }
    for (const auto& [node, want] : test_.filter) {
      const std::string got = said.error.empty() ? said.filter[node] : said.error;
      const bool is_refused = want == kRefused && said.error.empty() && got != kPass;
      Check("filter " + node, want, got, want == got || is_refused);
    }
    for (const PluginCase::Score& want : test_.scores) CheckScore(want, said);
  }

  // The plain form, node by node, is what a plugin means. What it says of many nodes at once, and what is kept of its
  // answers because it says that they rest on the node alone, has to be the same.
  void CheckForms(const runtime::ProfilePlugins& profile, const framework::PodInfoPtr& pod, const Said& plain) {
    runtime::Evaluator column(profile, {.form = Form::kColumn, .with_detail = true});
    runtime::Evaluator reuse(profile, {.form = Form::kReuse, .with_detail = true});
    const auto check = [&](runtime::Evaluator& evaluator, const char* how) {
      const Said said = Ask(evaluator, pod, cluster_);
      if (said != plain) Check("forms", std::string("the same ") + how, Difference(plain, said), false);
    };
    check(column, "in the column form");
    check(reuse, "when answers are kept");
    check(reuse, "for a second pod");
  }

  void CheckScore(const PluginCase::Score& want, const Said& said) {
    const std::string of = "score " + want.node + (test_.lone_plugin.empty() ? " of " + want.plugin : std::string());
    std::string got = said.error;
    if (const auto at = said.scores.find({want.plugin, want.node}); at != said.scores.end()) {
      got = std::to_string(at->second);
    } else if (said.error.empty()) {
      got = NotScored(want.node, said);
    }
    Check(of, std::to_string(want.score), got, got == std::to_string(want.score));
  }

  static std::string NotScored(const std::string& node, const Said& said) {
    if (const auto verdict = said.filter.find(node); verdict == said.filter.end() || verdict->second != kPass)
      return "not scored: the node is refused";
    const auto passed =
        std::count_if(said.filter.begin(), said.filter.end(), [](const auto& each) { return each.second == kPass; });
    return passed == 1 ? "not scored: the only node that passes" : "not scored by this plugin";
  }

  void CheckPlacements() {
    for (const PluginCase::Placement& want : test_.placements) {
      const auto pod = std::find_if(test_.pending.begin(), test_.pending.end(), [&](const PodPtr& p) {
        return p->metadata.namespace_name + "/" + p->metadata.name == want.pod;
      });
      const std::string node = cluster_.NodeOf(**pod);
      std::string wanted;
      for (const std::string& name : want.nodes) wanted += (wanted.empty() ? "" : " or ") + name;
      const std::string& is = node.empty() ? std::string(kNowhere) : node;
      const bool is_ok = std::find(want.nodes.begin(), want.nodes.end(), is) != want.nodes.end();
      Check("placed " + (*pod)->metadata.name, wanted, node.empty() && !is_ok ? is + ": " + cluster_.WhyNot(**pod) : is,
            is_ok);
    }
    if (!test_.message) return;
    const api::Pod& pod = *test_.pending.front();
    const std::string node = cluster_.NodeOf(pod);
    const std::string got = node.empty() ? cluster_.WhyNot(pod) : "placed on " + node;
    Check("message " + pod.metadata.name, *test_.message, got, *test_.message == got);
  }

  void Check(std::string of, std::string want, std::string got, bool is_ok) {
    checks_.push_back({std::move(of), std::move(want), std::move(got), is_ok});
  }

  const PluginCase& test_;
  CaseCluster& cluster_;
  std::vector<PluginCheck> checks_;
};

}  // namespace

Expected<std::vector<PluginCheck>> RunPluginCase(const PluginCase& test, KnownPlugins plugins) {
  BERTH_ASSIGN_OR_RETURN(const auto cluster, CaseCluster::Make(test, plugins));
  return CaseRun(test, *cluster).Go();
}

}  // namespace berth::app
