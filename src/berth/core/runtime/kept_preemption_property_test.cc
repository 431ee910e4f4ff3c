// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption with results kept for a class agrees with DefaultPreemption that asks all nodes again, in a
// changing cluster, including the node chosen at random. A failure prints the seed.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/pod_group_states.h"
#include "berth/core/config/default.h"
#include "berth/core/queue/row_nominations.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/framework/preemption_report.h"
#include "berth/plugins/names.h"
#include "berth/plugins/registry.h"

namespace berth::runtime {
namespace {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;

// An evaluator that keeps results, or one that does not.
struct Side {
  Side(bool keeps, bool with_detail, const config::KubeSchedulerConfiguration& configuration,
       const framework::NominatedRows& nominations, framework::PodGroups* groups) {
    if (keeps) handle.nominations = &nominations;
    handle.groups = groups;
    profile = std::move(MakeProfiles(configuration, plugins::InTreePlugins(), handle)->front());
    evaluator.emplace(*profile, EvaluatorOptions{.form = Form::kReuse, .with_detail = with_detail});
  }
  NullHandle handle;
  std::unique_ptr<ProfilePlugins> profile;
  std::optional<Evaluator> evaluator;
};

std::string Describe(const framework::PostFilterResult& result, bool with_all) {
  std::string text = result.status.Message() + "|" + result.nominated_node_name + (result.has_nomination ? "!" : "");
  if (result.preemption == nullptr) return text;
  const framework::PreemptionReport& report = *result.preemption;
  text += " chosen " + std::to_string(report.chosen);
  for (const auto& candidate : report.candidates) {
    if (!with_all && candidate.row != report.chosen) continue;
    text += "\n  " + std::to_string(candidate.row) + " violating " + std::to_string(candidate.pdb_violations) + ":";
    for (const PodInfoPtr& victim : candidate.victims) text += " " + victim->uid;
  }
  if (!with_all) return text;
  text += "\n  acceptable";
  for (const NodeIndex row : report.acceptable) text += " " + std::to_string(row);
  return text;
}

class KeptPreemption : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  KeptPreemption() {
    config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
    const config::DefaultPreemptionArgs args{dice_.Pick({2, 10, 100}), absolute_};
    for (config::Profile& profile : configuration.profiles) {
      std::erase_if(profile.plugin_config, [](const config::PluginConfig& plugin) {
        return plugin.name == plugins::names::kDefaultPreemption;
      });
      profile.plugin_config.push_back({std::string(plugins::names::kDefaultPreemption), args});
    }
    with_detail_ = dice_.OneIn(2);
    for (const bool keeps : {true, false})
      sides_.push_back(std::make_unique<Side>(keeps, with_detail_, configuration, nominations_.rows(),
                                              has_groups_ ? &groups_ : nullptr));
    if (has_groups_) cache_.SetPodGroups(groups_);
    // Rows are looked at in blocks, so that some runs need more than one block.
    node_count_ = dice_.Pick({5, 70, 200});
    for (int i = 0; i < dice_.Pick({3, 8}); ++i) templates_.push_back(Template("t" + std::to_string(i)));
    for (int i = 0; i < 3; ++i) {
      preemptors_.push_back(testing::MakePod("preemptor" + std::to_string(i))
                                .Priority(dice_.Pick({5, 50, 50}))
                                .Request("cpu", dice_.Pick({"1500m", "2", "2500m"})));
    }
    for (int i = 0; i < node_count_; ++i) SetNode(i);
    for (int i = 0; i < node_count_ * 4; ++i) AddPod();
  }

  testing::PodBuilder Template(const std::string& name) {
    testing::PodBuilder pod(name);
    pod.Request("cpu", dice_.Pick({"600m", "900m", "1"})).Priority(dice_.Pick({-5, 0, 0, 10, 100}));
    if (dice_.OneIn(2)) pod.Label("app", dice_.Pick({"a", "b"}));
    if (dice_.OneIn(6)) pod.Request("memory", "1Gi");
    return pod;
  }

