// SPDX-License-Identifier: Apache-2.0
// That the simulator is worth something: equal seeds give equal runs, something happens in them, the ledger sees what
// it is there for. The seeds themselves are run by berth-sim (apps/sim).
#include "berth/proof/program_sim/simulation.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/shrink.h"

namespace berth::program_sim {
namespace {

TEST(ProgramSimulation, TheSeedDecides) {
  log::SetLevel(log::Level::kError);
  Report sum;
  for (const std::uint64_t seed : {1, 2, 4, 5, 7}) {
    const Report one = Simulate(MakePlan(seed));
    EXPECT_EQ(one.violation, "") << "replay with: ./dev sim --trace --seed " << seed;
    EXPECT_EQ(one.hash, Simulate(MakePlan(seed)).hash) << seed;
    sum.bound += one.bound;
    sum.faults += one.faults;
    sum.requests += one.requests;
    sum.lives += one.lives;
  }
  EXPECT_GT(sum.bound, 50);
  EXPECT_GT(sum.faults, 50);
  EXPECT_GT(sum.requests, 300);
  EXPECT_GT(sum.lives, 5);
}

// The first seeds with such plans; what must hold in them is up to berth-sim.
TEST(ProgramSimulation, SomePlansAreOnlySlow) {
  log::SetLevel(log::Level::kError);
  int of_all = 0;
  int of_tenant = 0;
  for (std::uint64_t seed = 1; of_all == 0 || of_tenant == 0; ++seed) {
    ASSERT_LT(seed, 200u);
    const Plan plan = MakePlan(seed);
    bool has_crowd = false;
    bool has_other_fault = false;
    for (const Item& item : plan.items) {
      has_crowd = has_crowd || item.kind == ItemKind::kAddCrowd;
      has_other_fault = has_other_fault || (item.kind >= kFirstFault && item.kind <= kLastStormFault);
      EXPECT_LE(item.until, plan.storm_end);
    }
    if (!has_crowd) continue;
    ++(plan.is_server_slow ? of_all : of_tenant);
    EXPECT_NE(plan.is_server_slow, plan.is_tenant_storm) << seed;
    EXPECT_FALSE(has_other_fault) << seed;
    const Report one = Simulate(plan);
    EXPECT_EQ(one.hash, Simulate(plan).hash) << seed;
    EXPECT_GT(one.faults, 10) << seed;
  }
}

// The first seeds with an election, until each change of leaders has been.
TEST(ProgramSimulation, SomePlansHaveAnElection) {
  log::SetLevel(log::Level::kError);
  std::set<ItemKind> kinds;
  Report sum;
  int plans = 0;
  for (std::uint64_t seed = 1; plans < 4 || kinds.size() < 5; ++seed) {
    ASSERT_LT(seed, 200u);
    const Plan plan = MakePlan(seed);
    for (const Item& item : plan.items) {
      if (item.kind < ItemKind::kBindingHeld) continue;
      EXPECT_TRUE(plan.has_election) << seed;
      kinds.insert(item.kind);
    }
    if (!plan.has_election) continue;
    ++plans;
    const Report one = Simulate(plan);
    EXPECT_EQ(one.violation, "") << "replay with: ./dev sim --trace --seed " << seed;
    EXPECT_EQ(one.hash, Simulate(plan).hash) << seed;
    sum.lives += one.lives;
    sum.leaders += one.leaders;
    sum.bound += one.bound;
  }
  EXPECT_GT(sum.leaders, plans);
  EXPECT_GT(sum.lives, 2 * plans);
  EXPECT_GT(sum.bound, 5 * plans);
}

TEST(ProgramSimulation, SomePlansHaveAGatekeeper) {
  log::SetLevel(log::Level::kError);
  int plans = 0;
  for (std::uint64_t seed = 1; plans < 3; ++seed) {
    ASSERT_LT(seed, 30u);
    Plan plan = MakePlan(seed);
    if (!plan.has_gatekeeper) continue;
    ++plans;
    EXPECT_FALSE(plan.is_tenant_storm || plan.is_server_slow) << seed;
    const Report with = Simulate(plan);
    EXPECT_EQ(with.violation, "") << "replay with: ./dev sim --trace --seed " << seed;
    EXPECT_EQ(with.hash, Simulate(plan).hash) << seed;
    plan.has_gatekeeper = false;
    EXPECT_NE(with.hash, Simulate(plan).hash) << seed << ": the plugin does nothing";
  }
}

TEST(Agenda, WhatIsHeldComesLaterInItsOrder) {
  Agenda agenda;
  const int owner = 0;
  std::vector<std::string> seen;
  const auto put = [&](int at_ms, const void* whose, const std::string& what) {
    return agenda.After(std::chrono::milliseconds(at_ms), whose, [&seen, what] { seen.push_back(what); });
  };
  const auto goes_on = [] { return true; };
  put(1, &owner, "before");
  put(20, &owner, "second");
  put(10, &owner, "first");
  const Agenda::Key cancelled = put(15, &owner, "cancelled");
  put(12, nullptr, "another's");
  agenda.After(std::chrono::milliseconds(5), nullptr, [&] { agenda.Hold(&owner); });
  EXPECT_TRUE(agenda.RunUntil(Agenda::kStart + std::chrono::milliseconds(30), goes_on));
  EXPECT_EQ(seen, (std::vector<std::string>{"before", "another's"}));
  EXPECT_EQ(agenda.CountOf(&owner), 3u);
  agenda.Cancel(cancelled);
  put(0, &owner, "third");
  agenda.LetGo(&owner);
  EXPECT_TRUE(agenda.RunUntil(Agenda::kStart + std::chrono::milliseconds(40), goes_on));
  EXPECT_EQ(seen, (std::vector<std::string>{"before", "another's", "first", "second", "third"}));
  EXPECT_EQ(agenda.Elapsed(), std::chrono::milliseconds(40)) << "time does not go back";
  agenda.Hold(&owner);
  put(0, &owner, "never");
  EXPECT_TRUE(agenda.RunUntil(Agenda::kStart + std::chrono::milliseconds(50), goes_on));
  agenda.Forget(&owner);
  EXPECT_FALSE(agenda.IsHeld(&owner));
  EXPECT_EQ(agenda.CountOf(&owner), 0u);
}

class LedgerTest : public ::testing::Test {
 protected:
  void Node(const std::string& name, int cpu) {
    ledger.TakeLines(R"({"type":"ADDED","object":{"kind":"Node","metadata":{"name":")" + name + R"(","uid":"u-)" +
                     name + R"("},"status":{"allocatable":{"cpu":")" + std::to_string(cpu) +
                     R"(","memory":"8Gi","pods":"10"}}}})");
  }
  void Pod(const std::string& type, const std::string& name, const std::string& node, const std::string& more = "") {
    ledger.TakeLines(R"({"type":")" + type + R"(","object":{"kind":"Pod","metadata":{"name":")" + name +
                     R"(","namespace":"a","uid":"u-)" + name + R"(","labels":{"app":"x"}},"spec":{"nodeName":")" +
                     node +
                     R"(","schedulerName":"berth","containers":[{"resources":{"requests":{"cpu":"2","memory":"1Gi"}})" +
                     more + "}]}}}");
  }
  void Bound(const std::string& name, const std::string& node, const std::string& more = "") {
    Pod("ADDED", name, "", more);
    ledger.SetAuthor({1, agenda.Now(), true});
    Pod("MODIFIED", name, node, more);
    ledger.SetAuthor({});
  }

  Agenda agenda;
  std::vector<std::string> violations;
  Ledger ledger{agenda, [this](std::string_view check, const std::string&) { violations.emplace_back(check); }};
};

