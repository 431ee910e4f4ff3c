// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/leader_elector.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using codec::json::object;
using codec::json::value;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

// One Lease, stored as an API server does it. Answers at once.
class LeaseServer {
 public:
  explicit LeaseServer(const FakeLoop& loop) : loop_(loop) {
    transport.on_send = [this](FakeTransport::Call& call) { Answer(call); };
  }

  bool exists() const { return lease_.has_value(); }
  object& lease() { return *lease_; }
  object& spec() { return lease_->at("spec").as_object(); }
  std::string holder() { return spec().at("holderIdentity").as_string().c_str(); }
  // Edits the Lease as a person does with kubectl.
  void Edit(std::string_view key, value to) {
    spec()[key] = std::move(to);
    Store(*lease_);
  }
  void Delete() { lease_.reset(); }

  FakeTransport transport;
  std::string refused;              // a method that is answered with 503; "*": all
  std::string unanswered;           // a method that is done, but whose answer is lost
  bool is_silent = false;           // requests wait for ever
  std::optional<std::string> body;  // of answers to GET, instead of the Lease
  std::vector<object> events;
  std::vector<std::pair<Time, std::string>> requests;  // of Leases: "PUT"

 private:
  void Answer(FakeTransport::Call& call) {
    const net::Request& request = call.request;
    EXPECT_EQ(request.fence, nullptr) << "renewals must not be stopped by what they open";
    if (is_silent) return;
    if (refused == "*" || refused == request.method) {
      return call.Answer(503, R"({"kind":"Status","message":"not now"})");
    }
    if (request.target == "/api/v1/namespaces/kube-system/events") {
      events.push_back(codec::ParseJson(request.body)->as_object());
      return call.Answer(201, "{}");
    }
    requests.emplace_back(loop_.Now(), request.method);
    if (request.method == "POST") {
      EXPECT_EQ(request.target, kLeases);
      if (lease_) return call.Answer(409, R"({"kind":"Status","reason":"AlreadyExists","message":"exists"})");
      Store(codec::ParseJson(request.body)->as_object());
      return Stored(call, 201);
    }
    EXPECT_EQ(request.target, std::string(kLeases) + "/kube-scheduler");
    if (!lease_) return call.Answer(404, R"({"kind":"Status","reason":"NotFound","message":"not found"})");
    if (request.method == "GET") return call.Answer(200, body ? *body : codec::WriteJson(*lease_));
    object sent = codec::ParseJson(request.body)->as_object();
    if (sent.at("metadata").at("resourceVersion") != lease_->at("metadata").at("resourceVersion")) {
      return call.Answer(409, R"({"kind":"Status","reason":"Conflict","message":"has been modified"})");
    }
    Store(std::move(sent));
    Stored(call, 200);
  }
  void Stored(FakeTransport::Call& call, int status) {
    if (unanswered == call.request.method) return call.Fail(ErrorCode::kUnavailable, true);
    call.Answer(status, codec::WriteJson(*lease_));
  }
  void Store(object lease) {
    lease["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    lease["metadata"].as_object()["uid"] = "u";
    lease_ = std::move(lease);
  }

  const FakeLoop& loop_;
  std::optional<object> lease_;
  int version_ = 100;
};

// A process that wants to lead.
struct Candidate {
  Candidate(FakeLoop& loop, LeaseServer& server, std::string name, LeaderElectorOptions options = {})
      : rest(loop, server.transport, nullptr, 1), fence(std::make_shared<net::WriteFence>(loop)) {
    options.identity = std::move(name);
    EXPECT_TRUE(options.Check().ok());
    elector = std::make_unique<LeaderElector>(
        rest, fence, options,
        LeaderElector::Callbacks{.on_started_leading = [this, &loop] { started_at.push_back(loop.Now()); },
                                 .on_lost =
                                     [this, &loop](const std::string& why) {
                                       lost_at = loop.Now();
                                       lost_why = why;
                                     }});
    elector->Start();
    loop.Run();
  }
  bool Leads() const { return elector->IsLeader() && fence->IsOpen(); }

