// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/move_ledger.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using whatif::RunningPod;
using Kind = MoveChange::Kind;
using State = MoveRecord::State;

constexpr Duration kPlacementMax = std::chrono::minutes(5);
constexpr Duration kMinute = std::chrono::minutes(1);

MoveRecord RecordOf(const std::string& name, const std::string& from, const std::string& to) {
  MoveRecord record;
  record.key = "default/" + name;
  record.uid = "uid-of-" + name;
  record.workload = "default/Deployment web";
  record.from = from;
  record.to = to;
  record.strategy = "RemoveDuplicates";
  record.at = kTestNow;
  record.newest = kTestNow - kMinute;
  return record;
}

// With their uids as RecordOf() has them; those that are ready say so.
whatif::ClusterState Pods(const std::vector<testing::PodBuilder>& pods, bool is_ready = true) {
  whatif::ClusterState state = whatif::StateOf({MakeNode("n1"), MakeNode("n2"), MakeNode("n3")}, pods);
  for (auto& pod : state.pods) {
    api::Pod own = *pod;
    own.metadata.uid = "uid-of-" + own.metadata.name;
    pod = std::make_shared<const api::Pod>(std::move(own));
    auto details = std::make_shared<api::PodDetails>(*DetailsOf(*pod));
    if (is_ready) details->status.conditions.push_back({"Ready", "True", {}, {}});
    state.pod_details.push_back(std::move(details));
  }
  return state;
}

testing::PodBuilder NewPod(const std::string& name, const std::string& node) {
  return RunningPod("web", name, node).Created(kTestNow);
}

std::vector<Kind> Kinds(const std::vector<MoveChange>& changes) {
  std::vector<Kind> kinds;
  for (const MoveChange& change : changes) kinds.push_back(change.kind);
  return kinds;
}

MoveLedger LedgerOf(MoveRecord record) {
  MoveLedger ledger;
  ledger.Intend(std::move(record));
  ledger.SetEvicted(ledger.records().front().uid);
  return ledger;
}

TEST(MoveLedgerTest, IsReadAgainAsItWasWritten) {
  MoveLedger ledger;
  ledger.Intend(RecordOf("web-1", "n1", "n2"));
  ledger.Intend(RecordOf("web-2", "n1", "n3"));
  ledger.SetEvicted("uid-of-web-2");
  const auto again = MoveLedger::Parse(ledger.Text());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->Text(), ledger.Text());
  ASSERT_EQ(again->records().size(), 2u);
  EXPECT_EQ(again->records()[0].state, State::kIntended);
  EXPECT_EQ(again->records()[1].state, State::kEvicted);
  EXPECT_EQ(again->records()[1].at, kTestNow);
  EXPECT_EQ(again->records()[1].to, "n3");
  EXPECT_TRUE(MoveLedger::Parse("")->records().empty());
}

TEST(MoveLedgerTest, RefusesWhatItHasNotWritten) {
  const auto message = [](std::string_view text) {
    const auto ledger = MoveLedger::Parse(text);
    return ledger.ok() ? "" : ledger.error().message;
  };
  EXPECT_NE(message("{"), "");
  EXPECT_THAT(message("[]"), HasSubstr("no version"));
  EXPECT_THAT(message(R"({"version":2,"moves":[]})"), HasSubstr("no version that this berth knows"));
  EXPECT_THAT(message(R"({"version":1,"moves":{}})"), HasSubstr("no list of moves"));
  EXPECT_THAT(message(R"({"version":1,"moves":[{"pod":"default/web-1"}]})"), HasSubstr("moves[0] is not whole"));
  MoveLedger ledger;
  ledger.Intend(RecordOf("web-1", "n1", "n2"));
  std::string text = ledger.Text();
  text.replace(text.find("Intended"), 8, "Entended");
  EXPECT_THAT(message(text), HasSubstr("moves[0] is not whole"));
}

