// SPDX-License-Identifier: Apache-2.0
// TestCluster: a node table and one scheduling cycle over it, for the plugins' tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/cache/column_node_table.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/helper/plugin_testing.h"
#include "berth/testing/builders.h"

namespace berth::plugins {

class TestCluster {
 public:
  explicit TestCluster(std::vector<testing::NodeBuilder> nodes = {}) {
    for (const testing::NodeBuilder& node : nodes) Add(node);
  }

  void Add(const testing::NodeBuilder& node) { table_.SetNode(node.Build()); }
  // The pod must name its node.
  void Add(const testing::PodBuilder& pod) { table_.AddPod(pod.Info()); }

  cache::ColumnNodeTable& table() { return table_; }
  framework::CycleState& state() { return state_; }
  framework::Cycle cycle(std::uint64_t seed = 1) { return {table_, state_, seed, Time{}}; }
  const framework::NodeInfo& Node(std::string_view name) { return table_.Info(table_.Find(name)); }
  // A new cycle: nothing is left of what plugins computed.
  void Forget() { state_ = framework::CycleState(); }

  // The plain form's answer as "Code: reason, reason", or "ok".
  std::string Filter(const TestedPlugin& plugin, const framework::PodInfo& pod, std::string_view node) {
    return Describe(plugin.Filter(cycle(), pod, Node(node)));
  }

  std::int64_t Score(const TestedPlugin& plugin, const framework::PodInfo& pod, std::string_view node) {
    framework::Status status;
    return plugin.Score(cycle(), pod, table_.Find(node), Node(node), status);
  }

  static std::string Describe(const framework::Status& status) {
    if (status.IsSuccess()) return "ok";
    std::string text(framework::ToString(status.code()));
    if (!status.reasons().empty()) text += ": " + status.Message();
    return text;
  }

 private:
  cache::ColumnNodeTable table_;
  framework::CycleState state_;
};

// What the hint of the registration for `event` says; kQueue without a hint. A plugin that did not register for the
// event says kSkip.
inline framework::QueueingHint HintFor(const TestedPlugin& plugin, const framework::ClusterEvent& event,
                                       const framework::PodInfo& pod, const framework::EventObjects& objects) {
  for (const framework::ClusterEventWithHint& registered : plugin.EventsToRegister()) {
    if (!framework::ClusterEvent::Matches(registered.event, event)) continue;
    return registered.hint ? registered.hint(pod, objects) : framework::QueueingHint::kQueue;
  }
  return framework::QueueingHint::kSkip;
}

}  // namespace berth::plugins