  std::string NodeName(int i) const { return "n" + std::to_string(i); }
  void SetNode(int i) {
    testing::NodeBuilder node(NodeName(i));
    node.Allocatable("cpu", dice_.Pick({"2", "3", "3", "3"}));
    if (dice_.OneIn(10)) node.Allocatable("memory", "1Gi");
    if (dice_.OneIn(20)) node.Unschedulable();
    cache_.SetNode(node.Build());
  }
  PodInfoPtr Make(testing::PodBuilder pod) { return classes_.MakePodInfo(pod.Build()); }

  void AddPod() {
    testing::PodBuilder pod = dice_.PickFrom(templates_);
    pod.Uid("pod-" + std::to_string(pod_count_++)).Node(NodeName(dice_.Below(node_count_)));
    if (dice_.OneIn(60) && allows_affinity_) {
      pod.AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "a"}})));
    }
    if (has_groups_ && dice_.OneIn(5)) pod.InGroup(dice_.Pick({"g0", "g1", "g2"}));
    if (!dice_.OneIn(3)) pod.Started(now_ + std::chrono::seconds(dice_.Below(5) - 4));
    Put(Make(pod));
  }
  void Put(const PodInfoPtr& pod) {
    cache_.SetPod(pod);
    for (PodInfoPtr& known : pods_) {
      if (known->uid == pod->uid) {
        known = pod;
        return;
      }
    }
    pods_.push_back(pod);
  }
  void Remove(std::string uid) {  // by value: it may be the uid in the pod that is removed
    cache_.RemovePod(uid);
    std::erase_if(pods_, [&](const PodInfoPtr& pod) { return pod->uid == uid; });
  }

  void Change() {
    const auto some_pod = [this] { return std::make_shared<PodInfo>(*dice_.PickFrom(pods_)); };
    if (has_groups_ && dice_.OneIn(8)) SetGroup();
    switch (dice_.Below(10)) {
      case 0:
      case 1: AddPod(); break;
      case 2:
        if (pods_.size() > 4) Remove(dice_.PickFrom(pods_)->uid);
        break;
      case 3: {
        const auto pod = some_pod();
        pod->start_time = now_ + std::chrono::seconds(dice_.Below(3) - 2);
        Put(pod);
        break;
      }
      case 4: {
        const auto pod = some_pod();
        pod->deletion_time = now_;
        Put(pod);
        break;
      }
      case 5: SetNode(dice_.Below(node_count_)); break;
      case 6:
        if (dice_.OneIn(3)) cache_.RemoveNode(NodeName(dice_.Below(node_count_)));
        break;
      case 7: {
        testing::PodBuilder pod = dice_.PickFrom(preemptors_);
        nominator_.AddNominatedPod(Make(pod.Uid("waiting-" + std::to_string(dice_.Below(6)))),
                                   NodeName(dice_.Below(node_count_)));
        break;
      }
      case 8: nominator_.DeleteNominated("waiting-" + std::to_string(dice_.Below(6))); break;
      default: ChangeBudget(); break;
    }
  }

  void SetGroup() {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = dice_.Pick({"g0", "g1", "g2"});
    group->metadata.namespace_name = "default";
    group->priority = dice_.Pick({-5, 0, 10, 100});
    group->is_disrupted_whole = !dice_.OneIn(3);
    (void)group_objects_.Set(std::shared_ptr<const api::PodGroup>(std::move(group)));
  }

  void ChangeBudget() {
    if (!dice_.OneIn(3)) return;
    auto budget = std::make_shared<api::PodDisruptionBudget>();
    budget->metadata.name = dice_.Pick({"x", "y"});
    budget->metadata.namespace_name = "default";
    budget->selector = testing::Labels({{"app", dice_.Pick({"a", "a", "b"})}});
    budget->disruptions_allowed = dice_.Below(3);
    const bool is_gone = dice_.OneIn(3);
    for (const auto& side : sides_) {
      if (is_gone) {
        (void)side->handle.store.Remove(framework::ObjectKind::kPodDisruptionBudget,
                                        "default/" + budget->metadata.name);
      } else {
        (void)side->handle.store.Set(std::shared_ptr<const api::PodDisruptionBudget>(budget));
      }
    }
  }

  void Bind(const PodInfo& pod, NodeIndex row) {
    auto bound = std::make_shared<PodInfo>(pod);
    bound->node_name = cache_.nodes().Info(row).name();
    nominator_.DeleteNominated(pod.uid);
    bound->uid = "pod-" + std::to_string(pod_count_++);
    Put(bound);
  }

  // A pod of one of the preemptors' classes: bound if there is room, otherwise preempting.
  void Preempt() {
    testing::PodBuilder builder = dice_.PickFrom(preemptors_);
    builder.Uid("waiting-" + std::to_string(dice_.Below(9)));
    const PodInfoPtr pod = Make(builder);
    nominations_.Update(nominator_, cache_.nodes());
    const std::uint64_t seed = dice_.Seed();
    std::vector<std::string> said;
    framework::PostFilterResult result;
    for (const auto& side : sides_) {
      Evaluator& evaluator = *side->evaluator;
      const Outcome& outcome = evaluator.Evaluate(pod, cache_.nodes(), &nominations_.rows(), seed, now_);
      if (outcome.result == Result::kFeasible) return Bind(*pod, outcome.node);
      if (outcome.result == Result::kNoNodes) return;
      ASSERT_EQ(outcome.result, Result::kRefused);
      if (evaluator.NodeEpoch()) ++kept_count_;
      result = evaluator.RunPostFilter();
      said.push_back(Describe(result, with_detail_));
    }
    ASSERT_EQ(said[0], said[1]);
    if (result.nominated_node_name.empty()) return;
    ++found_count_;
    // Some of what the executor and the victims' deletion would change.
    if (!dice_.OneIn(3)) nominator_.AddNominatedPod(pod, result.nominated_node_name);
    if (dice_.OneIn(2)) return;
    for (const auto& candidate : result.preemption->candidates) {
      if (candidate.row != result.preemption->chosen) continue;
      for (const PodInfoPtr& victim : candidate.victims) Remove(victim->uid);
    }
  }

  Dice dice_{GetParam()};
  bool allows_affinity_ = dice_.OneIn(4);
  bool has_groups_ = dice_.OneIn(3);
  std::int32_t absolute_ = dice_.Pick({0, 3, 100});
  bool with_detail_ = false;
  int node_count_ = 0;
  int pod_count_ = 0;
  int kept_count_ = 0;
  int found_count_ = 0;
  Time now_{std::chrono::seconds(1000)};
  framework::Objects group_objects_;
  cache::PodGroupStates groups_{group_objects_, false};
  cache::Cache cache_;
  cache::PodClasses classes_;
  queue::Nominator nominator_;
  queue::RowNominations nominations_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::vector<testing::PodBuilder> templates_, preemptors_;
  std::vector<PodInfoPtr> pods_;
};

TEST_P(KeptPreemption, ChangesNothing) {
  for (int step = 0; step < 150 && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    for (int i = dice_.Below(4); i > 0; --i) Change();
    // More changes than the change logs hold.
    if (dice_.OneIn(50)) {
      for (int i = 0; i < 3000; ++i) nominator_.AddNominatedPod(Make(preemptors_[0].Uid("waiting-0")), NodeName(0));
    }
    if (dice_.OneIn(50)) {
      for (int i = 0; i < 3000; ++i) SetNode(0);
    }
    if (dice_.OneIn(4)) now_ += std::chrono::seconds(dice_.Below(3));
    Preempt();
  }
  // With few nodes, a percentage may be no node at all, and all pods may be too important to evict.
  if (absolute_ > 0 && node_count_ > 5) {
    EXPECT_GT(found_count_, 0) << "no preemption at all says nothing";
  }
  EXPECT_GT(kept_count_, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeptPreemption, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace berth::runtime
