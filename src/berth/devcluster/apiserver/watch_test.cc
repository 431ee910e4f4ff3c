// SPDX-License-Identifier: Apache-2.0
// Watches without sockets and threads: the server sends within each call, the clock stands still.
#include "berth/devcluster/apiserver/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kMergePatch = "application/merge-patch+json";

class WatchTest : public ::testing::Test {
 protected:
  explicit WatchTest(ApiServerOptions options = {})
      : server_(TestTypes(), clock_, std::move(options)), handler_(server_.handler()) {}

  // The version of the pod that this makes.
  std::string MakePod(const std::string& name, const std::string& more = "") {
    return Call(handler_, "POST", kPods, PodJson(name, more)).Text("metadata.resourceVersion");
  }
  std::string PatchPod(const std::string& name, const std::string& patch) {
    const Answer answer =
        Call(handler_, "PATCH", std::string(kPods) + '/' + name, patch, {{"Content-Type", kMergePatch}});
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    return answer.Text("metadata.resourceVersion");
  }
  void DeletePod(const std::string& name) {
    EXPECT_EQ(Call(handler_, "DELETE", std::string(kPods) + '/' + name).status, 200);
  }
  std::shared_ptr<RecordedWatch> Watch(const std::string& query) {
    return RecordedWatch::Open(handler_, std::string(kPods) + "?watch=true" + query);
  }
  std::string Version() const { return std::to_string(server_.resource_version()); }

  ManualClock clock_;
  ApiServer server_;
  net::Handler handler_;
};

// Deprecated since 1.11, and still served.
TEST_F(WatchTest, AWatchByItsPath) {
  const std::string a = MakePod("a");
  const std::string b = MakePod("b");
  const auto open = [&](const std::string& target) {
    return RecordedWatch::Open(handler_, "/api/v1/watch" + target)->Take();
  };
  EXPECT_EQ(open("/pods"), (Lines{"ADDED a@" + a, "ADDED b@" + b}));
  EXPECT_EQ(open("/namespaces/default/pods"), (Lines{"ADDED a@" + a, "ADDED b@" + b}));
  EXPECT_EQ(open("/namespaces/kube-system/pods"), Lines());
  EXPECT_EQ(open("/namespaces/default/pods/b"), Lines{"ADDED b@" + b});
  EXPECT_EQ(open("/namespaces/default/pods?fieldSelector=metadata.name%3Da"), Lines{"ADDED a@" + a});
  EXPECT_EQ(open("/namespaces/default/pods?watch=false"), (Lines{"ADDED a@" + a, "ADDED b@" + b}));
  EXPECT_EQ(open("/namespaces").size(), 4u);
  EXPECT_EQ(open("/namespaces/default").size(), 1u);

  const auto watch = RecordedWatch::Open(handler_, "/api/v1/watch/namespaces/default/pods/b?resourceVersion=" + b);
  PatchPod("a", R"({"metadata":{"labels":{"x":"y"}}})");
  const std::string changed = PatchPod("b", R"({"metadata":{"labels":{"x":"y"}}})");
  EXPECT_EQ(watch->Take(), Lines{"MODIFIED b@" + changed});
  const auto deployments = RecordedWatch::Open(handler_, "/apis/apps/v1/watch/namespaces/default/deployments");
  EXPECT_EQ(deployments->head.status, 200);

  const auto status = [&](const char* method, const std::string& target) {
    return Call(handler_, method, target).status;
  };
  EXPECT_EQ(status("POST", "/api/v1/watch/namespaces/default/pods"), 405);
  EXPECT_EQ(status("GET", "/api/v1/watch/namespaces/default/pods/b/status"), 404);
  EXPECT_EQ(status("GET", "/api/v1/watch/nothing"), 404);
  EXPECT_EQ(status("GET", "/api/v1/watch"), 404);
  EXPECT_EQ(status("GET", "/api/v1/watch/namespaces/default/pods/b?fieldSelector=metadata.name%3Da"), 400);
}