TEST(MoveLedgerTest, AReplacementSettlesItsMove) {
  MoveLedger ledger = LedgerOf(RecordOf("web-1", "n1", "n2"));
  // The old one is still ending.
  EXPECT_THAT(ledger.Observe(Pods({RunningPod("web", "web-1", "n1").Deleted(kTestNow)}), kTestNow, kPlacementMax),
              IsEmpty());
  EXPECT_THAT(ledger.Observe(Pods({NewPod("web-9", "n2")}, false), kTestNow + kMinute, kPlacementMax), IsEmpty())
      << "it is not ready";
  const auto changes = ledger.Observe(Pods({NewPod("web-9", "n2")}), kTestNow + 2 * kMinute, kPlacementMax);
  ASSERT_THAT(Kinds(changes), ElementsAre(Kind::kAsProved));
  EXPECT_EQ(changes[0].node, "n2");
  EXPECT_EQ(ledger.records()[0].replacement_uid, "uid-of-web-9");
  EXPECT_THAT(ledger.Observe(Pods({}), kTestNow + 59 * kMinute, kPlacementMax), IsEmpty());
  EXPECT_EQ(ledger.records().size(), 1u);
  ledger.Observe(Pods({}), kTestNow + 60 * kMinute, kPlacementMax);
  EXPECT_THAT(ledger.records(), IsEmpty()) << "it is forgotten after an hour";
}

TEST(MoveLedgerTest, OldPodsAreNoReplacements) {
  MoveRecord record = RecordOf("web-1", "n1", "n2");
  const auto old = RunningPod("web", "web-2", "n2").Created(kTestNow - 2 * kMinute);
  const auto same_second = RunningPod("web", "web-2", "n2").Created(record.newest);
  MoveLedger by_time = LedgerOf(record);
  EXPECT_THAT(by_time.Observe(Pods({old}), kTestNow, kPlacementMax), IsEmpty());
  EXPECT_THAT(by_time.Observe(Pods({same_second}), kTestNow, kPlacementMax), IsEmpty());
  // Known by name: the clock of who created it does not matter.
  record.siblings = std::make_shared<const std::set<std::string>>(std::set<std::string>{"uid-of-web-3"});
  MoveLedger by_uid = LedgerOf(record);
  EXPECT_THAT(by_uid.Observe(Pods({NewPod("web-3", "n2")}), kTestNow, kPlacementMax), IsEmpty());
  EXPECT_THAT(Kinds(by_uid.Observe(Pods({old}), kTestNow, kPlacementMax)), ElementsAre(Kind::kAsProved));
}

TEST(MoveLedgerTest, AStatefulSetsPodComesUnderTheSameName) {
  MoveRecord record = RecordOf("web-1", "n1", "n2");
  record.uid = "of-the-old-one";
  MoveLedger ledger = LedgerOf(record);
  const auto fresh = RunningPod("web", "web-1", "n2").Created(record.newest);
  EXPECT_THAT(Kinds(ledger.Observe(Pods({fresh}), kTestNow, kPlacementMax)), ElementsAre(Kind::kAsProved));
}

TEST(MoveLedgerTest, EachMoveHasAReplacementOfItsOwn) {
  MoveLedger ledger;
  for (const auto& record : {RecordOf("web-1", "n1", "n2"), RecordOf("web-2", "n1", "n3")}) {
    ledger.Intend(record);
    ledger.SetEvicted(record.uid);
  }
  const auto one = ledger.Observe(Pods({NewPod("web-8", "n3")}), kTestNow, kPlacementMax);
  ASSERT_THAT(Kinds(one), ElementsAre(Kind::kElsewhere)) << "which of the two it replaces, nobody can tell";
  const auto other = ledger.Observe(Pods({NewPod("web-8", "n3"), NewPod("web-9", "n3")}), kTestNow, kPlacementMax);
  ASSERT_THAT(Kinds(other), ElementsAre(Kind::kAsProved));
  EXPECT_EQ(other[0].record.replacement_uid, "uid-of-web-9");
}

