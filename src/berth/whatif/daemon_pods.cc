// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/daemon_pods.h"

#include <algorithm>
#include <utility>

#include "berth/devcluster/controllers/daemon_set_decision.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/helper/tolerations.h"

namespace berth::whatif {
namespace {

constexpr std::string_view kNameField = "metadata.name";

void Tolerate(api::Pod& pod, std::string_view key, api::TaintEffect effect) {
  api::Toleration toleration{std::string(key), "Exists", "", effect};
  auto& all = pod.spec.tolerations;
  if (std::find(all.begin(), all.end(), toleration) == all.end()) all.push_back(std::move(toleration));
}

}  // namespace

void AddDaemonTolerations(api::Pod& pod) {
  for (const controllers::DaemonToleration& each : controllers::kDaemonTolerations) {
    Tolerate(pod, each.key, each.effect);
  }
  if (pod.spec.host_network) Tolerate(pod, "node.kubernetes.io/network-unavailable", api::TaintEffect::kNoSchedule);
}

bool RunsDaemonPod(const api::Pod& pod, const api::Node& node) {
  if (!pod.spec.node_name.empty() && pod.spec.node_name != node.metadata.name) return false;
  if (!plugins::RequiredNodeAffinity(pod.spec).Matches(node)) return false;
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return !plugins::IsHardTaint(taint) || plugins::Tolerates(pod.spec.tolerations, taint);
  });
}

void PinDaemonPod(const std::string& node_name, api::Pod& pod) {
  api::NodeSelectorTerm term;
  term.match_fields.push_back({std::string(kNameField), api::SelectorOperator::kIn, {node_name}, {}});
  if (!pod.spec.node_affinity) pod.spec.node_affinity.emplace();
  // As upstream, in place of what was required: it has been asked already.
  pod.spec.node_affinity->required.emplace().push_back(std::move(term));
}

std::optional<std::string> PinnedNode(const api::Pod& pod) {
  if (!pod.spec.node_affinity || !pod.spec.node_affinity->required) return std::nullopt;
  for (const api::NodeSelectorTerm& term : *pod.spec.node_affinity->required) {
    for (const api::Requirement& field : term.match_fields) {
      if (field.key == kNameField && field.op == api::SelectorOperator::kIn && field.values.size() == 1)
        return field.values.front();
    }
  }
  return std::nullopt;
}

}  // namespace berth::whatif
