// SPDX-License-Identifier: Apache-2.0
// "What if" questions: an overlay answers as a core with these changes would, and undoing the changes leaves nothing
// behind.
#include "berth/core/scheduler/overlay.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/runtime/runtime_testing.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/preemption_review.h"

namespace berth::scheduler {
namespace {

using runtime::Dice;
using runtime::RandomNode;
using runtime::RandomPod;
using testing::MakeNode;
using testing::MakePod;
using Detail = Overlay::Detail;

// The verdict of each node, and the best nodes.
std::string Said(Overlay& overlay, const testing::PodBuilder& pod) {
  const framework::PodInfoPtr info = overlay.MakePod(pod.Build());
  const auto [evaluator, outcome] = overlay.Evaluate(info, Detail::kAll);
  std::map<std::string, std::string> by_node;
  for (const framework::NodeIndex row : overlay.nodes().rows()) {
    const framework::Status status = evaluator.StatusOf(row);
    by_node[overlay.nodes().Info(row).name()] = std::string(status.plugin()) + " " + status.Message();
  }
  for (std::size_t i = 0; i < outcome.totals.size(); ++i)
    by_node[overlay.nodes().Info(outcome.feasible[i]).name()] += std::to_string(outcome.totals[i]);
  std::string text = outcome.error;
  for (const auto& [node, said] : by_node) text += node + ": " + said + "\n";
  return text;
}

TEST(OverlayTest, PlacesAsTheSchedulerWouldAndTakesBack) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  h.Set(MakeNode("b").Allocatable("cpu", "1"));
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto evaluate = [&](const std::string& name) {
    return overlay->Evaluate(overlay->MakePod(MakePod(name).Request("cpu", "1").Build()), Detail::kChoice).outcome;
  };
  for (int i = 0; i < 3; ++i) {
    const std::string name = "p" + std::to_string(i);
    const auto pod = overlay->MakePod(MakePod(name).Request("cpu", "1").Build());
    const auto answer = overlay->Evaluate(pod, Detail::kChoice);
    ASSERT_EQ(answer.outcome.result, runtime::Result::kFeasible);
    ASSERT_TRUE(overlay->Place(pod, answer.outcome.node).IsSuccess());
  }
  EXPECT_EQ(evaluate("p3").result, runtime::Result::kRefused);
  overlay->UndoTo(2);
  EXPECT_EQ(evaluate("p3").result, runtime::Result::kFeasible);
  overlay->UndoTo(0);
  EXPECT_EQ(evaluate("p3").feasible_count, 2U);
  EXPECT_EQ(h.core.cache().pod_count(), 0U);
}

// Of equally good victims the first one in this order goes.
TEST(OverlayTest, PodsAreInTheirOrderAgain) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "9"));
  for (const char* const name : {"p", "q", "r", "s", "t"}) h.Set(MakePod(name).Node("a"));
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto names = [&] {
    std::string text;
    for (const framework::PodInfoPtr& pod : overlay->nodes().Info(0).pods()) text += pod->name;
    return text;
  };
  const auto uid = [](const char* name) { return MakePod(name).Info()->uid; };
  EXPECT_TRUE(overlay->RemovePod(uid("q")));
  overlay->AddPod(overlay->MakePod(MakePod("x").Node("a").Build()));
  EXPECT_TRUE(overlay->RemovePod(uid("p")));
  EXPECT_TRUE(overlay->RemovePod(uid("x")));
  EXPECT_EQ(names(), "str");
  for (const char* const name : {"r", "s", "t"}) EXPECT_TRUE(overlay->RemovePod(uid(name)));
  EXPECT_TRUE(overlay->RemoveNode("a"));
  overlay->UndoTo(0);
  EXPECT_EQ(names(), "pqrst");
}

TEST(OverlayTest, ObjectsComeAndGoAndAreTakenBack) {
  Harness h;
  const auto named = [](const char* name, const char* label) {
    auto object = std::make_shared<api::Namespace>();
    object->metadata.name = name;
    object->metadata.labels.Set("team", label);
    return object;
  };
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto said = [&] {
    std::string text;
    for (const auto& [key, object] : overlay->objects().Of<api::Namespace>())
      text += key + '=' + *object->metadata.labels.Find("team") + ' ';
    return text;
  };
  overlay->SetObject(std::shared_ptr<const api::Namespace>(named("shop", "a")));
  const Overlay::Mark mark = overlay->mark();
  overlay->SetObject(std::shared_ptr<const api::Namespace>(named("shop", "b")));
  overlay->SetObject(std::shared_ptr<const api::Namespace>(named("mail", "c")));
  EXPECT_EQ(said(), "mail=c shop=b ");
  EXPECT_TRUE(overlay->RemoveObject(framework::ObjectKind::kNamespace, "shop"));
  EXPECT_FALSE(overlay->RemoveObject(framework::ObjectKind::kNamespace, "shop"));
  EXPECT_EQ(said(), "mail=c ");
  overlay->UndoTo(mark);
  EXPECT_EQ(said(), "shop=a ");
  overlay->UndoTo(0);
  EXPECT_EQ(said(), "");
}

