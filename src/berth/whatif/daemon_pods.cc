// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/daemon_pods.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/helper/tolerations.h"

namespace berth::whatif {
namespace {

constexpr std::string_view kNameField = "metadata.name";

}  // namespace

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
