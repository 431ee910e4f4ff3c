// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/feeds.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/server.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/outside/outside_poller.h"

namespace berth::runner {
namespace {

using ::testing::UnorderedElementsAre;

constexpr auto kTimeLimit = std::chrono::seconds(30);

// An input in a word or two.
std::string Describe(const scheduler::Input& input) {
  if (const auto* node = std::get_if<scheduler::NodeSet>(&input)) return "node " + node->node->metadata.name;
  if (const auto* node = std::get_if<scheduler::NodeGone>(&input)) return "no node " + node->name;
  if (const auto* pod = std::get_if<scheduler::PodSet>(&input)) return "pod " + pod->pod->metadata.name;
  if (const auto* pod = std::get_if<scheduler::PodGone>(&input)) return "no pod " + pod->name;
  if (std::get_if<scheduler::ObjectSet>(&input) != nullptr) return "object";
  if (const auto* object = std::get_if<scheduler::ObjectGone>(&input)) return "no object " + object->key;
  return "something else";
}

class FeedsTest : public ::testing::Test {
 protected:
  FeedsTest() {
    apiserver::ApiServerOptions options;
    options.io = &server_io;
    server = std::make_unique<apiserver::ApiServer>(objects::ResourceTypes(), clock, options);
    transport = server->InProcessTransport(client_io);
    rest = std::make_unique<client::RestClient>(loop, *transport, nullptr, 1);
    const auto no_client = [](const net::HttpClientOptions&) -> Expected<std::unique_ptr<net::Transport>> {
      return InvalidError("not here");
    };
    const auto run = [](std::function<void()> work) { work(); };
    auto& metrics = framework::Metrics::None();
    extenders = outside::HttpExtenders::Make({}, loop, no_client, run, metrics, [](scheduler::ExtenderDone) {}).value();
    auto poller = outside::OutsidePoller::Make({}, *rest, no_client, run, metrics, 1,
                                               [](std::size_t, const outside::OutsidePoller::Data&) {})
                      .value();
    feeds = std::make_unique<Feeds>(
        *rest, *extenders, std::move(poller), Feeds::Options{1, {framework::ObjectKind::kNamespace}},
        Feeds::Callbacks{[this](const scheduler::Input& input) { Saw(Describe(input)); }, [this] { Saw("synced"); }});
  }
  ~FeedsTest() override {
    feeds->Stop();
    client_io.Stop();
    feeds.reset();
    server_io.Stop();
  }

  void Saw(std::string what) {
    const std::lock_guard lock(mutex);
    seen.push_back(std::move(what));
    changed.notify_all();
  }
  // What was seen, once the last of it is `last`.
  std::vector<std::string> WaitFor(const std::string& last) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kTimeLimit, [&] { return !seen.empty() && seen.back() == last; });
    return std::exchange(seen, {});
  }
  void Send(const std::string& method, const std::string& path, const std::string& body = "") {
    net::Request request;
    request.method = method;
    request.target = path;
    request.body = body;
    const auto sent = rest->DoSync(std::move(request));
    ASSERT_TRUE(sent.ok()) << sent.error().message;
  }
  void Create(const std::string& path, const std::string& name, const std::string& more = "") {
    Send("POST", path, R"({"metadata":{"name":")" + name + "\"}" + more + "}");
  }

  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kSpec = R"(,"spec":{"containers":[{"name":"c","image":"i"}]})";

  SystemClock clock;
  net::IoContext server_io;
  net::IoContext client_io;
  client::IoEventLoop loop{client_io, clock};
  std::unique_ptr<apiserver::ApiServer> server;
  std::unique_ptr<net::Transport> transport;
  std::unique_ptr<client::RestClient> rest;
  std::unique_ptr<outside::HttpExtenders> extenders;
  std::unique_ptr<Feeds> feeds;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> seen;
};

