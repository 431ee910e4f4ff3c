// SPDX-License-Identifier: Apache-2.0
#include "node_match.h"

// Called once for each profile that enables the plugin. What is wrong with the arguments is told by berth, with the
// field's path, once this has returned.
std::unique_ptr<berth::Plugin> NodeMatch::Create(berth::PluginArgs& args, berth::Handle&) {
  auto plugin = std::make_unique<NodeMatch>();
  args.Require("label", plugin->label_);
  args.ReadInRange("othersScore", plugin->others_score_, 0, berth::kNodeScoreMax);
  if (!args.IsBad() && !berth::api::IsQualifiedName(plugin->label_))
    args.Invalid("label", "must be the key of a label");
  return plugin;
}

berth::Status NodeMatch::Filter(const berth::Cycle&, const berth::PodInfo& pod, const berth::NodeInfo& node) const {
  const std::string* wanted = pod.labels().Find(label_);
  if (wanted == nullptr) return {};
  const std::string* found = node.node().metadata.labels.Find(label_);
  if (found != nullptr && *found == *wanted) return {};
  return berth::Status::UnschedulableAndUnresolvable("node(s) didn't have the pod's " + label_);
}

std::int64_t NodeMatch::Score(const berth::Cycle&, const berth::PodInfo& pod, berth::NodeIndex,
                              const berth::NodeInfo& node, berth::Status&) const {
  const bool is_for_others =
      pod.labels().Find(label_) == nullptr && node.node().metadata.labels.Find(label_) != nullptr;
  return is_for_others ? others_score_ : berth::kNodeScoreMax;
}

std::vector<berth::ClusterEventWithHint> NodeMatch::EventsToRegister() const {
  return {{{berth::EventResource::kNode, berth::action::kAdd | berth::action::kUpdateNodeLabel}, {}}};
}

BERTH_PLUGIN("NodeMatch", NodeMatch::Create);  // for a shared object; a program of its own needs no such line