TEST(MoveLedgerTest, ANodeThatWasAsGoodIsAsProved) {
  MoveRecord record = RecordOf("web-1", "n1", "n9");
  EXPECT_THAT(Kinds(LedgerOf(record).Observe(Pods({NewPod("web-9", "n2")}), kTestNow, kPlacementMax)),
              ElementsAre(Kind::kElsewhere));
  record.ties = {"n2"};
  EXPECT_THAT(Kinds(LedgerOf(record).Observe(Pods({NewPod("web-9", "n2")}), kTestNow, kPlacementMax)),
              ElementsAre(Kind::kAsProved));
  record.ties = {"n8"};
  record.has_more_ties = true;
  EXPECT_THAT(Kinds(LedgerOf(record).Observe(Pods({NewPod("web-9", "n2")}), kTestNow, kPlacementMax)),
              ElementsAre(Kind::kAsProved));
  EXPECT_THAT(Kinds(LedgerOf(record).Observe(Pods({NewPod("web-9", "n1")}), kTestNow, kPlacementMax)),
              ElementsAre(Kind::kElsewhere));
  const auto again = MoveLedger::Parse(LedgerOf(record).Text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->records()[0].ties, record.ties);
  EXPECT_TRUE(again->records()[0].has_more_ties);
}

TEST(MoveLedgerTest, ATemplateMayHaveChangedMeanwhile) {
  MoveLedger ledger = LedgerOf(RecordOf("web-1", "n1", "n2"));
  const auto fresh = testing::MakePod("web-9")
                         .Label("app", "web")
                         .Label("pod-template-hash", "77f")
                         .Controller("apps/v1", "ReplicaSet", "web-77f")
                         .Node("n3")
                         .Created(kTestNow);
  EXPECT_THAT(Kinds(ledger.Observe(Pods({fresh}), kTestNow, kPlacementMax)), ElementsAre(Kind::kElsewhere));
}

TEST(MoveLedgerTest, WhatDoesNotComeInTimeIsNotPlaced) {
  MoveLedger ledger = LedgerOf(RecordOf("web-1", "n1", "n2"));
  EXPECT_THAT(ledger.Observe(Pods({}), kTestNow + kPlacementMax - kMinute, kPlacementMax), IsEmpty());
  EXPECT_THAT(Kinds(ledger.Observe(Pods({NewPod("web-9", "")}), kTestNow + kPlacementMax, kPlacementMax)),
              ElementsAre(Kind::kNotPlaced));
  EXPECT_EQ(ledger.records()[0].state, State::kNotPlaced);
  EXPECT_THAT(ledger.Observe(Pods({NewPod("web-9", "")}), kTestNow + 2 * kPlacementMax, kPlacementMax), IsEmpty())
      << "it is told once";
  EXPECT_THAT(Kinds(ledger.Observe(Pods({NewPod("web-9", "n2")}), kTestNow + 3 * kPlacementMax, kPlacementMax)),
              ElementsAre(Kind::kAsProved));
}

TEST(MoveLedgerTest, FindsOutWhatHadNoAnswer) {
  MoveLedger ledger;
  ledger.Intend(RecordOf("web-1", "n1", "n2"));
  ledger.Intend(RecordOf("web-2", "n1", "n3"));
  const auto changes =
      ledger.Observe(Pods({RunningPod("web", "web-2", "n1").Created(kTestNow - 2 * kMinute)}), kTestNow, kPlacementMax);
  EXPECT_THAT(Kinds(changes), ElementsAre(Kind::kNotEvicted, Kind::kFoundEvicted));
  ASSERT_EQ(ledger.records().size(), 1u);
  EXPECT_EQ(ledger.records()[0].key, "default/web-1");
  EXPECT_EQ(ledger.records()[0].state, State::kEvicted);
}

TEST(MoveLedgerTest, AFinishedPodHasNoReplacement) {
  MoveLedger ledger = LedgerOf(RecordOf("failed", "n1", ""));
  EXPECT_THAT(Kinds(ledger.Observe(Pods({}), kTestNow, kPlacementMax)), ElementsAre(Kind::kGone));
  EXPECT_EQ(ledger.records()[0].state, State::kSettled);
}

}  // namespace
}  // namespace berth::rebalance
