// SPDX-License-Identifier: Apache-2.0
// Helpers for the runtime's tests: a random cluster, scripted plugins, and profiles of these. Tests only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/framework/handle.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::runtime {

using NullHandle = testing::FakeHandle;

// Draws from small sets of values, so that labels often match selectors, taints match tolerations, and images match
// each other. Compilers evaluate arguments in different orders: if a call needs two draws, the first goes into a
// variable, so that a seed means the same case with every compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }
  template <typename T>
  const T& PickFrom(const std::vector<T>& choices) {
    return choices[random_.Below(choices.size())];
  }
  std::uint64_t Seed() { return random_.Next(); }

 private:
  Random random_;
};

inline testing::NodeBuilder RandomNode(Dice& dice, std::string name) {
  using enum api::TaintEffect;
  testing::NodeBuilder node(name);
  if (!dice.OneIn(12)) node.Label("kubernetes.io/hostname", dice.OneIn(40) ? "shared" : name);
  node.Allocatable("cpu", dice.Pick({"1", "2", "4", "500m"})).Allocatable("memory", dice.Pick({"1Gi", "4Gi", "16Gi"}));
  node.Allocatable("pods", dice.Pick({"1", "3", "110"}));
  if (dice.OneIn(3)) node.Allocatable("example.com/gpu", dice.Pick({"1", "4"}));
  for (int i = dice.Below(3); i > 0; --i) {
    const char* const value = dice.Pick({"a", "b", "c"});
    node.Label(dice.Pick({"disk", "zone"}), value);
  }
  for (int i = dice.Below(3); i > 0; --i) {
    const auto effect = dice.Pick({kNoSchedule, kPreferNoSchedule, kPreferNoSchedule});
    node.Taint(dice.Pick({"gpu", "spot", "old"}), "", effect);
  }
  if (dice.OneIn(10)) node.Unschedulable();
  for (int i = dice.Below(3); i > 0; --i) {
    const std::int64_t size_mebibytes = dice.Pick({100, 600, 2000});
    node.Image({std::string("images.example/") + dice.Pick({"a:1", "b:1"})}, size_mebibytes * 1024 * 1024);
  }
  return node;
}

inline testing::PodBuilder RandomPod(Dice& dice, std::string name) {
  testing::PodBuilder pod(std::move(name));
  pod.Image(std::string("images.example/") + dice.Pick({"a:1", "b:1", "c:1"}));
  if (dice.OneIn(2)) pod.Request("cpu", dice.Pick({"100m", "300m", "1", "3"}));
  if (dice.OneIn(2)) pod.Request("memory", dice.Pick({"100Mi", "1Gi", "6Gi"}));
  if (dice.OneIn(6)) pod.Request("example.com/gpu", "1");
  if (dice.OneIn(6)) pod.HostPort(dice.Pick({80, 81}));
  if (dice.OneIn(3)) pod.Toleration(dice.Pick({"gpu", "spot"}), "Exists");
  if (dice.OneIn(8)) pod.Toleration("", "Exists");
  if (dice.OneIn(5)) {
    const char* const value = dice.Pick({"a", "b"});
    pod.NodeSelector(dice.Pick({"disk", "zone"}), value);
  }
  if (dice.OneIn(4)) {
    const char* const zone = dice.Pick({"a", "b", "c"});
    pod.Preferred(1 + dice.Below(50), testing::Term({testing::In("zone", {zone})}));
  }
  if (dice.OneIn(4)) pod.Preferred(1 + dice.Below(50), testing::Term({testing::Exists("disk")}));
  if (dice.OneIn(5)) {
    // Narrows the search to the named nodes.
    std::vector<api::NodeSelectorTerm> terms;
    for (int i = 1 + dice.Below(3); i > 0; --i) {
      terms.push_back(testing::Term({}, {testing::In("metadata.name", {"n" + std::to_string(dice.Below(12))})}));
    }
    if (dice.OneIn(4)) terms.push_back(testing::Term({testing::Exists("zone")}));
    pod.RequiredTerms(std::move(terms));
  }
  if (dice.OneIn(3)) pod.Priority(dice.Pick({-5, 10, 100}));
  if (dice.OneIn(15)) pod.AntiAffinity(testing::AffinityTerm("zone", api::LabelSelector{}));
  if (dice.OneIn(2)) pod.Label("app", dice.Pick({"a", "b"}));
  const auto selector = [&dice] { return testing::Labels({{"app", dice.Pick({"a", "b"})}}); };
  const auto key = [&dice] { return dice.Pick({"zone", "kubernetes.io/hostname"}); };
  using enum api::UnsatisfiableConstraintAction;
  if (dice.OneIn(5)) {
    const auto action = dice.Pick({kDoNotSchedule, kScheduleAnyway});
    auto selected = selector();
    const char* const topology_key = key();
    pod.Spread(testing::SpreadConstraint(1 + dice.Below(3), topology_key, std::move(selected), action));
  }
  const auto term = [&] {
    auto selected = selector();
    return testing::AffinityTerm(key(), std::move(selected));
  };
  if (dice.OneIn(10)) pod.Affinity(term());
  if (dice.OneIn(10)) pod.AntiAffinity(term());
  if (dice.OneIn(8)) {
    auto preferred = term();
    pod.PreferredAffinity(1 + dice.Below(50), std::move(preferred));
  }
  if (dice.OneIn(8)) {
    auto preferred = term();
    pod.PreferredAntiAffinity(1 + dice.Below(50), std::move(preferred));
  }
  return pod;
}