  RestClient rest;
  std::shared_ptr<net::WriteFence> fence;
  std::vector<Time> started_at;
  std::optional<Time> lost_at;
  std::string lost_why;
  std::unique_ptr<LeaderElector> elector;
};

class LeaderElectorTest : public ::testing::Test {
 protected:
  void MakeHeld(std::string_view holder, int seconds_long = 15, int transitions = 4) {
    Candidate maker(loop, server, "maker");
    server.Edit("holderIdentity", value(holder));
    server.Edit("leaseDurationSeconds", seconds_long);
    server.Edit("leaseTransitions", transitions);
    server.events.clear();
    server.requests.clear();
  }

  FakeLoop loop;
  LeaseServer server{loop};
};

TEST_F(LeaderElectorTest, MakesTheLeaseAndLeadsAtOnce) {
  Candidate a(loop, server, "host-a_1");
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(a.started_at.size(), 1U);
  EXPECT_EQ(server.holder(), "host-a_1");
  EXPECT_EQ(server.spec().at("leaseDurationSeconds"), 15);
  EXPECT_EQ(server.spec().at("leaseTransitions"), 0);
  EXPECT_EQ(server.spec().at("acquireTime").as_string(), FormatRfc3339Micro(loop.WallNow()));
  EXPECT_EQ(server.spec().at("renewTime").as_string(), FormatRfc3339Micro(loop.WallNow()));
  EXPECT_EQ(server.spec().size(), 5U);
  ASSERT_EQ(server.events.size(), 1U);
  const object& event = server.events.front();
  EXPECT_EQ(event.at("apiVersion"), "v1");
  EXPECT_EQ(event.at("reason"), "LeaderElection");
  EXPECT_EQ(event.at("message"), "host-a_1 became leader");
  EXPECT_EQ(event.at("source").at("component"), "default-scheduler");
  EXPECT_EQ(event.at("involvedObject").at("kind"), "Lease");
  EXPECT_EQ(event.at("involvedObject").at("uid"), "u");
}

TEST_F(LeaderElectorTest, RenewsEveryRetryPeriodInOneRequest) {
  Candidate a(loop, server, "a");
  const value acquired = server.spec().at("acquireTime");
  server.requests.clear();
  loop.Advance(seconds(60));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.requests.size(), 30U);
  for (const auto& [at, method] : server.requests) EXPECT_EQ(method, "PUT");
  EXPECT_EQ(server.spec().at("acquireTime"), acquired);
  EXPECT_NE(server.spec().at("renewTime"), acquired);
  EXPECT_EQ(server.spec().at("leaseTransitions"), 0);
  EXPECT_EQ(a.elector->slow_path_count(), 0U);
  EXPECT_TRUE(a.elector->IsHealthy(seconds(0)));
}

TEST_F(LeaderElectorTest, KeepsWhatOthersWrote) {
  Candidate a(loop, server, "a");
  server.lease()["metadata"].as_object()["labels"] = object{{"team", "x"}};
  server.Edit("strategy", "OldestEmulationVersion");
  loop.Advance(seconds(10));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.lease().at("metadata").at("labels").at("team"), "x");
  EXPECT_EQ(server.spec().at("strategy"), "OldestEmulationVersion");
  EXPECT_EQ(a.elector->slow_path_count(), 1U);  // the first write met a conflict
}

TEST_F(LeaderElectorTest, StandsByWhileAnotherHoldsItAndTakesOverByItsOwnClock) {
  MakeHeld("kube-scheduler_1");
  // The holder's clock is wrong by hours, which does not matter.
  server.Edit("renewTime", value(FormatRfc3339Micro(loop.WallNow() - hours(5))));
  const Time begin = loop.Now();
  Candidate a(loop, server, "a");
  EXPECT_FALSE(a.Leads());
  loop.Advance(seconds(5));
  server.Edit("renewTime", value(FormatRfc3339Micro(loop.WallNow() + hours(5))));  // the holder is alive
  loop.Advance(seconds(14));
  EXPECT_FALSE(a.elector->IsLeader());
  loop.Advance(seconds(4));
  ASSERT_TRUE(a.Leads());
  // It leads no earlier than a lease duration after the renewal, and no later than a retry period after that.
  EXPECT_GE(a.started_at.front(), begin + seconds(5 + 15));
  EXPECT_LE(a.started_at.front(), begin + seconds(5 + 15 + 2));
  EXPECT_EQ(server.spec().at("leaseTransitions"), 5);
  EXPECT_EQ(server.holder(), "a");
}

