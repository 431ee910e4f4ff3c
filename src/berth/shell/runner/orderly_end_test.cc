// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/orderly_end.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "berth/codec/json.h"
#include "berth/core/config/default.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/lease.h"

namespace berth::runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A process with its shell, in one thread. Its API server answers about the Lease alone.
class OrderlyEndTest : public ::testing::Test {
 protected:
  OrderlyEndTest() {
    transport.on_send = [this](client::FakeTransport::Call& call) { Answer(call); };
  }

  void StartProcess() {
    ShellOptions options;
    options.long_turns = LongTurns::kOnLoop;
    options.await = await;
    options.is_leading = [this] { return election.fence()->IsOpen(); };
    auto made = SchedulerShell::Make(config::DefaultConfiguration(), rest, rest, loop, std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    shell = std::move(*made);
    election.Prepare({config::LeaderElection{}, "us", "berth", 1}, rest, {.on_leading = [this] { shell->Lead(); }});
    shell->Start();
    election.Start();
    loop.Run();
  }
  void StoreLease(const std::string& holder) {
    client::Lease made("kube-system", "kube-scheduler");
    made.SetRecord({holder, 15, "", "", 1});
    Store(made.Json());
  }
  std::string Holder() { return client::Lease::Parse(*lease)->record().holder_identity; }
  std::ptrdiff_t ReadsOfLease() const {
    return std::count(transport.all_targets.begin(), transport.all_targets.end(),
                      "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler");
  }

  client::FakeLoop loop;
  client::FakeTransport transport;
  std::optional<std::string> lease;
  client::RestClient rest{loop, transport, nullptr, 1};
  const Await await = [this](Duration limit, const std::function<bool()>& is_done) {
    const Time end = loop.Now() + limit;
    for (loop.Run(); !is_done() && loop.Now() < end;) loop.Advance(milliseconds(10));
  };
  LeaderElection election{loop, await};
  std::unique_ptr<SchedulerShell> shell;

 private:
  void Store(const std::string& body) {
    auto object = codec::ParseJson(body)->as_object();
    object["metadata"].as_object()["resourceVersion"] = "1";
    lease = codec::WriteJson(object);
  }
  void Answer(client::FakeTransport::Call& call) {
    const net::Request& request = call.request;
    if (request.target.find("/leases") == std::string::npos) return;
    if (request.method != "GET") Store(request.body);
    if (!lease) return call.Answer(404, R"({"kind":"Status","reason":"NotFound","message":"not found"})");
    call.Answer(request.method == "POST" ? 201 : 200, *lease);
  }
};

TEST_F(OrderlyEndTest, ALeaderGivesTheLeaseBackWhenAllIsSettled) {
  StartProcess();
  ASSERT_TRUE(election.elector().IsLeader());
  ASSERT_EQ(Holder(), "us");
  bool led_meanwhile = false;
  EndInOrder({*shell, &election, [&] { led_meanwhile = election.fence()->IsOpen(); }, [] { return true; }});
  EXPECT_TRUE(led_meanwhile) << "what the others had under way could not be sent";
  EXPECT_EQ(Holder(), "");
  EXPECT_FALSE(election.fence()->IsOpen());
}

TEST_F(OrderlyEndTest, ALeaderLeavesTheLeaseToRunOutWhenSomethingIsNotSettled) {
  StartProcess();
  bool have_others_ended = false;
  EndInOrder({*shell, &election, [&] { have_others_ended = true; },
              [&] {
                EXPECT_TRUE(have_others_ended);
                return false;
              }});
  EXPECT_EQ(Holder(), "us");
  EXPECT_FALSE(election.fence()->IsOpen());
  EXPECT_FALSE(election.elector().IsLeader());
}

TEST_F(OrderlyEndTest, AStandbyNoLongerWantsTheLeaseWhileTheRestEnds) {
  StoreLease("another");
  StartProcess();
  ASSERT_GE(ReadsOfLease(), 1);
  EndInOrder({*shell, &election, [&] {
                const auto reads = ReadsOfLease();
                loop.Advance(seconds(30));
                EXPECT_EQ(ReadsOfLease(), reads);
              }});
  EXPECT_EQ(Holder(), "another");
}

TEST_F(OrderlyEndTest, ALostLeaseIsReportedAndNotGivenBack) {
  StartProcess();
  EXPECT_FALSE(election.HasLost());
  StoreLease("another");
  loop.SetNow(loop.Now() + seconds(14));
  loop.Run();
  EXPECT_TRUE(election.HasLost());
  EndInOrder({*shell, &election});
  EXPECT_EQ(Holder(), "another");
}

}  // namespace
}  // namespace berth::runner