// The number of refused nodes for each plugin and reason.
inline std::map<std::string, std::size_t> Refusals(const Evaluator& evaluator) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [status, count] : evaluator.RefusalCounts()) {
    counts[std::string(status.plugin()) + ": " + status.Message()] += count;
  }
  return counts;
}

// Assumes the pod on the node in this row; returns its uid.
inline std::string AssumeOn(cache::Cache& cache, const framework::PodInfo& pod, framework::NodeIndex row) {
  auto placed = std::make_shared<framework::PodInfo>(pod);
  placed->node_name = cache.nodes().Info(row).name();
  cache.AssumePod(placed);
  return placed->uid;
}

// A plugin at every point of the scheduling cycle. A point answers with its function; without one it succeeds.
class Puppet : public framework::PreFilterPlugin,
               public framework::FilterPlugin,
               public framework::PostFilterPlugin,
               public framework::PreScorePlugin,
               public framework::ScorePlugin {
 public:
  explicit Puppet(std::string name) : name_(std::move(name)) {}

  std::string_view Name() const override { return name_; }
  std::uint64_t Epoch() const override { return epoch; }
  framework::Dependency PreFilterDependsOn() const override { return depends_on.pre_filter; }
  framework::Dependency FilterDependsOn() const override { return depends_on.filter; }
  framework::Dependency PreScoreDependsOn() const override { return depends_on.pre_score; }
  framework::Dependency ScoreDependsOn() const override { return depends_on.score; }
  framework::Normalization ScoreNormalization() const override { return normalization; }

  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override {
    ++pre_filter_calls;
    return pre_filter ? pre_filter(cycle, pod) : framework::PreFilterResult();
  }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override {
    ++filter_calls;
    return filter ? filter(cycle, pod, node) : framework::Status();
  }
  framework::PostFilterResult PostFilter(const framework::Cycle&, const framework::PodInfo& pod,
                                         const framework::NodeStatuses&, framework::FilterRunner&) const override {
    return post_filter ? post_filter(pod)
                       : framework::PostFilterResult{framework::Status::Unschedulable(""), false, {}};
  }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex>) const override {
    return pre_score ? pre_score(cycle, pod) : framework::Status();
  }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex,
                     const framework::NodeInfo& node, framework::Status& status) const override {
    return score ? score(cycle, pod, node, status) : 0;
  }
  framework::Status NormalizeScore(const framework::Cycle&, const framework::PodInfo&,
                                   std::span<framework::NodeScore> scores) const override {
    return normalize ? normalize(scores) : framework::Status();
  }

  struct {
    framework::Dependency pre_filter = framework::Dependency::kNode;
    framework::Dependency filter = framework::Dependency::kNode;
    framework::Dependency pre_score = framework::Dependency::kNode;
    framework::Dependency score = framework::Dependency::kNode;
  } depends_on;
  std::uint64_t epoch = 0;
  framework::Normalization normalization = framework::Normalization::kNone;
  std::function<framework::PreFilterResult(const framework::Cycle&, const framework::PodInfo&)> pre_filter;
  std::function<framework::Status(const framework::Cycle&, const framework::PodInfo&, const framework::NodeInfo&)>
      filter;
  std::function<framework::PostFilterResult(const framework::PodInfo&)> post_filter;
  std::function<framework::Status(const framework::Cycle&, const framework::PodInfo&)> pre_score;
  std::function<std::int64_t(const framework::Cycle&, const framework::PodInfo&, const framework::NodeInfo&,
                             framework::Status&)>
      score;
  std::function<framework::Status(std::span<framework::NodeScore>)> normalize;
  mutable int pre_filter_calls = 0;
  mutable int filter_calls = 0;

 private:
  std::string name_;
};

// Appends the puppet at every point of the scheduling cycle.
inline void Enable(ProfilePlugins& profile, const std::shared_ptr<Puppet>& puppet, std::int64_t weight = 1) {
  profile.owned.push_back(puppet);
  profile.pre_filter.push_back(puppet.get());
  profile.filter.push_back(puppet.get());
  profile.post_filter.push_back(puppet.get());
  profile.pre_score.push_back(puppet.get());
  profile.score.push_back({puppet.get(), weight});
}

}  // namespace berth::runtime