TEST_F(WatchTest, BeginsWithWhatThereIsAndGoesOn) {
  const std::string a = MakePod("a");
  const auto watch = Watch("");
  EXPECT_EQ(watch->head.status, 200);
  EXPECT_EQ(watch->head.Get("Content-Type"), "application/json");
  EXPECT_EQ(watch->Take(), (Lines{"ADDED a@" + a}));
  const std::string b = MakePod("b");
  const std::string changed = PatchPod("b", R"({"metadata":{"labels":{"x":"y"}}})");
  DeletePod("b");
  EXPECT_EQ(watch->Take(), (Lines{"ADDED b@" + b, "MODIFIED b@" + changed, "DELETED b@" + Version()}));
  // A write that changes nothing is no event.
  PatchPod("a", "{}");
  EXPECT_EQ(watch->Take(), Lines{});
}

TEST_F(WatchTest, GoesOnFromAVersion) {
  const std::string a = MakePod("a");
  const std::string b = MakePod("b");
  const auto watch = Watch("&resourceVersion=" + a);
  EXPECT_EQ(watch->Take(), (Lines{"ADDED b@" + b}));
  const auto none = Watch("&resourceVersion=" + Version());
  EXPECT_EQ(none->Take(), Lines{});
  EXPECT_FALSE(none->has_ended);
}

TEST_F(WatchTest, LearnsThatTheVersionIsGone) {
  const std::string a = MakePod("a");
  MakePod("b");
  server_.Compact();
  const auto old = Watch("&resourceVersion=" + a);
  EXPECT_EQ(old->head.status, 200);
  EXPECT_EQ(old->Take(), (Lines{"ERROR 410"}));
  EXPECT_TRUE(old->has_ended);
  // A version that this server never reached was given out by another one.
  EXPECT_EQ(Watch("&resourceVersion=99999")->Take(), (Lines{"ERROR 410"}));
  const auto current = Watch("&resourceVersion=" + Version());
  EXPECT_EQ(current->Take(), Lines{});
  EXPECT_EQ(server_.watch_count(), 1u);
}

TEST_F(WatchTest, SelectorsTurnChangesIntoComingAndGoing) {
  const auto unbound = Watch("&fieldSelector=spec.nodeName%3D");
  const auto labelled = Watch("&labelSelector=app%3Dweb");
  const auto named = Watch("&fieldSelector=metadata.name%3Da");
  const std::string made = MakePod("a");
  EXPECT_EQ(unbound->Take(), (Lines{"ADDED a@" + made}));
  EXPECT_EQ(labelled->Take(), Lines{});
  const std::string labels = PatchPod("a", R"({"metadata":{"labels":{"app":"web"}}})");
  EXPECT_EQ(unbound->Take(), (Lines{"MODIFIED a@" + labels}));
  EXPECT_EQ(labelled->Take(), (Lines{"ADDED a@" + labels}));
  ASSERT_EQ(Call(handler_, "POST", std::string(kPods) + "/a/binding", BindingJson("a", "n1")).status, 201);
  // The pod as it was when it matched last, with the version of the change.
  const auto left = unbound->TakeDocuments();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(At(left[0], "type"), json::value("DELETED"));
  EXPECT_EQ(At(left[0], "object.spec.nodeName"), json::value(nullptr));
  EXPECT_EQ(At(left[0], "object.metadata.resourceVersion"), json::value(Version()));
  EXPECT_EQ(labelled->Take(), (Lines{"MODIFIED a@" + Version()}));
  const std::string unlabelled = PatchPod("a", R"({"metadata":{"labels":null}})");
  EXPECT_EQ(labelled->Take(), (Lines{"DELETED a@" + unlabelled}));
  MakePod("b");
  EXPECT_EQ(named->Take().size(), 4u);
  EXPECT_EQ(labelled->Take(), Lines{});
}

