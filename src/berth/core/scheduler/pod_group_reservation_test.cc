// SPDX-License-Identifier: Apache-2.0
// PodGroupReservation through a whole core: which group gets reserved room, from which pods, and that no gang waits
// forever.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/scheduler/pod_group_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using Map = std::map<std::string, std::string>;

Profiles ReservingProfiles(const std::string& args) {
  config::Plugins sets;
  sets.multi_point.enabled = {{"PodGroupReservation"}};
  return GroupProfiles({}, std::move(sets), {{"PodGroupReservation", config::RawArgs{args}}});
}

class PodGroupReservationTest : public ::testing::Test {
 protected:
  // Two nodes of 4 CPUs; n0 has four pods of one CPU, n1 has two.
  PodGroupReservationTest() : h_(ReservingProfiles(R"({"after": "10s"})")) {
    for (const char* node : {"n0", "n1"}) h_.Set(MakeNode(node));
    for (int i = 0; i < 6; ++i) h_.Set(Running(i));
  }

  static PodBuilder Running(int i) {
    return MakePod("run-" + std::to_string(i)).Request("cpu", "1").Node(i < 4 ? "n0" : "n1");
  }
  // Runs cycles for everything that is ready, for this number of seconds.
  Written Spend(int seconds) {
    Written all;
    for (int second = 0; second < seconds; ++second) {
      h_.now += 1s;
      do {
        const Written written = h_.Cycle();
        all.bound.insert(written.bound.begin(), written.bound.end());
        for (const auto& [pod, why] : written.failed) all.failed[pod] = why;
        for (const auto& [pod, node] : written.nominated) all.nominated[pod] = node;
        for (const std::string& condition : written.conditions) all.conditions.push_back(condition);
      } while (h_.is_ready);
    }
    return all;
  }

  GroupHarness h_;
};

TEST_F(PodGroupReservationTest, RoomIsKeptOnceTheGangHasWaited) {
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2, "3");
  const Written before = Spend(9);
  EXPECT_TRUE(before.nominated.empty());
  const Written after = Spend(10);
  EXPECT_EQ(after.nominated.size(), 2u);
  ASSERT_FALSE(after.conditions.empty());
  const std::string why = "pod group reservation: room on 2 nodes is kept until the pods there have ended";
  EXPECT_NE(after.conditions.back().find(why), std::string::npos) << after.conditions.back();
  // Two CPUs of n1 are free; the gang needs one of these.
  h_.Set(MakePod("small").Request("cpu", "2"));
  EXPECT_TRUE(Spend(2).bound.empty());
  for (int i = 0; i < 3; ++i) h_.Remove(Running(i));
  EXPECT_EQ(Spend(2).bound, Map()) << "n1 has room for two, and the gang is whole or not at all";
  h_.Remove(Running(4));
  const Written placed = Spend(3);
  EXPECT_EQ(placed.bound.count("g-0") + placed.bound.count("g-1"), 2u) << "soon after there is room";
}

TEST_F(PodGroupReservationTest, HigherPriorityGoesFirst) {
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2, "3");
  Spend(20);
  h_.Set(MakePod("important").Request("cpu", "2").Priority(10));
  EXPECT_EQ(Spend(2).bound, (Map{{"important", "n1"}}));
}

TEST_F(PodGroupReservationTest, OneGroupAtATimeTheOldestFirst) {
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2, "3");
  Spend(2);
  h_.Set(Gang("later", 2));
  h_.AddMembers("later", 2, "3");
  const Written written = Spend(60);
  EXPECT_EQ(written.nominated.count("g-0"), 1u);
  EXPECT_EQ(written.nominated.count("later-0"), 0u);
  // Once the first gang is placed, it is the other one's turn.
  for (int i = 0; i < 6; ++i) h_.Remove(Running(i));
  EXPECT_EQ(Spend(5).bound.size(), 2u);
  EXPECT_EQ(Spend(60).nominated.count("later-0"), 1u);
}

TEST_F(PodGroupReservationTest, NoRoomIsKeptWhereItWouldNeverDo) {
  h_.Set(Gang("g", 3));
  h_.AddMembers("g", 3, "3");
  h_.Set(Gang("fits", 2));
  h_.AddMembers("fits", 2, "3");
  const Written written = Spend(60);
  EXPECT_EQ(written.nominated.count("g-0"), 0u) << "three pods of 3 CPUs never fit on two nodes of 4";
  EXPECT_EQ(written.nominated.count("fits-0"), 1u) << "a gang that never fits has no turn";
}

TEST_F(PodGroupReservationTest, ServicesAreNotWaitedFor) {
  for (int i = 0; i < 4; ++i) h_.Set(Running(i).Controller("apps/v1", "ReplicaSet", "web"));
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2, "3");
  EXPECT_TRUE(Spend(60).nominated.empty());
}