TEST_F(FeedsTest, AListenerHearsOfEachChangeBeforeTheCore) {
  ObjectListener listener;
  listener.on_node = [this](const auto& node) { Saw("heard node " + node->metadata.name); };
  listener.on_node_gone = [this](std::string_view name) { Saw("heard no node " + std::string(name)); };
  listener.on_pod = [this](const auto& pod) { Saw("heard pod " + pod->metadata.name); };
  listener.on_pod_gone = [this](std::string_view, std::string_view name, std::string_view uid) {
    Saw("heard no pod " + std::string(name) + (uid.empty() ? "" : " of a uid"));
  };
  Create("/api/v1/nodes", "first");
  feeds->Start();
  (void)WaitFor("synced");
  feeds->SetListener(listener);
  using ::testing::ElementsAre;
  Create("/api/v1/nodes", "n");
  EXPECT_THAT(WaitFor("node n"), ElementsAre("heard node n", "node n"));
  Create(kPods, "p", kSpec);
  EXPECT_THAT(WaitFor("pod p"), ElementsAre("heard pod p", "pod p"));
  Send("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0");
  EXPECT_THAT(WaitFor("no pod p"), ElementsAre("heard no pod p of a uid", "no pod p"));
  Send("DELETE", "/api/v1/nodes/n");
  EXPECT_THAT(WaitFor("no node n"), ElementsAre("heard no node n", "no node n"));
  feeds->SetListener(std::nullopt);
  Create(kPods, "q", kSpec);
  EXPECT_THAT(WaitFor("pod q"), ElementsAre("pod q"));
}

TEST_F(FeedsTest, WhatIsListedComesBeforeTheWordThatAllIs) {
  Create("/api/v1/nodes", "n");
  Create(kPods, "p", kSpec);
  EXPECT_FALSE(feeds->HasSynced());
  feeds->Start();
  std::vector<std::string> first = WaitFor("synced");
  std::erase(first, "object");  // the namespaces that the server begins with
  EXPECT_THAT(first, UnorderedElementsAre("node n", "pod p", "synced"));
  EXPECT_TRUE(feeds->HasSynced());
}

