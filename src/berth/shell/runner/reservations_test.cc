// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/reservations.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/testing/builders.h"

namespace berth::runner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class ReservationsTest : public ::testing::Test {
 protected:
  static testing::PodBuilder OfWeb(const std::string& name, const std::string& owner = "web-5c7") {
    return testing::MakePod(name).Uid(name).Controller("apps/v1", "ReplicaSet", owner);
  }
  void Take(const testing::PodBuilder& pod) {
    reservations.Take(scheduler::PodSet{std::make_shared<const api::Pod>(pod.Build())});
  }
  // What the core has got since the last call: "web-2 nominated for n2".
  std::vector<std::string> Got() {
    std::vector<std::string> texts;
    for (const scheduler::Input& input : std::exchange(inputs, {})) {
      if (const auto* const set = std::get_if<scheduler::PodSet>(&input)) {
        const api::Pod& pod = *set->pod;
        texts.push_back(
            pod.metadata.name + (pod.spec.node_name.empty() ? "" : " on " + pod.spec.node_name) +
            (pod.status.nominated_node_name.empty() ? "" : " nominated for " + pod.status.nominated_node_name));
      } else if (const auto* const gone = std::get_if<scheduler::PodGone>(&input)) {
        texts.push_back(gone->name + " gone");
      } else if (const auto* const done = std::get_if<scheduler::WriteDone>(&input)) {
        texts.push_back("write " + std::to_string(done->operation) + (done->error ? " failed" : " done"));
      }
    }
    return texts;
  }

  client::FakeLoop loop;
  std::vector<scheduler::Input> inputs;
  Reservations reservations{loop, [this](scheduler::Input input) { inputs.push_back(std::move(input)); }};
};

TEST_F(ReservationsTest, APlaceIsTakenUntilTheReplacementComes) {
  ASSERT_TRUE(reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min));
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 on n2"));
  Take(OfWeb("web-1").Node("n1").Deleted(loop.Now()));
  Take(OfWeb("other-1", "other-77f"));
  EXPECT_THAT(Got(), ElementsAre("web-1 on n1", "other-1")) << "none of these is the replacement";
  Take(OfWeb("web-2"));
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 gone", "web-2 nominated for n2"));
  Take(OfWeb("web-2").Label("seen", "again"));
  EXPECT_THAT(Got(), ElementsAre("web-2 nominated for n2"));
  Take(OfWeb("web-3"));
  EXPECT_THAT(Got(), ElementsAre("web-3")) << "there was one place";
  Take(OfWeb("web-2").Node("n2"));
  EXPECT_THAT(Got(), ElementsAre("web-2 on n2"));
  EXPECT_EQ(reservations.size(), 0u);
  loop.Advance(2min);
  EXPECT_THAT(Got(), IsEmpty());
}

TEST_F(ReservationsTest, WhatDoesNotComeInTimeLosesIt) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  Got();
  loop.Advance(59s);
  EXPECT_THAT(Got(), IsEmpty());
  loop.Advance(1s);
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 gone"));
  Take(OfWeb("web-2"));
  EXPECT_THAT(Got(), ElementsAre("web-2"));
}

TEST_F(ReservationsTest, AReplacementThatComesBeforeTheStandInLeavesNone) {
  bool has_come = false;
  Reservations raced(loop, [&](const scheduler::Input& input) {
    // Another thread is faster than the one that reserves.
    if (!std::exchange(has_come, true))
      raced.Take(scheduler::PodSet{std::make_shared<const api::Pod>(OfWeb("web-2").Build())});
    inputs.push_back(input);
  });
  raced.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 gone", "web-2 nominated for n2", "reserved-web-1 on n2",
                                 "reserved-web-1 gone"));
}

TEST_F(ReservationsTest, ALateOneIsNoLongerNominated) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  Take(OfWeb("web-2"));
  Got();
  loop.Advance(1min);
  Take(OfWeb("web-2"));
  EXPECT_THAT(Got(), ElementsAre("web-2"));
}

TEST_F(ReservationsTest, ReplacementsGetThePlacesInOrder) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  reservations.Reserve(OfWeb("web-2").Node("n1").Build(), "n3", 1min);
  EXPECT_FALSE(reservations.Reserve(OfWeb("web-2").Node("n1").Build(), "n3", 1min)) << "it has one";
  EXPECT_FALSE(reservations.Reserve(testing::MakePod("bare").Node("n1").Build(), "n3", 1min)) << "nobody would come";
  Got();
  Take(OfWeb("web-8"));
  Take(OfWeb("web-9"));
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 gone", "web-8 nominated for n2", "reserved-web-2 gone",
                                 "web-9 nominated for n3"));
  reservations.Take(scheduler::PodGone{"default", "web-8", "web-8"});
  EXPECT_EQ(reservations.size(), 1u);
}

TEST_F(ReservationsTest, WhatWasNotEvictedNeedsNone) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  reservations.Cancel("web-1");
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 on n2", "reserved-web-1 gone"));
}

TEST_F(ReservationsTest, TheSchedulersOwnNominationCounts) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  Got();
  Take(OfWeb("web-2").Nominated("n7"));
  EXPECT_THAT(Got(), ElementsAre("reserved-web-1 gone", "web-2 nominated for n7"));
}

TEST_F(ReservationsTest, APreemptorGetsThePlace) {
  reservations.Reserve(OfWeb("web-1").Node("n1").Build(), "n2", 1min);
  Got();
  const framework::ObjectRef stand_in{"v1", "pods", "default", "reserved-web-1"};
  EXPECT_TRUE(reservations.Perform(scheduler::Write{7, framework::ObjectPatch{stand_in, "status", {}, "{}"}}));
  EXPECT_TRUE(reservations.Perform(scheduler::Write{8, framework::ObjectDelete{stand_in, "reserved-web-1"}}));
  EXPECT_THAT(Got(), ElementsAre("write 7 done", "write 8 done", "reserved-web-1 gone"));
  EXPECT_FALSE(reservations.Perform(scheduler::Write{9, framework::ObjectDelete{stand_in, "reserved-web-1"}}))
      << "it is no longer ours";
  EXPECT_FALSE(
      reservations.Perform(scheduler::Write{9, framework::ObjectDelete{{"v1", "pods", "default", "web-2"}, ""}}));
}

}  // namespace
}  // namespace berth::runner