TEST_F(WatchTest, OtherNamespacesAreNotSeen) {
  const auto here = Watch("");
  const auto everywhere = RecordedWatch::Open(handler_, "/api/v1/pods?watch=1");
  ASSERT_EQ(Call(handler_, "POST", "/api/v1/namespaces/kube-system/pods", PodJson("x")).status, 201);
  EXPECT_EQ(here->Take(), Lines{});
  EXPECT_EQ(everywhere->Take(), (Lines{"ADDED x@" + Version()}));
}

TEST_F(WatchTest, SendsInitialEventsAndSaysWhereTheyEnd) {
  const std::string b = MakePod("b");
  const std::string a = MakePod("a");
  const auto watch = Watch("&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(watch->Take(), (Lines{"ADDED a@" + a, "ADDED b@" + b, "BOOKMARK -@" + Version() + " end-of-initial"}));
  const auto bad = Watch("&sendInitialEvents=true");
  EXPECT_EQ(bad->head.status, 422);
  const auto changes = Watch("&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(changes->Take(), Lines{});
}

TEST_F(WatchTest, BookmarksEachMinuteAndEndsInTime) {
  const auto watch = Watch("&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=" + Version());
  const auto plain = Watch("&timeoutSeconds=90&resourceVersion=" + Version());
  MakePod("a");
  watch->Take();
  clock_.Advance(std::chrono::seconds(59));
  server_.Tick();
  EXPECT_EQ(watch->Take(), Lines{});
  clock_.Advance(std::chrono::seconds(1));
  server_.Tick();
  EXPECT_EQ(watch->Take(), (Lines{"BOOKMARK -@" + Version()}));
  EXPECT_EQ(plain->Take().size(), 1u);
  clock_.Advance(std::chrono::seconds(30));
  server_.Tick();
  EXPECT_TRUE(watch->has_ended);
  EXPECT_TRUE(plain->has_ended);
  EXPECT_EQ(plain->Take(), Lines{});
  EXPECT_EQ(server_.watch_count(), 0u);
}

TEST_F(WatchTest, EndsWhenItsPeerHasTakenWhatThereIs) {
  const auto watch = Watch("&timeoutSeconds=90&resourceVersion=" + Version());
  watch->buffered = kWatchChunkBytes + 1;
  clock_.Advance(std::chrono::seconds(90));
  server_.Tick();
  EXPECT_FALSE(watch->has_ended);
  watch->buffered = kWatchChunkBytes;
  server_.Tick();
  EXPECT_TRUE(watch->has_ended);
  const auto silent = Watch("&timeoutSeconds=90&resourceVersion=" + Version());
  silent->buffered = kWatchChunkBytes + 1;
  clock_.Advance(std::chrono::seconds(90) + kBookmarkInterval);
  server_.Tick();
  EXPECT_TRUE(silent->has_ended);
}

TEST_F(WatchTest, TablesNameTheirColumnsOnce) {
  MakePod("a");
  const auto watch = RecordedWatch::Open(handler_, std::string(kPods) + "?watch=1",
                                         {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  MakePod("b");
  const auto events = watch->TakeDocuments();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[0], "object.kind"), json::value("Table"));
  EXPECT_EQ(At(events[0], "object.columnDefinitions.0.name"), json::value("Name"));
  EXPECT_EQ(At(events[1], "object.columnDefinitions.0.name"), json::value(nullptr));
  EXPECT_EQ(At(events[1], "object.rows.0.cells.0"), json::value("b"));
}

TEST_F(WatchTest, EventsAreSpelledAsTheWatchAsks) {
  const auto watch = RecordedWatch::Open(handler_, "/apis/events.k8s.io/v1/events?watch=1");
  ASSERT_EQ(Call(handler_, "POST", "/api/v1/namespaces/default/events",
                 R"({"metadata":{"name":"e"},"involvedObject":{"name":"web"},"message":"hello"})")
                .status,
            201);
  const auto events = watch->TakeDocuments();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "object.note"), json::value("hello"));
  EXPECT_EQ(At(events[0], "object.apiVersion"), json::value("events.k8s.io/v1"));
}