TEST(OverlayTest, LivesOnWhileTheClusterChanges) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto asked = MakePod("asked").Request("cpu", "2");
  const auto fits = [&] {
    return overlay->Evaluate(overlay->MakePod(asked.Build()), Detail::kChoice).outcome.result ==
           runtime::Result::kFeasible;
  };
  EXPECT_TRUE(fits());
  overlay->AddPod(overlay->MakePod(MakePod("other").Request("cpu", "1").Node("a").Build()));
  EXPECT_FALSE(fits());
  overlay->UndoTo(0);
  h.Set(MakePod("other").Request("cpu", "1").Node("a"));
  EXPECT_FALSE(fits());
  h.Set(MakeNode("b").Allocatable("cpu", "4"));
  overlay->DropIdle();
  EXPECT_TRUE(fits());
}

TEST(OverlayTest, ARefusalOfReserveLeavesNothing) {
  Lines calls;
  Profiles profiles = DefaultProfiles();
  const auto actor = std::make_shared<Actor>("X", calls);
  Enable(*profiles.front(), actor).reserve = [](const framework::PodInfo&) {
    return framework::Status::Unschedulable("no volume left");
  };
  Harness h(std::move(profiles));
  h.Set(MakeNode("a").Allocatable("cpu", "2"));
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto pod = overlay->MakePod(MakePod("p").Build());
  const auto answer = overlay->Evaluate(pod, Detail::kChoice);
  EXPECT_EQ(overlay->Place(pod, answer.outcome.node).Message(), "no volume left");
  EXPECT_EQ(calls, (Lines{"X.Reserve a", "X.Unreserve a"}));
  EXPECT_EQ(h.core.cache().pod_count(), 0U);
  EXPECT_EQ(overlay->mark(), 0U);
}

TEST(OverlayTest, PreemptionIsReportedAndNobodyEvicted) {
  Harness h;
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakePod("small").Request("cpu", "1").Node("a"));
  h.Take();
  {
    const auto overlay = h.core.MakeOverlay(h.now);
    const auto pod = overlay->MakePod(MakePod("large").Request("cpu", "1").Priority(10).Build());
    const auto answer = overlay->Evaluate(pod, Detail::kAll);
    ASSERT_EQ(answer.outcome.result, runtime::Result::kRefused);
    framework::PreemptionReview question{.is_dry_run = true};
    const framework::PostFilterResult result = answer.evaluator.RunPostFilter(&question);
    EXPECT_EQ(result.nominated_node_name, "a");
    ASSERT_TRUE(result.preemption);
    ASSERT_EQ(result.preemption->candidates.size(), 1U);
    EXPECT_EQ(result.preemption->candidates.front().victims.front()->name, "small");
  }
  h.Run();
  EXPECT_EQ(h.Take(), Lines{});
}

// The choice among equal nodes depends on chance and on an order kept from pod to pod: questions must not change
// either.
TEST(OverlayTest, WhichOfEqualNodesAPodGetsDoesNotFollowFromQuestions) {
  const auto nodes_of_pods = [](bool is_asked) {
    Harness h;
    const Lines names = {"a", "b", "c", "d", "e", "f"};
    for (const std::string& name : names) h.Set(MakeNode(name));
    Lines chosen;
    for (int round = 0; round < 20; ++round) {
      const std::string suffix = "-" + std::to_string(round);
      if (is_asked) {
        const auto overlay = h.core.MakeOverlay(h.now);
        for (const std::string& name : names) overlay->SetNode(MakeNode(name).Label("asked", "1").Build());
        (void)overlay->Evaluate(overlay->MakePod(MakePod("asked").Request("cpu", "10m").Build()), Detail::kAll);
        overlay->UndoTo(0);
      }
      // Pods in an order that is not that of the rows.
      for (const char* name : {"e", "b", "f", "a", "d", "c"})
        h.Set(MakePod(name + suffix).Request("cpu", "10m").Node(name));
      h.Set(MakePod("ours" + suffix).Request("cpu", "10m"));
      h.Run();
      chosen.push_back(h.core.decisions().Newest().node_name);
      h.Take();
    }
    return chosen;
  };
  EXPECT_EQ(nodes_of_pods(false), nodes_of_pods(true));
}

