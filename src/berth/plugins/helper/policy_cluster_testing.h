// SPDX-License-Identifier: Apache-2.0
// PolicyCluster: a random cluster that lives, and a profile with one of berth's own policies that places pods in it, in
// each form of evaluation, beside the default profile that says where a pod could go without the policy. Tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/config/load.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/plugins/registry.h"

namespace berth::plugins {

class PolicyCluster {
 public:
  using NodeIndex = framework::NodeIndex;

  struct Placed {
    framework::PodInfoPtr pod;
    runtime::Outcome outcome;               // the plain form's, with detail
    std::vector<NodeIndex> without_policy;  // where the default plugins let it go
    std::string refused_by;                 // of a pod that fits nowhere
  };

  // `profile`: text of a KubeSchedulerConfiguration. `annotations`: keys that the policy reads of pods.
  PolicyCluster(std::uint64_t seed, const std::string& profile, std::vector<std::string> annotations = {})
      : dice(seed), classes_(std::move(annotations)) {
    const auto configuration = config::LoadConfiguration(profile);
    BERTH_CHECK(configuration.ok(), configuration.error().message);
    profile_ = Make(*configuration);
    default_profile_ = Make(config::DefaultConfiguration());
    const auto add = [&](runtime::EvaluatorOptions options) {
      forms_.push_back(std::make_unique<runtime::Evaluator>(*profile_, options));
    };
    using runtime::Form;
    add({.form = Form::kPlain, .with_detail = true});
    add({.form = Form::kColumn});
    add({.form = Form::kReuse, .with_detail = true, .block_rows_min = 1});
    add({.form = Form::kReuse, .block_rows_min = 1});
    without_policy_ = std::make_unique<runtime::Evaluator>(
        *default_profile_, runtime::EvaluatorOptions{.form = Form::kColumn, .with_detail = true});
  }

  void Set(const testing::NodeBuilder& node) { cache.SetNode(node.Build()); }
  void Remove(const std::string& node) { cache.RemoveNode(node); }

  // A pod that somebody else has put there.
  void Run(testing::PodBuilder pod, const std::string& node) {
    running_.push_back("uid-" + std::to_string(next_pod_++));
    cache.SetPod(classes_.MakePodInfo(pod.Uid(running_.back()).Node(node).Build()));
  }
  void RemoveSomePod() {
    if (running_.empty()) return;
    const auto at = static_cast<std::size_t>(dice.Below(static_cast<int>(running_.size())));
    cache.RemovePod(running_[at]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // Marks a running pod as being deleted.
  void EndSomePod() {
    if (running_.empty()) return;
    auto ending = std::make_shared<framework::PodInfo>(**cache.FindPod(dice.PickFrom(running_)));
    ending->deletion_time = Time{};
    cache.SetPod(ending);
  }

  // All forms agree on a node, or on a refusal. It runs there after Assume().
  Placed Schedule(testing::PodBuilder builder) {
    Placed placed;
    placed.pod = classes_.MakePodInfo(builder.Uid("uid-" + std::to_string(next_pod_++)).Build());
    const std::uint64_t seed = dice.Seed();
    const runtime::Outcome& anywhere = without_policy_->Evaluate(placed.pod, nodes(), nullptr, seed, Time{});
    if (anywhere.result == runtime::Result::kFeasible) placed.without_policy = anywhere.feasible;
    for (const auto& form : forms_) {
      const runtime::Outcome& outcome = form->Evaluate(placed.pod, nodes(), nullptr, seed, Time{});
      if (form == forms_.front()) {
        placed.outcome = outcome;
        for (const std::string& plugin : outcome.unschedulable_plugins)
          placed.refused_by += (placed.refused_by.empty() ? "" : " ") + plugin;
        continue;
      }
      EXPECT_EQ(outcome.result, placed.outcome.result) << outcome.error;
      EXPECT_EQ(outcome.feasible_count, placed.outcome.feasible_count);
      EXPECT_EQ(outcome.total, placed.outcome.total);
      if (outcome.result != runtime::Result::kFeasible) continue;
      const auto& best = placed.outcome.best;
      EXPECT_NE(std::find(best.begin(), best.end(), outcome.node), best.end());
    }
    if (placed.outcome.result == runtime::Result::kFeasible) {
      auto assumed = std::make_shared<framework::PodInfo>(*placed.pod);
      assumed->node_name = nodes().Info(placed.outcome.node).name();
      pending_ = std::move(assumed);
    }
    return placed;
  }
  // Lets the pod run that was placed last.
  void Assume() {
    if (pending_ == nullptr) return;
    running_.push_back(pending_->uid);
    cache.AssumePod(std::exchange(pending_, nullptr));
  }

  // Nodes, running pods and the kinds of pods that come change for a while; `check` sees each pod that is placed.
  template <typename SetNode, typename NodeName, typename MakeTemplate, typename Check>
  void Live(std::vector<testing::PodBuilder>& templates, SetNode set_node, NodeName node_name,
            MakeTemplate make_template, Check check) {
    for (int step = 0; step < 120 && !::testing::Test::HasFailure(); ++step) {
      switch (dice.Below(8)) {
        case 0: set_node(); break;
        case 1: Remove(node_name()); break;
        case 2: EndSomePod(); break;
        case 3:
        case 4: RemoveSomePod(); break;
        case 5: {
          auto name = node_name();
          Run(dice.PickFrom(templates), std::move(name));
          break;
        }
        case 6:
          templates[static_cast<std::size_t>(dice.Below(static_cast<int>(templates.size())))] = make_template();
          break;
        default: break;
      }
      for (int i = dice.Below(4); i > 0; --i) {
        check(Schedule(dice.PickFrom(templates)));
        Assume();
      }
    }
  }

  const framework::NodeTable& nodes() const { return cache.nodes(); }
  // The number of pods, over all forms, whose node was chosen among groups of nodes with equal marks.
  std::uint64_t ChosenByGroups() const {
    std::uint64_t count = 0;
    for (const auto& form : forms_) count += form->UseOf("groups").choice_count;
    return count;
  }

  runtime::Dice dice;
  cache::Cache cache;
  runtime::NullHandle handle;  // its objects are what plugins read

 private:
  std::unique_ptr<runtime::ProfilePlugins> Make(const config::KubeSchedulerConfiguration& configuration) {
    auto made = runtime::MakeProfiles(configuration, InTreePlugins(), handle);
    BERTH_CHECK(made.ok(), made.error().message);
    return std::move(made->front());
  }

  cache::PodClasses classes_;
  std::unique_ptr<runtime::ProfilePlugins> profile_, default_profile_;
  std::vector<std::unique_ptr<runtime::Evaluator>> forms_;
  std::unique_ptr<runtime::Evaluator> without_policy_;
  std::vector<std::string> running_;
  std::shared_ptr<const framework::PodInfo> pending_;
  int next_pod_ = 0;
};

}  // namespace berth::plugins
