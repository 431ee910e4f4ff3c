// SPDX-License-Identifier: Apache-2.0
#include "berth/page/cluster_watch.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/server.h"
#include "berth/shell/client/event_loop.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using testing::MakePod;

constexpr auto kTimeLimit = std::chrono::seconds(30);

class ClusterWatchTest : public ::testing::Test {
 protected:
  ClusterWatchTest() {
    apiserver::ApiServerOptions options;
    options.io = &server_io_;
    server_ = std::make_unique<apiserver::ApiServer>(objects::ResourceTypes(), clock_, options);
    transport_ = server_->InProcessTransport(client_io_);
    rest_ = std::make_unique<client::RestClient>(loop_, *transport_, nullptr, 1);
    Create("/api/v1/nodes", "a");
    CreatePod("listed");
  }
  ~ClusterWatchTest() override {
    if (watch_ != nullptr) watch_->Stop();
    client_io_.Stop();
    watch_.reset();
    server_io_.Stop();
  }

  void Create(const std::string& path, const std::string& name, const std::string& more = "") {
    net::Request request;
    request.method = "POST";
    request.target = path;
    request.body = R"({"metadata":{"name":")" + name + "\"}" + more + "}";
    const auto sent = rest_->DoSync(std::move(request));
    ASSERT_TRUE(sent.ok()) << sent.error().message;
  }
  void CreatePod(const std::string& name) {
    Create("/api/v1/namespaces/default/pods", name, R"(,"spec":{"containers":[{"name":"c","image":"i"}]})");
  }
  // What the scheduler's watch brings.
  void Hear(const std::string& name) { inbox_->SetPod(std::make_shared<const api::Pod>(MakePod(name).Build())); }

  // A watch in the process of a scheduler.
  void Start() {
    SchedulerWatch scheduler;
    scheduler.set_inbox = [this](FleetInbox* inbox) { inbox_ = inbox; };
    scheduler.has_synced = [this] { return scheduler_has_synced_.load(); };
    scheduler.problem = [this] { return scheduler_problem_; };
    watch_ = std::make_unique<ClusterWatch>(*rest_, fleet_, clock_, 1, std::move(scheduler));
    watch_->Start();
  }
  bool WaitFor(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + kTimeLimit;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool HasPod(const std::string& name) const { return fleet_.PodJson("default", name).has_value(); }

  const SystemClock clock_;
  net::IoContext server_io_;
  net::IoContext client_io_;
  client::IoEventLoop loop_{client_io_, clock_};
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<client::RestClient> rest_;
  Fleet fleet_{7};
  FleetInbox* inbox_ = nullptr;
  std::atomic<bool> scheduler_has_synced_{false};
  std::string scheduler_problem_;
  std::unique_ptr<ClusterWatch> watch_;
};

TEST_F(ClusterWatchTest, WatchesByItselfUntilTheSchedulerHasListed) {
  Start();
  ASSERT_NE(inbox_, nullptr) << "from before the lists on";
  ASSERT_TRUE(WaitFor([this] { return watch_->HasSynced(); }));
  EXPECT_TRUE(HasPod("listed"));
  Hear("heard");
  watch_->CatchUp();
  EXPECT_FALSE(watch_->TakesFromScheduler());
  EXPECT_FALSE(HasPod("heard")) << "an own watch that is behind would undo it";
  CreatePod("watched");
  EXPECT_TRUE(WaitFor([this] { return HasPod("watched"); }));
  scheduler_has_synced_ = true;
  watch_->CatchUp();
  EXPECT_TRUE(watch_->TakesFromScheduler());
  EXPECT_TRUE(watch_->HasSynced());
  EXPECT_TRUE(HasPod("heard"));
}

TEST_F(ClusterWatchTest, TakesChangesFromTheSchedulerAlone) {
  scheduler_has_synced_ = true;
  Start();
  ASSERT_TRUE(WaitFor([this] {
    watch_->CatchUp();
    return watch_->TakesFromScheduler();
  }));
  EXPECT_TRUE(HasPod("listed"));
  CreatePod("unheard-of");
  Hear("heard");
  inbox_->RemovePod("default", "listed", fleet_.PodJson("default", "listed")->at("uid").as_string());
  watch_->CatchUp();
  EXPECT_TRUE(HasPod("heard"));
  EXPECT_FALSE(HasPod("listed"));
  EXPECT_FALSE(HasPod("unheard-of")) << "nothing is watched a second time";
  EXPECT_EQ(watch_->Problem(), "");
  scheduler_problem_ = "connection refused";
  EXPECT_EQ(watch_->Problem(), "connection refused");
  watch_->Stop();
  EXPECT_EQ(inbox_, nullptr);
}

TEST_F(ClusterWatchTest, WithoutASchedulerItGoesOnWatching) {
  watch_ = std::make_unique<ClusterWatch>(*rest_, fleet_, clock_, 1);
  EXPECT_NE(watch_->Problem(), "") << "nothing is known yet";
  watch_->Start();
  ASSERT_TRUE(WaitFor([this] { return watch_->HasSynced(); }));
  watch_->CatchUp();
  EXPECT_FALSE(watch_->TakesFromScheduler());
  CreatePod("watched");
  EXPECT_TRUE(WaitFor([this] { return HasPod("watched"); }));
  EXPECT_EQ(watch_->Problem(), "");
}

}  // namespace
}  // namespace berth::page