// Makes room at once, which an author's plugin may do.
class Meddler final : public framework::PostFilterPlugin {
 public:
  explicit Meddler(Lines& calls) : calls_(calls) {}
  std::string_view Name() const override { return "Meddler"; }
  framework::PostFilterResult PostFilter(const framework::Cycle&, const framework::PodInfo& pod,
                                         const framework::NodeStatuses&, framework::FilterRunner&) const override {
    calls_.push_back(pod.name);
    framework::PostFilterResult result;
    result.status = framework::Status::Unschedulable("meddled");
    return result;
  }

 private:
  Lines& calls_;
};

TEST(OverlayTest, APluginThatWouldActAtOnceIsNotAsked) {
  Lines calls;
  Profiles profiles = DefaultProfiles();
  const auto meddler = std::make_shared<Meddler>(calls);
  profiles.front()->owned.push_back(meddler);
  profiles.front()->post_filter.insert(profiles.front()->post_filter.begin(), meddler.get());
  Harness h(std::move(profiles));
  h.Set(MakeNode("a").Allocatable("cpu", "1"));
  h.Set(MakePod("large").Request("cpu", "2"));
  h.Run();
  EXPECT_EQ(calls, Lines{"large"});
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto answer = overlay->Evaluate(overlay->MakePod(MakePod("large").Request("cpu", "2").Build()), Detail::kAll);
  framework::PreemptionReview question{.is_dry_run = true};
  (void)answer.evaluator.RunPostFilter(&question);
  EXPECT_EQ(calls, Lines{"large"});
}

class OverlayProperty : public ::testing::TestWithParam<std::uint64_t> {};

// Random changes on an overlay over a random cluster. Each answer must be that of a core with the same changes, and
// after undoing them the first answer must return.
TEST_P(OverlayProperty, SaysWhatARealClusterWould) {
  Dice dice(GetParam());
  Harness h;
  Harness real;
  std::vector<std::string> nodes;
  std::vector<testing::PodBuilder> running;
  const auto set_both = [&](const auto& object) {
    h.Set(object);
    real.Set(object);
  };
  for (int n = 0; n < 8; ++n) {
    nodes.push_back("n" + std::to_string(n));
    set_both(RandomNode(dice, nodes.back()));
  }
  for (int p = 0; p < 12; ++p) {
    const std::string name = "r" + std::to_string(p);
    testing::PodBuilder pod = RandomPod(dice, name);
    running.push_back(pod.Node(dice.PickFrom(nodes)));
    set_both(running.back());
  }
  std::vector<testing::PodBuilder> asked;
  for (int p = 0; p < 4; ++p) asked.push_back(RandomPod(dice, "asked" + std::to_string(p)));
  const auto overlay = h.core.MakeOverlay(h.now);
  const auto all = [&](Overlay& of) {
    std::vector<std::string> said;
    said.reserve(asked.size());
    for (const auto& pod : asked) said.push_back(Said(of, pod));
    return said;
  };
  const std::vector<std::string> before = all(*overlay);
  for (int round = 0; round < 6; ++round) {
    for (int change = 0; change < 4; ++change) {
      switch (dice.Below(5)) {
        case 0: {
          const std::size_t which = static_cast<std::size_t>(dice.Below(static_cast<int>(running.size())));
          const bool is_there = overlay->RemovePod(running[which].Build().metadata.uid);
          if (is_there) real.Remove(running[which]);
          break;
        }
        case 1: {
          const auto node = RandomNode(dice, dice.OneIn(3) ? "new" : dice.PickFrom(nodes));
          overlay->SetNode(node.Build());
          real.Set(node);
          break;
        }
        case 2: {
          const std::string& name = dice.PickFrom(nodes);
          if (overlay->RemoveNode(name)) real.RemoveNode(name);
          break;
        }
        case 3: {
          const std::string name = "told" + std::to_string(round) + std::to_string(change);
          testing::PodBuilder pod = RandomPod(dice, name);
          pod.Node(dice.PickFrom(nodes));
          overlay->AddPod(overlay->MakePod(pod.Build()));
          real.Set(pod);
          break;
        }
        default: {
          const std::string name = "placed" + std::to_string(round) + std::to_string(change);
          testing::PodBuilder pod = RandomPod(dice, name);
          const auto info = overlay->MakePod(pod.Build());
          const auto outcome = overlay->Evaluate(info, Detail::kChoice, dice.Seed()).outcome;
          if (outcome.result != runtime::Result::kFeasible) break;
          ASSERT_TRUE(overlay->Place(info, outcome.node).IsSuccess());
          real.Set(pod.Node(overlay->nodes().Info(outcome.node).name()));
        }
      }
    }
    const auto real_overlay = real.core.MakeOverlay(real.now);
    EXPECT_EQ(all(*overlay), all(*real_overlay)) << "seed " << GetParam() << ", round " << round;
  }
  overlay->UndoTo(0);
  EXPECT_EQ(all(*overlay), before) << "seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, OverlayProperty, ::testing::Range<std::uint64_t>(1, 60));

}  // namespace
}  // namespace berth::scheduler