TEST_F(LedgerTest, SeesThatANodeIsFull) {
  Node("n", 4);
  Bound("p", "n");
  Bound("q", "n");
  EXPECT_TRUE(violations.empty());
  EXPECT_FALSE(ledger.Fits(ledger.pods().at("a/p"), ledger.nodes().at("n"), false));
  Bound("r", "n");
  EXPECT_EQ(violations, std::vector<std::string>{"over capacity"});
}

TEST_F(LedgerTest, WhoIsNominatedForTheNodeTakesItsRoom) {
  Node("n", 4);
  Bound("p", "n");
  Pod("ADDED", "q", "");
  Pod("ADDED", "r", "");
  EXPECT_EQ(ledger.FittingNode(ledger.pods().at("a/q"), false), "n");
  ledger.TakeLines(
      R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"r","namespace":"a","uid":"u-r"},)"
      R"("spec":{"containers":[{"resources":{"requests":{"cpu":"2"}}}]},"status":{"nominatedNodeName":"n"}}})");
  EXPECT_EQ(ledger.FittingNode(ledger.pods().at("a/q"), false), "");
  EXPECT_EQ(ledger.FittingNode(ledger.pods().at("a/r"), false), "n");
  EXPECT_TRUE(violations.empty());
}

TEST_F(LedgerTest, ExcusesWhatTheSchedulerCannotKnow) {
  Node("n", 4);
  Pod("ADDED", "stranger", "n");  // an outsider's
  Bound("p", "n");
  Bound("q", "n");
  EXPECT_TRUE(violations.empty());
  EXPECT_NE(ledger.nodes().at("n").excuse, "");
}

