// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_on_demand.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/page/page_testing.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::page {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::MakeNode;
using whatif::kNow;

class FakeClock final : public Clock {
 public:
  Time Now() const override { return now; }
  std::atomic<Time> now{kNow};
};

class PageOnDemandTest : public ::testing::Test {
 protected:
  Expected<PageOnDemand::Opened> Open() {
    if (is_refused_) return InvalidError("no kubeconfig");
    ++opened_count_;
    PageOnDemand::Opened opened;
    opened.connection = std::shared_ptr<void>(nullptr, [this](void*) { ++closed_count_; });
    ClusterSource source;
    source.fixed = std::make_shared<const whatif::ClusterState>(whatif::StateOf({MakeNode("a")}, {}));
    source.core_for = ask::DefaultCore;
    PageOptions options;
    options.epoch = 9;
    opened.service = std::make_unique<PageService>(options, std::move(source), CoreSources{}, nullptr, &feed_, clock_);
    return opened;
  }

  net::Response Ask(const std::string& target_text) {
    const auto writer = std::make_shared<AnswerPromise>();
    net::Request request;
    request.target = target_text;
    const auto target = net::ParseTarget(target_text);
    page_.Handle(std::move(request), *target, target->path, writer);
    return writer->Get();
  }

  FakeClock clock_;
  DecisionFeed feed_;
  int opened_count_ = 0;
  int closed_count_ = 0;
  bool is_refused_ = false;
  PageOnDemand page_{[this] { return Open(); }, clock_};
};

TEST_F(PageOnDemandTest, IsThereFromTheFirstQuestionUntilNobodyAsks) {
  (void)Ask("/ui/index.html");
  EXPECT_FALSE(page_.IsOpen()) << "the files hold no data";
  EXPECT_EQ(opened_count_, 0);
  EXPECT_EQ(Ask("/ui/api/v1/status").status, 200);
  EXPECT_EQ(Ask("/ui/api/v1/fleet").status, 200);
  EXPECT_EQ(opened_count_, 1);
  clock_.now = kNow + PageOnDemand::kUnusedMax - seconds(1);
  EXPECT_FALSE(page_.CloseIfUnused());
  EXPECT_EQ(Ask("/ui/api/v1/status").status, 200);
  clock_.now = kNow + PageOnDemand::kUnusedMax + seconds(1);
  EXPECT_FALSE(page_.CloseIfUnused()) << "it was asked just now";
  clock_.now = kNow + 2 * PageOnDemand::kUnusedMax;
  EXPECT_TRUE(page_.CloseIfUnused());
  EXPECT_FALSE(page_.IsOpen());
  EXPECT_EQ(closed_count_, 1);
  EXPECT_FALSE(page_.CloseIfUnused());
  EXPECT_EQ(Ask("/ui/api/v1/status").status, 200);
  EXPECT_EQ(opened_count_, 2) << "whoever comes later gets another one";
}

TEST_F(PageOnDemandTest, StaysWhileSomebodyReadsItsEvents) {
  EXPECT_EQ(Ask("/ui/api/v1/events").Get("Content-Type"), "text/event-stream");
  clock_.now = kNow + 10 * PageOnDemand::kUnusedMax;
  EXPECT_FALSE(page_.CloseIfUnused());
  EXPECT_TRUE(page_.IsOpen());
}

TEST_F(PageOnDemandTest, KeepsNoDecisionsWhenItIsClosed) {
  const auto note = [&] {
    scheduler::Decision decision;
    decision.pod_uid = "1";
    feed_.Note(decision, kNow);
    return feed_.LastRefusal("1") != nullptr;
  };
  feed_.SetOn(false);
  EXPECT_FALSE(note());
  (void)Ask("/ui/api/v1/status");
  EXPECT_TRUE(note());
  clock_.now = kNow + 2 * PageOnDemand::kUnusedMax;
  EXPECT_TRUE(page_.CloseIfUnused());
  EXPECT_EQ(feed_.LastRefusal("1"), nullptr);
  EXPECT_FALSE(note());
}

TEST_F(PageOnDemandTest, SaysWhyItCannotBeOpened) {
  is_refused_ = true;
  const net::Response refused = Ask("/ui/api/v1/status");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("the page cannot be opened: no kubeconfig"));
  is_refused_ = false;
  EXPECT_EQ(Ask("/ui/api/v1/status").status, 200);
  page_.Stop();
  EXPECT_EQ(Ask("/ui/api/v1/status").status, 503);
  EXPECT_EQ(closed_count_, 1);
}

}  // namespace
}  // namespace berth::page
