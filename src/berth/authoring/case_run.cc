// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/case_run.h"

#include <algorithm>
#include <utility>

#include "berth/authoring/case_cluster.h"
#include "berth/authoring/case_verdicts.h"

namespace berth::authoring {
namespace {

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
    Verdicts said = VerdictsOn(pod, cluster_);
    for (const Verdicts::Difference& difference : said.differences)
      Check("forms", "the same " + difference.how, difference.said, false);
    for (const auto& [node, want] : test_.filter) {
      const std::string got = said.error.empty() ? said.filter[node] : said.error;
      const bool is_refused = want == kRefused && said.error.empty() && got != kPass;
      Check("filter " + node, want, got, want == got || is_refused);
    }
    for (const PluginCase::Score& want : test_.scores) CheckScore(want, said);
  }

  void CheckScore(const PluginCase::Score& want, const Verdicts& said) {
    const std::string of = "score " + want.node + (test_.lone_plugin.empty() ? " of " + want.plugin : std::string());
    std::string got = said.error;
    if (const auto at = said.scores.find({want.plugin, want.node}); at != said.scores.end()) {
      got = std::to_string(at->second);
    } else if (said.error.empty()) {
      got = NotScored(want.node, said);
    }
    Check(of, std::to_string(want.score), got, got == std::to_string(want.score));
  }

  static std::string NotScored(const std::string& node, const Verdicts& said) {
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

Expected<std::vector<PluginCheck>> RunPluginCase(const PluginCase& test, config::KnownPlugins plugins) {
  BERTH_ASSIGN_OR_RETURN(const auto cluster, MakeCaseCluster(test, plugins));
  return CaseRun(test, *cluster).Go();
}

}  // namespace berth::authoring