TEST_F(PodGroupReservationTest, AGroupThatGoesGivesItsTurnAndItsRoomBack) {
  h_.Set(Gang("g", 2));
  h_.AddMembers("g", 2, "3");
  Spend(20);
  for (int i = 0; i < 2; ++i) h_.Remove(h_.Member("g", i, "3"));
  h_.Set(MakePod("small").Request("cpu", "2"));
  EXPECT_EQ(Spend(2).bound, (Map{{"small", "n1"}}));
}

// Small gangs keep coming and take all room that becomes free while the large one waits.
class BoundedWaiting : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kNodes = 6;
  static constexpr int kLongest = 40;  // longest run time of a small gang, in seconds

  struct Waited {
    int first = 0;   // seconds until no older gang waited
    int placed = 0;  // seconds until it was bound; `limit`: it was not
  };
  static Waited WaitOfTheLargeOne(const std::string& args, std::uint64_t seed, int limit) {
    GroupHarness h(ReservingProfiles(args));
    Random random(seed);
    for (int i = 0; i < kNodes; ++i) h.Set(MakeNode("n" + std::to_string(i)));
    std::map<std::string, std::pair<int, PodBuilder>> running;  // by pod: end time, pod
    std::map<std::string, PodBuilder> waiting;
    std::set<std::string> older;  // waiting pods that came before the large gang
    Waited waited;
    int gangs = 0;
    constexpr int kLargeAt = 60;
    for (int second = -kLargeAt; second < limit; ++second) {
      h.now += 1s;
      for (auto pod = running.begin(); pod != running.end();) {
        if (pod->second.first > second) {
          ++pod;
          continue;
        }
        h.Remove(pod->second.second);
        pod = running.erase(pod);
      }
      // Enough gangs to fill the cluster, but a bounded number in the queue.
      while (waiting.size() < 24) {
        const std::string name = "s" + std::to_string(gangs++);
        const int size = 1 + static_cast<int>(random.Below(3));
        h.Set(Gang(name, size));
        for (int i = 0; i < size; ++i) {
          const PodBuilder pod = h.Member(name, i, "1");
          h.Set(pod);
          waiting.emplace(pod.Build().metadata.name, pod);
        }
      }
      if (second == 0) {
        for (const auto& [name, pod] : waiting) older.insert(name);
        h.Set(Gang("large", kNodes));
        for (int i = 0; i < kNodes; ++i) h.Set(h.Member("large", i, "3"));
      }
      if (!older.empty()) waited.first = second;
      do {
        for (const auto& [name, node] : h.Cycle().bound) {
          if (name.starts_with("large")) {
            waited.placed = second;
            return waited;
          }
          const auto pod = waiting.find(name);
          PodBuilder placed = pod->second;
          placed.Node(node);
          h.Set(placed);
          running.emplace(name, std::pair(second + 1 + static_cast<int>(random.Below(kLongest)), placed));
          waiting.erase(pod);
          older.erase(name);
        }
      } while (h.is_ready);
    }
    waited.placed = limit;
    return waited;
  }
};

TEST_P(BoundedWaiting, TheLargeGangComesWithinItsPatienceAndTheLongestPod) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const Waited with = WaitOfTheLargeOne(R"({"after": "10s"})", seed, 300);
  // A group of six backs off for at most 25 s; by then it has reserved room. When the pods there have ended, it is
  // tried within three seconds.
  EXPECT_LE(with.placed, std::max(with.first, 10) + 25 + kLongest + 3);
  EXPECT_LT(with.placed, 300);
  EXPECT_EQ(WaitOfTheLargeOne(R"({"after": "10h"})", seed, 300).placed, 300) << "without it the gang is never placed";
}

INSTANTIATE_TEST_SUITE_P(Seeds, BoundedWaiting, ::testing::Range(1, 21));

TEST(PodGroupReservationArgs, SaysWhatIsWrong) {
  CoreHandle handle([](framework::PermitDecision) {});
  const auto error_of = [&](const std::string& args) {
    const auto* const plugin = config::FindPlugin(plugins::InTreePlugins(), "PodGroupReservation");
    const auto made = plugin->create(config::RawArgs{args}, handle);
    return made.ok() ? "" : made.error().message;
  };
  EXPECT_EQ(error_of("{}"), "");
  EXPECT_EQ(error_of(R"({"after": "-1s"})"),
            "plugin \"PodGroupReservation\": args.after: Invalid value: \"-1s\": must be 0 or more");
  EXPECT_NE(error_of(R"({"patience": "1s"})").find("args.patience"), std::string::npos);
}

}  // namespace
}  // namespace berth::scheduler