TEST_F(LedgerTest, SeesPortsMovesAndEventsOfNothing) {
  const std::string port = R"(,"ports":[{"containerPort":80,"hostPort":8080}])";
  Node("n", 8);
  Node("m", 8);
  Bound("p", "n", port);
  Bound("q", "n", port);
  EXPECT_EQ(violations, std::vector<std::string>{"host port"});
  Pod("MODIFIED", "p", "m", port);
  EXPECT_EQ(violations.back(), "bound twice");
  Pod("ADDED", "waits", "");
  const std::string event = R"({"type":"ADDED","object":{"kind":"Event","reason":"Scheduled","metadata":{"name":")";
  ledger.TakeLines(event + R"(waits.1","namespace":"a"},"involvedObject":{"uid":"u-waits"}}})");
  EXPECT_EQ(violations.back(), "announced");
  ledger.TakeLines(event + R"(p.1","namespace":"a"},"involvedObject":{"uid":"u-p"}}})");
  EXPECT_EQ(violations.size(), 3u);
  ledger.TakeLines(event + R"(p.2","namespace":"a"},"involvedObject":{"uid":"u-p"}}})");
  EXPECT_EQ(violations.back(), "events once");
}

TEST_F(LedgerTest, SeesAnEvictionThatNothingAnnounces) {
  const auto evict = [this](const std::string& name, const std::string& reason) {
    Bound(name, "n");
    ledger.SetAuthor({1, agenda.Now(), true});
    ledger.TakeLines(R"({"type":"DELETED","object":{"kind":"Pod","metadata":{"name":")" + name +
                     R"(","namespace":"a","uid":"u-)" + name +
                     R"("},"spec":{"nodeName":"n"},"status":{"conditions":[{"type":"DisruptionTarget","reason":")" +
                     reason + R"("}]}}})");
    ledger.SetAuthor({});
  };
  ledger.ExpectReasons();
  Node("n", 8);
  evict("p", "PreemptionByScheduler");
  EXPECT_TRUE(violations.empty());
  evict("q", "DeletionByTaintManager");
  EXPECT_EQ(violations, std::vector<std::string>{"evicted"});
}

class ElectionLedgerTest : public LedgerTest {
 protected:
  ElectionLedgerTest() {
    ledger.ExpectElection();
    Node("n", 4);
  }
  void Lease(Life life, const std::string& holder, Time sent_at) {
    ledger.SetAuthor({life, sent_at, true});
    ledger.TakeLines(R"({"type":"MODIFIED","object":{"kind":"Lease","spec":{"holderIdentity":")" + holder +
                     R"(","leaseDurationSeconds":10}}})");
    ledger.SetAuthor({});
  }
  void BoundBy(Life life, const std::string& name) {
    Pod("ADDED", name, "");
    ledger.SetAuthor({life, agenda.Now(), ledger.IsWithinTerm(life)});
    Pod("MODIFIED", name, "n");
    ledger.SetAuthor({});
  }
  void Pass(int time_s) {
    EXPECT_TRUE(agenda.RunUntil(agenda.Now() + std::chrono::seconds(time_s), [] { return true; }));
  }
};