TEST_F(LeaderElectorTest, ARecordThatChangesInAnotherFieldIsNoRenewal) {
  MakeHeld("x");
  Candidate a(loop, server, "a");
  for (int i = 0; i < 15; ++i) {
    loop.Advance(seconds(1));
    if (i < 14) {
      server.lease()["metadata"].as_object()["labels"] = object{{"n", std::to_string(i)}};
      server.Edit("holderIdentity", "x");  // another resourceVersion
    }
  }
  loop.Advance(seconds(1));
  EXPECT_TRUE(a.Leads());
}

TEST_F(LeaderElectorTest, StepsOfTheClockDoNotMatter) {
  Candidate a(loop, server, "a");
  Candidate b(loop, server, "b");
  for (const auto step : {hours(1), hours(-2), hours(1000)}) {
    loop.StepWall(step);
    loop.Advance(seconds(40));
    EXPECT_TRUE(a.Leads());
    EXPECT_FALSE(b.elector->IsLeader());
  }
}

TEST_F(LeaderElectorTest, LooksWithinARetryPeriodAndNeverInStep) {
  MakeHeld("x", 1'000'000);
  Candidate a(loop, server, "a");
  loop.Advance(seconds(600));
  std::set<Duration> gaps;
  for (std::size_t i = 1; i < server.requests.size(); ++i) {
    const Duration gap = server.requests[i].first - server.requests[i - 1].first;
    EXPECT_GE(gap, milliseconds(909));  // 2 s / 2.2
    EXPECT_LE(gap, seconds(2));
    gaps.insert(gap);
  }
  EXPECT_GT(gaps.size(), 300U);
}

TEST_F(LeaderElectorTest, ErrorsAreTriedAgainWithClientGosJitter) {
  std::vector<Time> tries;
  server.transport.on_send = [&](FakeTransport::Call& call) {
    tries.push_back(loop.Now());
    call.Answer(503, "");
  };
  Candidate a(loop, server, "a");
  loop.Advance(seconds(600));
  EXPECT_FALSE(a.elector->IsLeader());
  EXPECT_TRUE(a.started_at.empty());
  EXPECT_FALSE(a.fence->IsOpen());
  ASSERT_GT(tries.size(), 100U);
  Duration least = hours(1);
  Duration most{0};
  for (std::size_t i = 1; i < tries.size(); ++i) {
    least = std::min(least, tries[i] - tries[i - 1]);
    most = std::max(most, tries[i] - tries[i - 1]);
  }
  EXPECT_GE(least, seconds(2));
  EXPECT_LT(least, milliseconds(2200));
  EXPECT_LE(most, milliseconds(4400));
  EXPECT_GT(most, milliseconds(4200));
}

TEST_F(LeaderElectorTest, RenewalsThatFailEndInALoss) {
  Candidate a(loop, server, "a");
  loop.Advance(seconds(20));
  const Time renewed = server.requests.back().first;
  server.refused = "*";
  loop.Advance(seconds(11));
  EXPECT_TRUE(a.Leads());
  loop.Advance(seconds(2));
  ASSERT_TRUE(a.lost_at.has_value());
  EXPECT_EQ(*a.lost_at, renewed + seconds(2 + 10));  // the renew deadline counts from the first renewal that fails
  EXPECT_FALSE(a.elector->IsLeader());
  EXPECT_FALSE(a.fence->IsOpen());
  server.refused.clear();
  loop.Advance(seconds(60));
  EXPECT_FALSE(a.fence->IsOpen());  // for good
  EXPECT_EQ(a.started_at.size(), 1U);
}

TEST_F(LeaderElectorTest, AnApiServerThatHangsEndsInALossToo) {
  Candidate a(loop, server, "a");
  server.is_silent = true;
  loop.Advance(seconds(13));
  EXPECT_TRUE(a.lost_at.has_value());
}

