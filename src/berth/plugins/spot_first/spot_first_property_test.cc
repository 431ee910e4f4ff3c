// SPDX-License-Identifier: Apache-2.0
// On random clusters: no pod is on an on-demand node while a spot node that passes its filters has room, what pods wish
// is kept, and so is the share that stays on demand. A failure prints the seed that replays it.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/policy_cluster_testing.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;

constexpr const char* kAnnotation = "berth.dev/spot";
constexpr const char* kSpotLabel = "karpenter.sh/capacity-type";

std::string Profile(int share, bool filters) {
  std::string text = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: spot-first
    plugins:
)";
  text += filters ? "      multiPoint: {enabled: [{name: SpotFirst, weight: 1600}]}\n"
                  : "      score: {enabled: [{name: SpotFirst, weight: 1600}]}\n";
  return text + "    pluginConfig: [{name: SpotFirst, args: {onDemandShare: " + std::to_string(share) + "}}]\n";
}

class SpotFirstProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  SpotFirstProperty()
      : share_(std::vector{0, 0, 30, 50, 100}[GetParam() % 5]),
        filters_(GetParam() % 3 != 0),
        cluster_(GetParam(), Profile(share_, filters_), {kAnnotation}) {
    for (int i = 0; i < 14; ++i) SetNode();
    for (int i = 0; i < 8; ++i) templates_.push_back(Template());
  }

  std::string NodeName() { return "n" + std::to_string(cluster_.dice.Below(20)); }
  void SetNode() {
    auto node = runtime::RandomNode(cluster_.dice, NodeName());
    if (cluster_.dice.OneIn(2)) node.Label(kSpotLabel, cluster_.dice.Pick({"spot", "spot", "on-demand"}));
    cluster_.Set(node);
  }
  testing::PodBuilder Template() {
    runtime::Dice& dice = cluster_.dice;
    auto pod = runtime::RandomPod(dice, "p");
    if (dice.OneIn(3)) pod.Annotation(kAnnotation, dice.Pick({"preferred", "required", "never", "never"}));
    if (!dice.OneIn(4)) {
      const std::string kind = dice.OneIn(6) ? "DaemonSet" : "ReplicaSet";
      pod.Controller("apps/v1", kind, dice.Pick({"web", "db", "batch"}));
    }
    return pod;
  }

  bool IsSpot(NodeIndex row) const {
    const std::string* value = cluster_.nodes().Info(row).node().metadata.labels.Find(kSpotLabel);
    return value != nullptr && *value == "spot";
  }

  // Counted anew: whether the next pod of this one's controller has to run on demand.
  bool IsOnDemandDue(const framework::PodInfo& pod) const {
    const framework::PodClass& own = *pod.pod_class;
    if (share_ == 0 || !own.controller || own.controller->kind == "DaemonSet") return false;
    int all = 1;
    int on_demand = 0;
    for (const NodeIndex row : cluster_.nodes().rows()) {
      for (const auto& other : cluster_.nodes().Info(row).pods()) {
        if (other->deletion_time || other->pod_class->controller != own.controller) continue;
        ++all;
        on_demand += IsSpot(row) ? 0 : 1;
      }
    }
    const int ceiling = (all * share_ + 99) / 100;
    return on_demand < ceiling;
  }

  void Check(const PolicyCluster::Placed& placed) {
    ASSERT_NE(placed.outcome.result, runtime::Result::kError) << placed.outcome.error;
    const std::string* wish = placed.pod->pod_class->annotations.Find(kAnnotation);
    const bool is_required = wish != nullptr && *wish == "required";
    const bool is_never = wish != nullptr && *wish == "never";
    const bool is_due = !is_required && !is_never && IsOnDemandDue(*placed.pod);
    const bool wants_spot = !is_never && !is_due;
    const bool is_binding = filters_ && (is_required || is_never || is_due);
    const auto& rows = placed.without_policy;
    const auto wanted = [&](NodeIndex row) { return IsSpot(row) == wants_spot; };
    const bool has_wanted = std::any_of(rows.begin(), rows.end(), wanted);
    if (placed.outcome.result != runtime::Result::kFeasible) {
      EXPECT_TRUE(rows.empty() || (is_binding && !has_wanted)) << "refused by " << placed.refused_by;
      return;
    }
    ASSERT_NE(std::find(rows.begin(), rows.end(), placed.outcome.node), rows.end()) << "others refuse that node";
    if (has_wanted || is_binding) {
      EXPECT_TRUE(wanted(placed.outcome.node)) << "it wants " << (wants_spot ? "spot" : "on demand");
      ++decided_;
    }
  }

  const int share_;
  const bool filters_;
  PolicyCluster cluster_;
  std::vector<testing::PodBuilder> templates_;
  int decided_ = 0;
};

TEST_P(SpotFirstProperty, TheWantedNodesComeFirst) {
  cluster_.Live(
      templates_, [this] { SetNode(); }, [this] { return NodeName(); }, [this] { return Template(); },
      [this](const PolicyCluster::Placed& placed) { Check(placed); });
  EXPECT_GT(decided_, 10) << "a cluster that decides nothing proves nothing";
  if (HasFailure()) ADD_FAILURE() << "replay with seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpotFirstProperty, ::testing::Range<std::uint64_t>(1, 61));

// Placed one by one into an empty cluster, a controller's pods keep the share at every moment.
class SpotFirstShare : public ::testing::TestWithParam<int> {};

TEST_P(SpotFirstShare, IsKeptWhileAControllerGrows) {
  const int share = GetParam();
  PolicyCluster cluster(static_cast<std::uint64_t>(share) + 1, Profile(share, true), {kAnnotation});
  for (int i = 0; i < 6; ++i) {
    auto node = testing::MakeNode("n" + std::to_string(i)).Allocatable("cpu", "10");
    if (i % 2 == 0) node.Label(kSpotLabel, "spot");
    cluster.Set(node);
  }
  const auto pod = testing::MakePod("web").Controller("apps/v1", "ReplicaSet", "web").Request("cpu", "1");
  int on_demand = 0;
  for (int placed = 1; placed <= 30; ++placed) {
    const auto outcome = cluster.Schedule(pod).outcome;
    ASSERT_EQ(outcome.result, runtime::Result::kFeasible);
    on_demand += outcome.node % 2 == 1 ? 1 : 0;
    // The share and no more.
    ASSERT_EQ(on_demand, (placed * share + 99) / 100) << "of " << placed;
    cluster.Assume();
  }
}

INSTANTIATE_TEST_SUITE_P(Percent, SpotFirstShare, ::testing::Values(0, 1, 10, 30, 34, 50, 66, 99, 100));

}  // namespace
}  // namespace berth::plugins
