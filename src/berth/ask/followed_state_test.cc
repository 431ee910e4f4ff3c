// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/followed_state.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/ask/change_log.h"
#include "berth/base/random.h"

namespace berth::ask {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;

std::shared_ptr<const api::Pod> PodIn(const std::string& space, const std::string& name, const std::string& uid,
                                      api::PodPhase phase = api::PodPhase::kRunning) {
  api::Pod pod = MakePod(name).Build();
  pod.metadata.namespace_name = space;
  pod.metadata.uid = uid;
  pod.status.phase = phase;
  return std::make_shared<const api::Pod>(std::move(pod));
}

std::vector<std::string> Keys(const std::vector<std::shared_ptr<const api::Pod>>& pods) {
  std::vector<std::string> keys;
  for (const auto& pod : pods) keys.push_back(pod->metadata.namespace_name + "/" + pod->metadata.name);
  return keys;
}

TEST(FollowedStateTest, KeepsTheOrderOfTheApiServer) {
  std::vector<std::string> wanted = {"a-b/x", "a/x", "a/x-1", "a/y", "ab/x", "a.b/z", "a0/q"};
  FollowedState state;
  for (const std::string& key : wanted)
    state.Apply(PodChange(PodIn(key.substr(0, key.find('/')), key.substr(key.find('/') + 1), key)));
  std::ranges::sort(wanted);
  EXPECT_EQ(Keys(state.state().pods), wanted);
  EXPECT_EQ(state.state().pod_details.size(), wanted.size());
}

TEST(FollowedStateTest, PodsComeFinishAndGo) {
  FollowedState state;
  state.Apply(PodChange(PodIn("a", "x", "1")));
  state.Apply(PodChange(PodIn("a", "x", "1", api::PodPhase::kSucceeded)));
  EXPECT_THAT(state.state().pods, IsEmpty());
  EXPECT_THAT(Keys(state.state().finished_pods), ElementsAre("a/x"));
  EXPECT_TRUE(state.scheduler_names().empty());
  // Another pod of that name has come in the place of the finished one.
  state.Apply(PodChange(PodIn("a", "x", "2")));
  EXPECT_THAT(Keys(state.state().pods), ElementsAre("a/x"));
  EXPECT_THAT(state.state().finished_pods, IsEmpty());
  state.Apply(PodGone("a", "x", "1"));
  EXPECT_THAT(Keys(state.state().pods), ElementsAre("a/x")) << "that was the earlier one";
  state.Apply(PodGone("a", "x", "2"));
  EXPECT_THAT(state.state().pods, IsEmpty());
  EXPECT_THAT(state.state().pod_details, IsEmpty());
}

TEST(FollowedStateTest, CountsTheSchedulersThatPodsName) {
  FollowedState state;
  api::Pod other = *PodIn("a", "x", "1");
  other.spec.scheduler_name = "mine";
  state.Apply(PodChange(std::make_shared<const api::Pod>(other)));
  state.Apply(PodChange(std::make_shared<const api::Pod>(other)));
  EXPECT_EQ(state.scheduler_names().at("mine"), 1U);
  other.spec.scheduler_name = "yours";
  state.Apply(PodChange(std::make_shared<const api::Pod>(other)));
  EXPECT_FALSE(state.scheduler_names().contains("mine"));
  EXPECT_EQ(state.scheduler_names().at("yours"), 1U);
}

TEST(FollowedStateTest, NodesAndObjects) {
  FollowedState state;
  state.Apply(NodeChange(MakeNode("b").Build()));
  state.Apply(NodeChange(MakeNode("a").Build()));
  state.Apply(NodeChange(MakeNode("a").Label("new", "1").Build()));
  ASSERT_EQ(state.state().nodes.size(), 2U);
  EXPECT_EQ(state.state().nodes[0]->metadata.labels.size(),
            MakeNode("a").Label("new", "1").Build()->metadata.labels.size());
  state.Apply(NodeGone("b"));
  state.Apply(NodeGone("c"));
  EXPECT_EQ(state.state().nodes.size(), 1U);
  auto budget = std::make_shared<const api::PodDisruptionBudget>(whatif::Budget("web", "web", 1));
  state.Apply(ObjectChange(budget));
  auto space = std::make_shared<api::Namespace>();
  space->metadata.name = "shop";
  state.Apply(ObjectChange(std::shared_ptr<const api::Namespace>(space)));
  ASSERT_EQ(state.state().objects.size(), 2U);
  EXPECT_EQ(framework::KindOf(state.state().objects[0]), framework::ObjectKind::kPodDisruptionBudget);
  StateChange gone = ObjectChange(budget);
  gone.object = nullptr;
  state.Apply(gone);
  EXPECT_EQ(state.state().objects.size(), 1U);
}

TEST(ChangeLogTest, TellsWhatIsNewAndAllToWhoIsFarBehind) {
  ChangeLog log;
  log.Push(PodChange(PodIn("a", "x", "1")));
  ChangeLog::News first = log.Since(0);
  ASSERT_TRUE(first.whole);
  EXPECT_THAT(Keys(first.whole->pods), ElementsAre("a/x"));
  EXPECT_FALSE(log.Since(first.until).whole);
  EXPECT_THAT(log.Since(first.until).changes, IsEmpty());
  log.Push(PodGone("a", "x"));
  const ChangeLog::News second = log.Since(first.until);
  ASSERT_EQ(second.changes.size(), 1U);
  EXPECT_EQ(second.changes[0].name, "x");
  for (std::size_t i = 0; i <= ChangeLog::kChangesMax; ++i) log.Push(PodGone("a", "y"));
  EXPECT_TRUE(log.Since(second.until).whole) << "some of what it lacks is forgotten";
}

}  // namespace
}  // namespace berth::ask
