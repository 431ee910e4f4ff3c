// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/owner_pods.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/test_cluster.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;
using Owners = OwnerPods::Owners;

// The domain of a node is the number in its label.
OwnerPods::DomainId DomainOf(const api::Node& node) {
  const std::string* value = node.metadata.labels.Find("domain");
  return value == nullptr ? OwnerPods::kNoDomain : static_cast<OwnerPods::DomainId>(std::stoul(*value));
}

std::map<OwnerPods::DomainId, int> Counts(const OwnerPods& pods, const framework::PodClass& pod_class) {
  std::map<OwnerPods::DomainId, int> counts;
  for (const OwnerPods::Count& count : pods.CountsOf(pod_class)) {
    EXPECT_TRUE(counts.emplace(count.domain, count.pods).second);
    EXPECT_GT(count.pods, 0);
  }
  return counts;
}

TEST(OwnerPods, DistinguishesOwners) {
  const auto owned = [](std::string name) { return MakePod("p").Controller("apps/v1", "ReplicaSet", std::move(name)); };
  const struct {
    const char* name;
    testing::PodBuilder a, b;
    bool by_controller, by_labels;
  } kCases[] = {
      {"the same controller", owned("web").Label("a", "1"), owned("web"), true, true},
      {"another controller", owned("web"), owned("db"), false, false},
      {"another kind", owned("web"), MakePod("p").Controller("apps/v1", "StatefulSet", "web"), false, false},
      {"another namespace", owned("web"), owned("web").Namespace("other"), false, false},
      {"one without", owned("web"), MakePod("p"), false, false},
      {"none and equal labels", MakePod("p").Label("a", "1"), MakePod("q").Label("a", "1"), false, true},
      {"none and other labels", MakePod("p").Label("a", "1"), MakePod("q").Label("a", "2"), false, false},
      {"none and no labels", MakePod("p"), MakePod("q"), false, true},
      {"none in another namespace", MakePod("p"), MakePod("q").Namespace("other"), false, false},
  };
  for (const auto& test : kCases) {
    const auto pod_a = test.a.Info();
    const auto pod_b = test.b.Info();
    const framework::PodClass& a = *pod_a->pod_class;
    const framework::PodClass& b = *pod_b->pod_class;
    EXPECT_EQ(OwnerPods::HaveSameOwner(a, b, Owners::kControllers), test.by_controller) << test.name;
    EXPECT_EQ(OwnerPods::HaveSameOwner(a, b, Owners::kAll), test.by_labels) << test.name;
    EXPECT_FALSE(OwnerPods::HaveSameOwner(a, b, Owners::kNone)) << test.name;
  }
}

TEST(OwnerPods, LeavesOutPodsThatAreGoing) {
  TestCluster cluster({MakeNode("n").Label("domain", "7")});
  const auto pod = MakePod("p").Label("a", "1").Node("n");
  cluster.Add(pod);
  cluster.Add(testing::PodBuilder(pod).Uid("going").Deleted(Time{}));
  OwnerPods pods(DomainOf, Owners::kAll);
  pods.Sync(cluster.table());
  EXPECT_EQ(Counts(pods, *pod.Info()->pod_class), (std::map<OwnerPods::DomainId, int>{{7, 1}}));
  EXPECT_EQ(pods.RowsOf(7), 1U);
  EXPECT_EQ(pods.domain(5), OwnerPods::kNoDomain) << "there is no such row";
}

TEST(OwnerPods, OwnersThatAreGoneAreForgotten) {
  TestCluster cluster({MakeNode("n").Label("domain", "0")});
  OwnerPods pods(DomainOf, Owners::kAll);
  for (int i = 0; i < 3 * static_cast<int>(OwnerPods::kDeadOwnersMax); ++i) {
    const auto pod = MakePod("p" + std::to_string(i)).Label("i", std::to_string(i)).Node("n").Info();
    const NodeIndex row = cluster.table().AddPod(pod);
    pods.Sync(cluster.table());
    cluster.table().RemovePod(row, pod->uid);
  }
  EXPECT_LE(pods.owner_count(), OwnerPods::kDeadOwnersMax + 4);
}

class OwnerPodsLive : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(OwnerPodsLive, CountsAsIfRecounted) {
  Random random(GetParam());
  const auto below = [&random](std::uint64_t n) { return random.Below(n); };
  cache::ColumnNodeTable table;
  OwnerPods kept(DomainOf, GetParam() % 2 == 0 ? Owners::kAll : Owners::kControllers);
  std::vector<std::pair<NodeIndex, framework::PodInfoPtr>> running;
  std::vector<testing::PodBuilder> templates;
  for (int i = 0; i < 6; ++i) {
    auto pod = MakePod("t").Label("app", std::to_string(i % 2));
    if (i > 2) pod.Controller("apps/v1", "ReplicaSet", "rs" + std::to_string(i));
    templates.push_back(pod);
  }
  for (int step = 0; step < 200; ++step) {
    const std::string node = "n" + std::to_string(below(8));
    switch (below(7)) {
      case 0: {
        auto builder = MakeNode(node);
        if (below(5) > 0) builder.Label("domain", std::to_string(below(3)));
        table.SetNode(builder.Build());
        break;
      }
      case 1: table.RemoveNode(node); break;
      case 2:
        if (!running.empty()) {
          const std::size_t at = below(running.size());
          table.RemovePod(running[at].first, running[at].second->uid);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      default: {
        testing::PodBuilder pod = templates[below(templates.size())];
        pod.Uid("uid" + std::to_string(step)).Node(node);
        if (below(6) == 0) pod.Deleted(Time{});
        const auto info = pod.Info();
        running.emplace_back(table.AddPod(info), info);
      }
    }
    if (below(3) == 0) continue;
    kept.Sync(table);
    OwnerPods anew(DomainOf, GetParam() % 2 == 0 ? Owners::kAll : Owners::kControllers);
    anew.Sync(table);
    for (const auto& pod : templates) {
      const auto pod_class = pod.Info()->pod_class;
      std::map<OwnerPods::DomainId, int> want;
      for (const NodeIndex row : table.rows()) {
        const OwnerPods::DomainId domain = DomainOf(table.Info(row).node());
        EXPECT_EQ(kept.domain(row), domain);
        for (const auto& other : table.Info(row).pods()) {
          const bool is_owned = GetParam() % 2 == 0 || pod_class->controller;
          if (is_owned && domain != OwnerPods::kNoDomain && !other->deletion_time &&
              pod_class->controller == other->pod_class->controller && pod_class->labels == other->labels()) {
            ++want[domain];
          }
        }
      }
      ASSERT_EQ(Counts(kept, *pod_class), want) << "step " << step;
      ASSERT_EQ(Counts(anew, *pod_class), want) << "step " << step;
    }
    for (OwnerPods::DomainId domain = 0; domain < 3; ++domain) ASSERT_EQ(kept.RowsOf(domain), anew.RowsOf(domain));
    ASSERT_EQ(kept.row_count(), anew.row_count());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OwnerPodsLive, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace berth::plugins