TEST_F(FeedsTest, ChangesBecomeInputs) {
  feeds->Start();
  WaitFor("synced");
  struct Case {
    const char* want;
    std::function<void()> act;
  };
  const Case cases[] = {
      {"node n", [this] { Create("/api/v1/nodes", "n"); }},
      {"pod p", [this] { Create(kPods, "p", kSpec); }},
      {"no pod p", [this] { Send("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0"); }},
      {"no node n", [this] { Send("DELETE", "/api/v1/nodes/n"); }},
      {"object", [this] { Create("/api/v1/namespaces", "team"); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.want);
    c.act();
    EXPECT_THAT(WaitFor(c.want), ::testing::Contains(c.want));
  }
}

TEST_F(FeedsTest, ReadsAgainAndSaysWhenAllIsFresh) {
  Create("/api/v1/nodes", "n");
  feeds->Start();
  WaitFor("synced");
  for (int round = 0; round < 3; ++round) {
    const std::string pod = "p" + std::to_string(round);
    Create(kPods, pod, kSpec);
    feeds->Refresh([this] { Saw("fresh"); });
    // Known objects do not come again, and no input from before the call comes after on_fresh.
    EXPECT_THAT(WaitFor("fresh"), ::testing::ElementsAre("pod " + pod, "fresh"));
  }
  Create("/api/v1/nodes", "later");
  EXPECT_THAT(WaitFor("node later"), ::testing::ElementsAre("node later")) << "watches go on";
}

TEST_F(FeedsTest, ReadsAgainBeforeTheFirstListsHaveEnded) {
  Create("/api/v1/nodes", "n");
  feeds->Start();
  feeds->Refresh([this] { Saw("fresh"); });
  EXPECT_THAT(WaitFor("fresh"), ::testing::IsSupersetOf({"node n", "synced", "fresh"}));
}

// Feeds whose API server's answers the test writes.
class FeedsOfAnswersTest : public ::testing::Test {
 protected:
  void Start(std::vector<framework::ObjectKind> kinds) {
    const auto no_client = [](const net::HttpClientOptions&) -> Expected<std::unique_ptr<net::Transport>> {
      return InvalidError("not here");
    };
    const auto run = [](std::function<void()> work) { work(); };
    auto& metrics = framework::Metrics::None();
    extenders = outside::HttpExtenders::Make({}, loop, no_client, run, metrics, [](scheduler::ExtenderDone) {}).value();
    auto poller = outside::OutsidePoller::Make({}, rest, no_client, run, metrics, 1,
                                               [](std::size_t, const outside::OutsidePoller::Data&) {})
                      .value();
    feeds = std::make_unique<Feeds>(
        rest, *extenders, std::move(poller), Feeds::Options{1, std::move(kinds)},
        Feeds::Callbacks{[this](const scheduler::Input& input) { seen.push_back(Describe(input)); },
                         [this] { seen.emplace_back("synced"); }});
    feeds->Start();
    loop.Run();
  }
  void TearDown() override { feeds->Stop(); }

  // A list as a watch sends it, of objects of these names.
  void Answer(std::string_view resource, const std::vector<std::string>& names, const std::string& more = "") {
    for (const auto& stream : transport.AllStreams()) {
      if (stream->request.target.find("/" + std::string(resource) + "?") == std::string::npos) continue;
      stream->Open("application/json");
      std::string text;
      for (const std::string& name : names) {
        text += R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"5","namespace":"default","name":")" + name +
                R"(","uid":")" + name + "\"}" + more + "}}\n";
      }
      stream->Bytes(text + R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":)"
                           R"({"k8s.io/initial-events-end":"true"}}}})"
                           "\n");
    }
    loop.Run();
  }

  client::FakeLoop loop;
  client::FakeTransport transport;
  client::RestClient rest{loop, transport, nullptr, 1};
  std::unique_ptr<outside::HttpExtenders> extenders;
  std::vector<std::string> seen;
  std::unique_ptr<Feeds> feeds;
};

TEST_F(FeedsOfAnswersTest, PodsComeLastWhicheverListEndsFirst) {
  using ::testing::ElementsAre;
  Start({framework::ObjectKind::kStorageClass});
  Answer("pods", {"q", "p"}, R"(,"spec":{"nodeName":"b","containers":[{"name":"c","image":"i"}]})");
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre());
  Answer("nodes", {"a", "b"});
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre("node a", "node b"));
  Answer("storageclasses", {"s"}, R"(,"provisioner":"x")");
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre("object", "pod q", "pod p", "synced"));
  for (const auto& stream : transport.AllStreams()) {
    if (stream->request.target.find("/pods?") == std::string::npos) continue;
    stream->Bytes(R"({"type":"DELETED","object":{"metadata":{"resourceVersion":"10","namespace":"default","name":"p",)"
                  R"("uid":"p"}}})"
                  "\n");
  }
  loop.Run();
  EXPECT_THAT(seen, ElementsAre("no pod p")) << "nothing is held any more";
}

// A proxy that answers 404 in the API server's words must not make the disruption budgets look like none.
TEST_F(FeedsOfAnswersTest, OnlyWhatApiServersMayLackIsTakenForMissing) {
  using framework::ObjectKind;
  Start({ObjectKind::kPodDisruptionBudget, ObjectKind::kStorageClass, ObjectKind::kResourceClaim, ObjectKind::kPodGroup,
         ObjectKind::kDeviceTaintRule});
  const auto streams = transport.AllStreams();
  for (const auto& stream : streams) {
    stream->Head(404, "404 page not found\n");
    stream->End();
  }
  loop.Run();
  std::vector<std::string> synced;
  for (const FeedSource& source : feeds->Sources()) {
    if (source.has_synced) synced.push_back(source.name);
  }
  EXPECT_THAT(synced, UnorderedElementsAre("resourceclaims", "podgroups", "devicetaintrules"));
}

}  // namespace
}  // namespace berth::runner
