// SPDX-License-Identifier: Apache-2.0
// SmallCluster: a whole scheduler with the plugins under test, and a cluster in memory around it, for tests in C++ of
// plugins of one's own. What is bound, written or waited for is done at once; runs are repeatable.
//   auto cluster = SmallCluster::With(WithPlugin("NodeMatch", NodeMatch::Create), "label: team").value();
//   cluster.Add(MakeNode("n1").Label("team", "red")).Add(MakePod("p").Label("team", "red"));
//   EXPECT_EQ(cluster.Filter("p", "n1"), "pass");
// Needs to be linked with berth::testing. Names of pods are "name", in the namespace default, or "namespace/name". What
// names nothing that is there ends the test with a line that says so, as wrong text does in the builders. Not
// thread-safe; plugins may have threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/framework/plugin_registration.h"
#include "berth/testing/builders.h"

namespace berth::testing {

class SmallCluster {
 public:
  // This plugin alone: no other one filters or scores, so that room does not matter either. `args` is YAML, as in
  // pluginConfig. The error is the one that berth would start with.
  static Expected<SmallCluster> With(framework::PluginRegistration plugin, std::string_view args = {});
  // These beside berth's own, as in production. `configuration` is YAML: a KubeSchedulerConfiguration, or one profile
  // of it ("plugins: {...}"). Pods that name no scheduler are the first profile's.
  static Expected<SmallCluster> WithConfiguration(std::vector<framework::PluginRegistration> plugins,
                                                  std::string_view configuration);
  SmallCluster(SmallCluster&& other) noexcept;
  SmallCluster& operator=(SmallCluster&& other) noexcept;
  ~SmallCluster();

  // One that is there already is changed: plugins get the event. A pod without a node waits to be scheduled.
  SmallCluster& Add(const NodeBuilder& node);
  SmallCluster& Add(const PodBuilder& pod);
  // A manifest of another kind that plugins read, in YAML: a PersistentVolumeClaim, a Namespace ...
  SmallCluster& AddObject(std::string_view manifest);
  SmallCluster& RemoveNode(std::string_view node);
  SmallCluster& RemovePod(std::string_view pod);

  // What the filters say of a waiting pod and a node: "pass", or the reason. It is asked in all the ways that berth may
  // take: node by node, many nodes at once, and from answers that were kept. Where they differ, the answer says that.
  std::string Filter(std::string_view pod, std::string_view node) const;
  // The plugin's score, normalised, 0 to 100; nullopt: it was not asked, as for the only node that passes. `plugin` may
  // be left out where it is alone. Where the ways to ask differ, the test ends.
  std::optional<std::int64_t> Score(std::string_view pod, std::string_view node, std::string_view plugin = {}) const;

  // Schedules what waits until nothing is left to do, or so much of the cluster's time has gone by. In a minute pods
  // that an event has woken are tried again; those that no event has woken are not, for five.
  void Run(Duration time_max = std::chrono::minutes(1));
  // The node that the pod is on; empty: none.
  std::string NodeOf(std::string_view pod) const;
  // What a pod without a node is told, as kubectl shows it; empty: it has one.
  std::string Message(std::string_view pod) const;
  // Adds the pod, runs, and says where it is.
  std::string Place(const PodBuilder& pod);

 private:
  class State;
  explicit SmallCluster(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace berth::testing