TEST_F(ElectionLedgerTest, KnowsForHowLongALeaseIsGood) {
  EXPECT_FALSE(ledger.MayWrite(1));
  EXPECT_FALSE(ledger.IsWithinTerm(1));
  const Time sent_at = agenda.Now();
  Pass(1);
  Lease(1, "one", sent_at);
  Pass(7);
  EXPECT_TRUE(ledger.MayWrite(1));
  Pass(1);
  EXPECT_FALSE(ledger.MayWrite(1)) << "nine tenths after it was sent";
  Pass(2);
  EXPECT_TRUE(ledger.IsWithinTerm(1)) << "all of it after it was stored";
  Pass(1);
  EXPECT_FALSE(ledger.IsWithinTerm(1));
  EXPECT_TRUE(violations.empty());
}

TEST_F(ElectionLedgerTest, SeesTwoLeaders) {
  Lease(1, "one", agenda.Now());
  Pass(8);
  Lease(2, "two", agenda.Now());
  EXPECT_EQ(violations, std::vector<std::string>{"two leaders"});
  Pass(11);
  Lease(3, "three", agenda.Now());
  Lease(3, "", agenda.Now());
  Lease(4, "four", agenda.Now());
  EXPECT_EQ(violations.size(), 1u) << "after a lease that has run out, or was given back";
  Lease(3, "three", agenda.Now());
  EXPECT_EQ(violations.size(), 3u);
}

TEST_F(ElectionLedgerTest, ExcusesOnlyABindingThatTakesLongerThanTheLease) {
  Lease(1, "one", agenda.Now());
  BoundBy(1, "p");
  BoundBy(1, "q");
  Pass(10);
  BoundBy(1, "r");
  EXPECT_EQ(violations, std::vector<std::string>{"over capacity"});
  Pass(1);
  BoundBy(1, "s");
  EXPECT_EQ(violations.size(), 1u);
  EXPECT_NE(ledger.nodes().at("n").excuse, "");
}

TEST_F(ElectionLedgerTest, SeesABindingAfterTheLeaseWasGivenBack) {
  Lease(1, "one", agenda.Now());
  BoundBy(1, "p");
  Lease(1, "", agenda.Now());
  EXPECT_TRUE(violations.empty());
  BoundBy(1, "q");
  EXPECT_EQ(violations, std::vector<std::string>{"given back"});
}

TEST_F(LedgerTest, SeesBlameWhereNobodyIsToBlame) {
  const auto tell = [this](const std::string& message) {
    ledger.TakeLines(R"({"type":"ADDED","object":{"kind":"Event","reason":"FailedScheduling","message":")" + message +
                     R"(","metadata":{"name":"p.1","namespace":"a"},"involvedObject":{"uid":"u-p"}}})");
  };
  tell("bindings are not answered in time: not sent");
  EXPECT_TRUE(violations.empty());
  ledger.ForbidBlame();
  tell("0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_TRUE(violations.empty());
  tell("bindings are not answered in time: not sent");
  EXPECT_EQ(violations, std::vector<std::string>{"slow for all"});
  tell("not answered in time (by an admission webhook?)");
  EXPECT_EQ(violations.size(), 2u);
}

TEST(Shrink, LeavesWhatFails) {
  Plan plan;
  for (int i = 0; i < 40; ++i)
    plan.items.push_back({ItemKind::kAddPods, Duration(i), {}, static_cast<std::uint64_t>(i)});
  const auto fails = [](const Plan& smaller) {
    int wanted = 0;
    for (const Item& item : smaller.items) wanted += item.dice == 7 || item.dice == 31 ? 1 : 0;
    return wanted == 2;
  };
  EXPECT_EQ(Shrink(plan, fails, 400), (std::vector<std::size_t>{7, 31}));
  EXPECT_EQ(ParsePositions("7,31"), (std::vector<std::size_t>{7, 31}));
  EXPECT_EQ(PositionsText({7, 31}), "7,31");
  EXPECT_TRUE(ParsePositions("7;31").empty());
}

}  // namespace
}  // namespace berth::program_sim