TEST_F(WatchTest, APeerThatIsGoneIsForgotten) {
  const auto broken = Watch("");
  const auto closed = Watch("");
  EXPECT_EQ(server_.watch_count(), 2u);
  broken->is_broken = true;
  closed->on_closed();
  MakePod("a");
  EXPECT_EQ(server_.watch_count(), 0u);
  EXPECT_EQ(closed->Take(), Lines{});
}

TEST_F(WatchTest, APeerThatDoesNotReadIsPaused) {
  const auto watch = Watch("");
  watch->buffered = kWatchUnreadBytesMax + 1;
  const std::string a = MakePod("a");
  EXPECT_EQ(watch->Take(), Lines{});
  watch->buffered = 0;
  server_.Tick();
  EXPECT_EQ(watch->Take(), (Lines{"ADDED a@" + a}));
}

std::string LargePod(int number) {
  return R"({"metadata":{"name":"p)" + std::to_string(number) + R"("},"spec":{"containers":[{"name":"c","args":[")" +
         std::string(1'000'000, 'x') + R"("]}]}})";
}

// A read of the history gives hundreds of events, and each may have megabytes.
TEST_F(WatchTest, IsPausedBetweenTheEventsOfOneRead) {
  const std::string version = Version();
  const auto make = [&](int i) { ASSERT_EQ(Call(handler_, "POST", kPods, LargePod(i)).status, 201); };
  for (int i = 0; i < 10; ++i) make(i);
  const auto open = [&](const std::string& query) {
    auto watch = std::make_shared<RecordedWatch>();
    watch->reads = false;
    handler_({.method = "GET", .target = std::string(kPods) + "?watch=true" + query}, watch);
    return watch;
  };
  const auto from_version = open("&resourceVersion=" + version);
  const auto from_state = open("");
  std::size_t from_version_lines = 0;
  std::size_t from_state_lines = 0;
  for (int round = 0; round < 20; ++round) {
    EXPECT_LT(from_version->buffered, kWatchUnreadBytesMax + 1'500'000);
    EXPECT_LT(from_state->buffered, kWatchUnreadBytesMax + 1'500'000);
    from_version_lines += from_version->Take().size();
    from_state_lines += from_state->Take().size();
    from_version->buffered = from_state->buffered = 0;
    server_.Tick();
  }
  EXPECT_EQ(from_version_lines, 10u);
  EXPECT_EQ(from_state_lines, 10u);
}

TEST_F(WatchTest, PeersThatDoNotReadAreCutOffWhenTogetherTheyHoldTooMuch) {
  std::vector<std::shared_ptr<RecordedWatch>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(Watch("&resourceVersion=" + Version()));
    silent.back()->reads = false;
  }
  const auto reader = Watch("&resourceVersion=" + Version());
  const auto held = [&] {
    std::size_t bytes = 0;
    for (const auto& watch : silent) bytes += watch->is_cut_off ? 0 : watch->buffered;
    return bytes;
  };
  std::size_t seen = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Call(handler_, "POST", kPods, LargePod(i)).status, 201);
    EXPECT_LE(held(), kWatchesUnreadBytesMax + 1'500'000) << i;
    for (int round = 0; round < 3; ++round) {
      clock_.Advance(kWatchStallMax);
      server_.Tick();
    }
    seen += reader->Take().size();
    EXPECT_EQ(seen, static_cast<std::size_t>(i) + 1);
  }
  EXPECT_FALSE(reader->is_cut_off);
  EXPECT_GE(std::count_if(silent.begin(), silent.end(), [](const auto& watch) { return watch->is_cut_off; }), 60);
  EXPECT_LE(held(), kWatchesUnreadBytesMax);
}

