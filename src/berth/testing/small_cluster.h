// SPDX-License-Identifier: Apache-2.0
// SmallCluster: a whole scheduler with the plugins under test and a cluster in memory, for C++ tests of an author's own
// plugins. Bindings, writes and waits are completed at once; runs are repeatable.
//   auto cluster = SmallCluster::With(WithPlugin("NodeMatch", NodeMatch::Create), "label: team").value();
//   cluster.Add(MakeNode("n1").Label("team", "red")).Add(MakePod("p").Label("team", "red"));
//   EXPECT_EQ(cluster.Filter("p", "n1"), "pass");
// Link with berth::testing. Names of pods are "name", in the namespace default, or "namespace/name". An unknown name
// ends the test with an explanation, as invalid text does in the builders. Not thread-safe; plugins may have threads.
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
  // Only this plugin: no other one filters or scores, so that resources do not matter either. `args` is YAML, as in
  // pluginConfig. The error is the one that berth would start with.
  static Expected<SmallCluster> With(framework::PluginRegistration plugin, std::string_view args = {});
  // These plugins in addition to berth's own, as in production. `configuration` is YAML: a KubeSchedulerConfiguration,
  // or one profile of it ("plugins: {...}"). Pods without a scheduler name get the first profile's.
  static Expected<SmallCluster> WithConfiguration(std::vector<framework::PluginRegistration> plugins,
                                                  std::string_view configuration);
  SmallCluster(SmallCluster&& other) noexcept;
  SmallCluster& operator=(SmallCluster&& other) noexcept;
  ~SmallCluster();

  // Adds an object, or replaces it; plugins get the event. A pod without a node waits to be scheduled.
  SmallCluster& Add(const NodeBuilder& node);
  SmallCluster& Add(const PodBuilder& pod);
  // Adds a manifest in YAML of another kind that plugins read: a PersistentVolumeClaim, a Namespace ...
  SmallCluster& AddObject(std::string_view manifest);
  SmallCluster& RemoveNode(std::string_view node);
  SmallCluster& RemovePod(std::string_view pod);

  // The filters' verdict on a waiting pod and a node: "pass", or the reason. The plugin is called in all ways that
  // berth uses: node by node, for many nodes at once, and with kept answers. If these differ, the result says so.
  std::string Filter(std::string_view pod, std::string_view node) const;
  // The plugin's normalised score, 0 to 100; nullopt: it was not called, as when a single node passes. `plugin` may be
  // omitted if there is only one. If the ways of calling it differ, the test ends.
  std::optional<std::int64_t> Score(std::string_view pod, std::string_view node, std::string_view plugin = {}) const;

  // Schedules waiting pods until nothing is left to do, or this much of the cluster's time has passed. Within a minute,
  // pods that an event has woken are tried again; other pods wait for the flush after five minutes.
  void Run(Duration time_max = std::chrono::minutes(1));
  // The node of the pod; empty: none.
  std::string NodeOf(std::string_view pod) const;
  // The message in the condition of a pod without a node; empty: it has a node.
  std::string Message(std::string_view pod) const;
  // Adds the pod, runs, and returns its node.
  std::string Place(const PodBuilder& pod);

 private:
  class State;
  explicit SmallCluster(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace berth::testing