TEST_F(LeaderElectorTest, TheFenceClosesBeforeTheLeaseEndsWhateverTheRenewDeadline) {
  Candidate a(loop, server, "a", {.renew_deadline = milliseconds(14'900)});
  const Time renewed = loop.Now();
  server.refused = "*";
  while (!a.lost_at && loop.Now() < renewed + seconds(60)) {
    loop.Advance(milliseconds(100));
    if (loop.Now() >= renewed + milliseconds(13'500)) {
      EXPECT_FALSE(a.fence->IsOpen());
    }
  }
  EXPECT_EQ(*a.lost_at, renewed + milliseconds(13'500));
}

TEST_F(LeaderElectorTest, TheLeaseCountsFromTheSendingOfItsRenewal) {
  Candidate a(loop, server, "a", {.lease_duration = milliseconds(10'900), .renew_deadline = seconds(8)});
  // Others see 10 s. Here each answer comes 4 s late.
  std::shared_ptr<FakeTransport::Call> late;
  const auto answer = server.transport.on_send;
  server.transport.on_send = [](FakeTransport::Call&) {};
  loop.Advance(seconds(2));
  const Time sent = loop.Now();
  late = server.transport.Next();
  while (late->request.method != "PUT") late = server.transport.Next();
  loop.Advance(seconds(3));
  answer(*late);
  loop.Run();
  EXPECT_TRUE(a.Leads());
  loop.Advance(sent + seconds(9) - loop.Now() - milliseconds(1));
  EXPECT_TRUE(a.fence->IsOpen());
  loop.Advance(milliseconds(1));
  EXPECT_FALSE(a.fence->IsOpen());
}

TEST_F(LeaderElectorTest, OneThatWasFrozenHasLost) {
  // The fence's clock has counted while nothing ran, the loop's has not.
  struct Ahead final : Clock {
    explicit Ahead(const Clock& c) : clock(c) {}
    Time Now() const override { return clock.Now() + by; }
    const Clock& clock;
    Duration by{0};
  };
  Ahead clock(loop);
  RestClient rest(loop, server.transport, nullptr, 1);
  const auto fence = std::make_shared<net::WriteFence>(clock);
  std::string why;
  LeaderElector elector(rest, fence, {.identity = "sleeper"},
                        {.on_started_leading = [] {}, .on_lost = [&why](const std::string& w) { why = w; }});
  elector.Start();
  loop.Run();
  ASSERT_TRUE(fence->IsOpen());
  clock.by = seconds(20);
  EXPECT_FALSE(fence->IsOpen());
  server.requests.clear();
  loop.Advance(seconds(2));
  EXPECT_EQ(why, "it was not renewed in time");
  EXPECT_TRUE(server.requests.empty());
}

TEST_F(LeaderElectorTest, ALostAnswerIsSettledByReading) {
  server.unanswered = "POST";
  Candidate a(loop, server, "a");
  EXPECT_FALSE(a.Leads());
  EXPECT_EQ(server.holder(), "a");
  const value acquired = server.spec().at("acquireTime");
  loop.Advance(seconds(5));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.spec().at("leaseTransitions"), 0);
  EXPECT_EQ(server.spec().at("acquireTime"), acquired);
  server.unanswered = "PUT";
  loop.Advance(seconds(3));
  server.unanswered.clear();
  loop.Advance(seconds(30));
  EXPECT_TRUE(a.Leads());
  EXPECT_FALSE(a.lost_at.has_value());
}

TEST_F(LeaderElectorTest, AnotherNameInTheLeaseIsALossAtOnce) {
  Candidate a(loop, server, "a");
  loop.Advance(seconds(9));
  server.Edit("holderIdentity", "stranger");
  loop.Advance(seconds(2));
  ASSERT_TRUE(a.lost_at.has_value());
  EXPECT_EQ(a.lost_why, "stranger holds it");
  EXPECT_FALSE(a.fence->IsOpen());
  EXPECT_EQ(server.holder(), "stranger");
}

TEST_F(LeaderElectorTest, ALeaseThatIsDeletedIsRecreatedByItsHolder) {
  Candidate a(loop, server, "a");
  Candidate b(loop, server, "b");
  loop.Advance(seconds(9));
  server.Delete();
  loop.Advance(seconds(30));
  EXPECT_TRUE(a.Leads());
  EXPECT_FALSE(b.elector->IsLeader());
  EXPECT_EQ(server.holder(), "a");
  EXPECT_EQ(a.started_at.size(), 1U);
}

TEST_F(LeaderElectorTest, ADeletedLeaseWhoseHolderIsGoneIsMadeWhenItsTimeIsOver) {
  MakeHeld("x");
  const Time begin = loop.Now();
  Candidate b(loop, server, "b");
  server.Delete();
  loop.Advance(seconds(14));
  EXPECT_FALSE(server.exists());
  loop.Advance(seconds(3));
  ASSERT_TRUE(b.Leads());
  EXPECT_LE(b.started_at.front(), begin + seconds(17));
}

TEST_F(LeaderElectorTest, AnEmptyHolderIsFree) {
  MakeHeld("", 1'000'000);
  Candidate b(loop, server, "b");
  EXPECT_TRUE(b.Leads());
  EXPECT_EQ(server.spec().at("leaseTransitions"), 5);
}

TEST_F(LeaderElectorTest, AHolderThatIsEmptiedByHandTakesItAgainUnlessSomebodyHadIt) {
  Candidate a(loop, server, "a");
  server.Edit("holderIdentity", "");
  loop.Advance(seconds(3));
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.holder(), "a");
  EXPECT_EQ(server.spec().at("leaseTransitions"), 1);
  server.Edit("holderIdentity", "");
  server.Edit("leaseTransitions", 2);
  loop.Advance(seconds(3));
  EXPECT_TRUE(a.lost_at.has_value());
}

TEST_F(LeaderElectorTest, ALeaseThatCannotBeReadIsTriedAgain) {
  for (const char* body :
       {"", "[]", "{}", R"({"kind":"Lease"})", R"({"kind":"Lease","metadata":{}})",
        R"({"kind":"Pod","metadata":{"resourceVersion":"1"}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":7})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":7}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"leaseDurationSeconds":-1}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"leaseTransitions":2147483648}})"}) {
    MakeHeld("");
    server.body = body;
    Candidate b(loop, server, "b");
    loop.Advance(seconds(20));
    EXPECT_FALSE(b.elector->IsLeader()) << body;
    server.body.reset();
    loop.Advance(seconds(5));
    EXPECT_TRUE(b.Leads()) << body;
    server.Delete();
  }
}

TEST_F(LeaderElectorTest, TwoThatMeetAtAFreeLeaseDoNotBothLead) {
  MakeHeld("");
  server.is_silent = true;
  Candidate a(loop, server, "a");
  Candidate b(loop, server, "b");
  server.is_silent = false;
  // Both have read it; both write.
  const auto answer = server.transport.on_send;
  const auto first = server.transport.Next();
  const auto second = server.transport.Next();
  server.transport.on_send = [](FakeTransport::Call&) {};
  answer(*first);
  answer(*second);
  loop.Run();
  const auto third = server.transport.Next();
  const auto fourth = server.transport.Next();
  server.transport.on_send = answer;
  answer(*third);
  answer(*fourth);
  loop.Run();
  EXPECT_NE(a.Leads(), b.Leads());
  loop.Advance(seconds(60));
  EXPECT_NE(a.Leads(), b.Leads());
}

TEST_F(LeaderElectorTest, ReleaseGivesItBackAndTheNextOneTakesItAtOnce) {
  Candidate a(loop, server, "a");
  Candidate b(loop, server, "b");
  loop.Advance(seconds(5));
  const Time begin = loop.Now();
  std::optional<bool> was_leader;
  a.elector->Release([&](bool led) { was_leader = led; });
  EXPECT_FALSE(a.fence->IsOpen());
  loop.Run();
  EXPECT_EQ(was_leader, true);
  EXPECT_FALSE(a.lost_at.has_value());
  EXPECT_EQ(server.holder(), "");
  EXPECT_EQ(server.spec().at("leaseDurationSeconds"), 1);
  EXPECT_EQ(server.events.back().at("message"), "a stopped leading");
  loop.Advance(seconds(2));
  ASSERT_TRUE(b.Leads());
  EXPECT_LE(b.started_at.front(), begin + seconds(2));
  EXPECT_EQ(server.spec().at("leaseTransitions"), 1);
  loop.Advance(seconds(60));
  EXPECT_FALSE(a.fence->IsOpen());
}

TEST_F(LeaderElectorTest, ALeaseThatIsLeftToRunOutIsNobodysUntilThen) {
  Candidate a(loop, server, "a");
  Candidate b(loop, server, "b");
  loop.Advance(seconds(5));
  std::optional<bool> was_leader;
  a.elector->LeaveToRunOut([&](bool led) { was_leader = led; });
  loop.Run();
  EXPECT_EQ(was_leader, true);
  EXPECT_FALSE(a.fence->IsOpen());
  EXPECT_FALSE(a.elector->IsLeader());
  EXPECT_FALSE(a.lost_at.has_value());
  EXPECT_EQ(server.holder(), "a");
  loop.Advance(seconds(12));  // The last renewal was a retry period ago at most.
  EXPECT_FALSE(b.Leads());
  EXPECT_EQ(server.holder(), "a") << "it is not renewed any more, nor given back";
  loop.Advance(seconds(6));
  EXPECT_TRUE(b.Leads());
}

TEST_F(LeaderElectorTest, AReleaseThatIsNotAnsweredEnds) {
  Candidate a(loop, server, "a");
  server.is_silent = true;
  std::optional<bool> was_leader;
  a.elector->Release([&](bool led) { was_leader = led; });
  loop.Advance(LeaderElector::kReleaseMax);
  EXPECT_EQ(was_leader, true);
}

TEST_F(LeaderElectorTest, AReleaseMeetsARenewalThatWasUnderWay) {
  Candidate a(loop, server, "a");
  const auto answer = server.transport.on_send;
  server.transport.on_send = [](FakeTransport::Call&) {};
  loop.Advance(seconds(2));
  auto renewal = server.transport.Next();
  while (renewal->done == nullptr || renewal->request.method != "PUT") renewal = server.transport.Next();
  // The server gets it between the read and the write of the release.
  server.transport.on_send = [&](FakeTransport::Call& call) {
    if (call.request.method == "PUT" && renewal) {
      const auto before = std::exchange(renewal, nullptr);
      answer(*before);
    }
    answer(call);
  };
  bool is_done = false;
  a.elector->Release([&](bool) { is_done = true; });
  loop.Run();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(server.holder(), "");
}

TEST_F(LeaderElectorTest, AStandbyLeavesTheLeaseAlone) {
  MakeHeld("x");
  Candidate b(loop, server, "b");
  std::optional<bool> leads;
  b.elector->Withdraw([&](bool is_leader) { leads = is_leader; });
  loop.Run();
  EXPECT_EQ(leads, false);
  server.requests.clear();
  loop.Advance(seconds(60));
  EXPECT_TRUE(server.requests.empty());
  EXPECT_EQ(server.holder(), "x");
}

TEST_F(LeaderElectorTest, ALeaderDoesNotWithdraw) {
  Candidate a(loop, server, "a");
  std::optional<bool> leads;
  a.elector->Withdraw([&](bool is_leader) { leads = is_leader; });
  loop.Advance(seconds(30));
  EXPECT_EQ(leads, true);
  EXPECT_TRUE(a.Leads());
}

TEST_F(LeaderElectorTest, AnElectorThatHasGoneIsNotCalled) {
  auto a = std::make_unique<Candidate>(loop, server, "a");
  server.is_silent = true;
  loop.Advance(seconds(2));
  a.reset();
  loop.Advance(seconds(30));
}

TEST(LeaderElectorOptionsTest, IsCheckedAsClientGoChecksIt) {
  struct Case {
    const char* name;
    LeaderElectorOptions options;
    const char* want;
  };
  const std::vector<Case> cases = {
      {"defaults", {.identity = "a"}, ""},
      {"no identity", {}, "identity"},
      {"deadline too long", {.identity = "a", .renew_deadline = seconds(15)}, "greater than renewDeadline"},
      {"period too long", {.identity = "a", .retry_period = seconds(9)}, "retryPeriod*JitterFactor"},
      {"no period", {.identity = "a", .retry_period = seconds(0)}, "retryPeriod must be greater than zero"},
      {"less than a second",
       {.identity = "a",
        .lease_duration = milliseconds(900),
        .renew_deadline = milliseconds(600),
        .retry_period = milliseconds(100)},
       "at least 1s"},
  };
  for (const Case& c : cases) {
    const auto checked = c.options.Check();
    EXPECT_EQ(checked.ok(), *c.want == '\0') << c.name;
    if (!checked.ok()) {
      EXPECT_THAT(checked.error().message, HasSubstr(c.want)) << c.name;
    }
  }
}

}  // namespace
}  // namespace berth::client