TEST_F(WatchTest, EndsWithTheServer) {
  auto clock = std::make_unique<ManualClock>();
  auto server = std::make_unique<ApiServer>(TestTypes(), *clock);
  const net::Handler handler = server->handler();
  const auto watch = RecordedWatch::Open(handler, std::string(kPods) + "?watch=1");
  server.reset();
  EXPECT_TRUE(watch->has_ended);
  EXPECT_EQ(Call(handler, "GET", kPods).status, 503);
}

class SmallHistoryTest : public WatchTest {
 protected:
  SmallHistoryTest() : WatchTest({.history_events_max = 4, .event_objects_max = 3}) {}
};

TEST_F(SmallHistoryTest, SlowWatchesFallOffTheHistory) {
  const auto watch = Watch("&resourceVersion=" + Version());
  watch->buffered = kWatchUnreadBytesMax + 1;
  for (int i = 0; i < 6; ++i) MakePod("p" + std::to_string(i));
  watch->buffered = 0;
  server_.Tick();
  EXPECT_EQ(watch->Take(), (Lines{"ERROR 410"}));
  EXPECT_TRUE(watch->has_ended);
  EXPECT_EQ(Watch("&resourceVersion=5")->Take(), (Lines{"ERROR 410"}));
  EXPECT_EQ(Watch("&resourceVersion=" + std::to_string(server_.resource_version() - 4))->Take().size(), 4u);
}

TEST_F(SmallHistoryTest, EventObjectsAreBoundedInNumberAndTime) {
  const auto watch = RecordedWatch::Open(handler_, "/api/v1/events?watch=1");
  const auto make = [&](const std::string& name) {
    EXPECT_EQ(Call(handler_, "POST", "/api/v1/namespaces/default/events", R"({"metadata":{"name":")" + name + R"("}})")
                  .status,
              201);
  };
  const auto names = [&] {
    std::string joined;
    const Answer list = Call(handler_, "GET", "/api/v1/events");
    const json::value items = At(list.body, "items");
    for (const json::value& item : items.as_array())
      joined += std::string(At(item, "metadata.name").as_string().c_str());
    return joined;
  };
  for (const char* name : {"a", "b", "c"}) make(name);
  // What was written again is not the oldest any more.
  EXPECT_EQ(
      Call(handler_, "PATCH", "/api/v1/namespaces/default/events/a", R"({"count":2})", {{"Content-Type", kMergePatch}})
          .status,
      200);
  make("d");
  EXPECT_EQ(names(), "acd");
  const Lines lines = watch->Take();
  EXPECT_NE(
      std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("DELETED b@"); }),
      lines.end());
  clock_.Advance(std::chrono::minutes(59));
  make("e");
  EXPECT_EQ(names(), "ade");
  clock_.Advance(std::chrono::minutes(1));
  server_.Tick();
  EXPECT_EQ(names(), "e");
  EXPECT_EQ(watch->Take().size(), 4u);
}

// Events are gathered for a moment by the server's clock, which may stand still, jump on or be set back.
TEST(WatchGathering, EveryEventComesWhateverTheClockDoes) {
  ManualClock clock;
  net::IoContext io;
  net::IoContext client_io;
  ApiServer server(TestTypes(), clock, {.io = &io});
  const auto transport = server.InProcessTransport(client_io);
  StreamedWatch watch(*transport, std::string(kPods) + "?watch=true");
  int made = 0;
  for (const Duration step : {Duration(0), Duration(0), Duration(1), Duration(-1), Duration(1'000),
                              Duration(-10'000'000), Duration(60'000'000), Duration(0)}) {
    clock.Advance(step);
    const std::string name = "p" + std::to_string(made++);
    const Answer answer = Call(*transport, "POST", kPods, PodJson(name));
    ASSERT_EQ(answer.status, 201);
    EXPECT_EQ(watch.Next(), "ADDED " + name + "@" + answer.Text("metadata.resourceVersion"));
  }
  watch.Cancel();
}

}  // namespace
}  // namespace berth::apiserver
