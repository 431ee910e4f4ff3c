// SPDX-License-Identifier: Apache-2.0
// NodeMatch: pods with a label run on nodes that have the same label with the same value, and only there. All other
// pods keep off such nodes as far as others have room.
#pragma once

#include <berth/plugin.h>

class NodeMatch final : public berth::FilterPlugin, public berth::ScorePlugin, public berth::EnqueueExtensions {
 public:
  static std::unique_ptr<berth::Plugin> Create(berth::PluginArgs& args, berth::Handle& handle);

  std::string_view Name() const override { return "NodeMatch"; }

  // What it says of a node rests on that node and the pod alone, so that it is asked again only when the node changes.
  berth::Dependency FilterDependsOn() const override { return berth::Dependency::kNode; }
  berth::Dependency ScoreDependsOn() const override { return berth::Dependency::kNode; }

  berth::Status Filter(const berth::Cycle& cycle, const berth::PodInfo& pod,
                       const berth::NodeInfo& node) const override;
  std::int64_t Score(const berth::Cycle& cycle, const berth::PodInfo& pod, berth::NodeIndex row,
                     const berth::NodeInfo& node, berth::Status& status) const override;

  // A pod that it refused is tried again when a node comes or its labels change.
  std::vector<berth::ClusterEventWithHint> EventsToRegister() const override;

 private:
  std::string label_;
  std::int64_t others_score_ = 0;
};
