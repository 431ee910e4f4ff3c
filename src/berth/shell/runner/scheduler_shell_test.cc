// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/scheduler_shell.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"
#include "berth/core/config/default.h"
#include "berth/core/config/load.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/net/io_context.h"

namespace berth::runner {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(30);

// Passes requests on, holds them, or does to them what a network can do. Thread-safe.
class Gate final : public net::Transport {
 public:
  enum class Mode {
    kOpen,
    kHold,         // bindings wait until Release()
    kLoseAnswer,   // bindings take effect, but nobody hears of it
    kLoseRequest,  // bindings do not take effect, and nobody hears of that either
    kUnreachable,  // nothing is answered, ever
  };

  explicit Gate(std::unique_ptr<net::Transport> inner) : inner_(std::move(inner)) {}

  void Set(Mode mode) {
    const std::lock_guard lock(mutex_);
    mode_ = mode;
  }
  // Opens, and lets go of what it held.
  void Release() {
    std::vector<std::function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      mode_ = Mode::kOpen;
      held.swap(held_);
    }
    for (const auto& send : held) send();
  }
  bool WaitForHeld(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [&] { return held_.size() >= count; });
  }
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

  // The paths that were listed, without their parameters.
  std::set<std::string> lists() const {
    const std::lock_guard lock(mutex_);
    return lists_;
  }

  void Send(net::Request request, net::SendOptions options, Done done) override {
    const bool is_binding = request.method == "POST" && request.target.ends_with("/binding");
    {
      const std::lock_guard lock(mutex_);
      if (const std::size_t at = request.target.find("?limit="); at != std::string::npos) {
        lists_.insert(request.target.substr(0, at));
      } else if (request.target.starts_with("/api/v1/pods?")) {
        lists_.insert("/api/v1/pods");
      }
      if (mode_ == Mode::kUnreachable || (is_binding && mode_ == Mode::kHold)) {
        held_.push_back([this, request = std::move(request), options, done = std::move(done)]() mutable {
          inner_->Send(std::move(request), options, std::move(done));
        });
        changed_.notify_all();
        return;
      }
      const Error lost{ErrorCode::kUnavailable, "the connection was closed", true, 0};
      if (is_binding && mode_ == Mode::kLoseAnswer) {
        mode_ = Mode::kOpen;
        done = [done = std::move(done), lost](const Expected<net::Response>&) { done(lost); };
      } else if (is_binding && mode_ == Mode::kLoseRequest) {
        mode_ = Mode::kOpen;
        request = {"GET", "/version", {}, ""};  // so that the answer comes where answers come
        done = [done = std::move(done), lost](const Expected<net::Response>&) { done(lost); };
      }
    }
    inner_->Send(std::move(request), options, std::move(done));
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override {
    {
      const std::lock_guard lock(mutex_);
      if (request.target.find("sendInitialEvents=true") != std::string::npos) {
        lists_.insert(request.target.substr(0, request.target.find('?')));
      }
      class NoHandle final : public net::StreamHandle {
        void Cancel() override {}
      };
      if (mode_ == Mode::kUnreachable) return std::make_unique<NoHandle>();
    }
    return inner_->Stream(std::move(request), options, std::move(callbacks));
  }

 private:
  std::unique_ptr<net::Transport> inner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mode mode_ = Mode::kOpen;
  std::vector<std::function<void()>> held_;
  std::set<std::string> lists_;
};

struct SeenPod {
  std::string name;
  std::string node;
  std::string condition;  // "PodScheduled=False Unschedulable: MESSAGE"
};

struct SeenEvent {
  std::string name;
  std::string pod;
  std::string text;  // "Normal Scheduled: NOTE"
};

std::string TextAt(const simdjson::dom::element& object, std::initializer_list<std::string_view> path) {
  const auto found = codec::FindPath(object, path);
  std::string_view text;
  return found && found->get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

SeenPod ReadPod(const simdjson::dom::element& object) {
  SeenPod pod{TextAt(object, {"metadata", "name"}), TextAt(object, {"spec", "nodeName"}), ""};
  const auto status = codec::FindMember(object, "status");
  const auto conditions = status ? codec::FindArray(*status, "conditions") : std::nullopt;
  if (!conditions) return pod;
  for (const simdjson::dom::element condition : *conditions) {
    if (codec::StringOrEmpty(condition, "type") != "PodScheduled") continue;
    pod.condition = "PodScheduled=" + std::string(codec::StringOrEmpty(condition, "status"));
    if (pod.condition == "PodScheduled=False") {
      pod.condition += " " + std::string(codec::StringOrEmpty(condition, "reason")) + ": " +
                       std::string(codec::StringOrEmpty(condition, "message"));
    }
  }
  return pod;
}

SeenEvent ReadEvent(const simdjson::dom::element& object) {
  return {TextAt(object, {"metadata", "name"}), TextAt(object, {"regarding", "name"}),
          TextAt(object, {"type"}) + " " + TextAt(object, {"reason"}) + ": " + TextAt(object, {"note"})};
}

// What the API server has of pods and events, kept up to date by watches of the test's own.
class Observer {
 public:
  explicit Observer(client::RestClient& rest) {
    pods_watch_ = Watch<SeenPod>(rest, "/api/v1/pods", &ReadPod, pods_);
    events_watch_ = Watch<SeenEvent>(rest, "/apis/events.k8s.io/v1/events", &ReadEvent, events_);
    pods_watch_->Start();
    events_watch_->Start();
  }

  // Waits until `predicate` is true of pods and events; false after the time limit.
  using Pods = std::map<std::string, SeenPod>;
  using Events = std::map<std::string, SeenEvent>;
  bool Wait(const std::function<bool(const Pods&, const Events&)>& predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [&] { return predicate(pods_, events_); });
  }
  std::string NodeOf(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return pods_[pod].node;
  }
  std::vector<std::string> EventsOf(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> texts;
    for (const auto& [name, event] : events_) {
      if (event.pod == pod) texts.push_back(event.text);
    }
    return texts;
  }
  void Stop() {
    pods_watch_->Stop();
    events_watch_->Stop();
  }

 private:
  template <typename T>
  std::unique_ptr<client::Informer<T>> Watch(client::RestClient& rest, std::string path,
                                             T (*read)(const simdjson::dom::element&), std::map<std::string, T>& seen) {
    using Ptr = std::shared_ptr<const T>;
    typename client::Informer<T>::Options options;
    options.name = path;
    options.path = path;
    options.decode = [read](const simdjson::dom::element& object) -> Expected<Ptr> {
      return Ptr(std::make_shared<T>(read(object)));
    };
    typename client::Informer<T>::Handler handler;
    handler.on_add = [this, &seen](const Ptr& object) { Set(seen, *object); };
    handler.on_update = [this, &seen](const Ptr&, const Ptr& object) { Set(seen, *object); };
    handler.on_delete = [this, &seen](const Ptr& object) {
      const std::lock_guard lock(mutex_);
      seen.erase(object->name);
      changed_.notify_all();
    };
    return std::make_unique<client::Informer<T>>(rest, std::move(options), std::move(handler));
  }
  template <typename T>
  void Set(std::map<std::string, T>& seen, const T& object) {
    const std::lock_guard lock(mutex_);
    seen[object.name] = object;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Pods pods_;
  Events events_;
  std::unique_ptr<client::Informer<SeenPod>> pods_watch_;
  std::unique_ptr<client::Informer<SeenEvent>> events_watch_;
};

class SchedulerShellTest : public ::testing::Test {
 protected:
  explicit SchedulerShellTest(const std::vector<objects::ResourceType>& types = objects::ResourceTypes()) {
    apiserver::ApiServerOptions options;
    options.io = &server_io_;
    server_ = std::make_unique<apiserver::ApiServer>(types, clock_, options);
    gate_ = std::make_unique<Gate>(server_->InProcessTransport(client_io_));
    rest_ = std::make_unique<client::RestClient>(loop_, *gate_, nullptr, 1);
    test_transport_ = server_->InProcessTransport(test_io_);
    test_rest_ = std::make_unique<client::RestClient>(test_loop_, *test_transport_, nullptr, 2);
    observer_ = std::make_unique<Observer>(*test_rest_);
  }
  ~SchedulerShellTest() override {
    if (shell_) shell_->Stop(Duration{0});
    observer_->Stop();
    client_io_.Stop();
    test_io_.Stop();
    shell_.reset();
    retired_.clear();
    server_io_.Stop();
  }

  void EnableOnly(const std::string& plugins) {
    auto loaded = config::LoadConfiguration(R"({"apiVersion": "kubescheduler.config.k8s.io/v1",
      "kind": "KubeSchedulerConfiguration", "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "*"}],
      "enabled": [)" + plugins + "]}}}]}");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    configuration = *loaded;
  }
  void StartShell(std::size_t bindings_max = 128, ShellOptions options = {}) {
    options.seed = 7;
    options.hostname = "test";
    options.bindings_max = bindings_max;
    configuration.pod_initial_backoff_seconds = 1;
    auto made = SchedulerShell::Make(configuration, *rest_, *rest_, clock_, std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    shell_ = std::move(*made);
    shell_->Start();
  }

  void Create(const std::string& path, const std::string& body) {
    net::Request request;
    request.method = "POST";
    request.target = path;
    request.body = body;
    const auto created = test_rest_->DoSync(std::move(request));
    ASSERT_TRUE(created.ok()) << created.error().message;
  }
  void CreateNode(const std::string& name, const std::string& cpu = "4") {
    Create("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
                                R"("},"status":{"allocatable":{"cpu":")" + cpu + R"(","memory":"8Gi","pods":"110"}}})");
  }
  void CreatePod(const std::string& name, const std::string& cpu = "100m",
                 const std::string& scheduler = "default-scheduler") {
    Create("/api/v1/namespaces/default/pods",
           R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"("},"spec":{"schedulerName":")" +
               scheduler + R"(","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" + cpu +
               R"("}}}]}})");
  }
  bool WaitForBound(std::size_t count) {
    return observer_->Wait([count](const Observer::Pods& pods, const Observer::Events&) {
      std::size_t bound = 0;
      for (const auto& [name, pod] : pods) bound += pod.node.empty() ? 0 : 1;
      return bound >= count;
    });
  }
  bool WaitForEvents(std::size_t count) {
    return observer_->Wait(
        [count](const Observer::Pods&, const Observer::Events& events) { return events.size() >= count; });
  }

  SystemClock clock_;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  net::IoContext server_io_;
  net::IoContext client_io_;
  net::IoContext test_io_;
  client::IoEventLoop loop_{client_io_, clock_};
  client::IoEventLoop test_loop_{test_io_, clock_};
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<net::Transport> test_transport_;
  std::unique_ptr<client::RestClient> rest_;
  std::unique_ptr<client::RestClient> test_rest_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<SchedulerShell> shell_;
  std::vector<std::unique_ptr<SchedulerShell>> retired_;  // stopped; they go after the loop
};

TEST_F(SchedulerShellTest, BindsPodsWithAnEventEach) {
  for (const char* node : {"n1", "n2", "n3"}) CreateNode(node);
  for (int i = 0; i < 10; ++i) CreatePod("before-" + std::to_string(i));
  CreatePod("other", "100m", "another-scheduler");
  StartShell();
  ASSERT_TRUE(WaitForBound(10));
  for (int i = 0; i < 10; ++i) CreatePod("after-" + std::to_string(i));
  ASSERT_TRUE(WaitForBound(20));
  ASSERT_TRUE(WaitForEvents(20));
  for (const char* group : {"before-", "after-"}) {
    for (int i = 0; i < 10; ++i) {
      const std::string pod = group + std::to_string(i);
      EXPECT_EQ(observer_->EventsOf(pod), std::vector<std::string>{"Normal Scheduled: Successfully assigned default/" +
                                                                   pod + " to " + observer_->NodeOf(pod)});
    }
  }
  EXPECT_EQ(observer_->NodeOf("other"), "") << "a pod of another scheduler";
  EXPECT_TRUE(observer_->EventsOf("other").empty());
  shell_->Stop(std::chrono::seconds(10));
  EXPECT_EQ(shell_->counts().scheduled, 20u);
  EXPECT_EQ(shell_->counts().errors, 0u);
}

// With leader election.
TEST_F(SchedulerShellTest, AStandbyWritesNothingAndDecidesWhenItLeads) {
  for (const bool lists_when_leading : {false, true}) {
    const std::string name = lists_when_leading ? "cold" : "warm";
    std::atomic<bool> is_leading = false;
    ShellOptions options;
    options.is_leading = [&is_leading] { return is_leading.load(); };
    options.lists_when_leading = lists_when_leading;
    CreateNode("n-" + name);
    CreatePod("before-" + name);
    CreatePod("large-" + name, "100");
    StartShell(128, std::move(options));
    if (lists_when_leading) {
      EXPECT_FALSE(shell_->HasSynced());
    } else {
      const auto limit = std::chrono::steady_clock::now() + kTimeLimit;
      while (!shell_->HasSynced() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
      EXPECT_TRUE(shell_->HasSynced());
    }
    EXPECT_FALSE(shell_->IsIdle());
    EXPECT_EQ(shell_->counts().cycles, 0u);
    EXPECT_EQ(observer_->NodeOf("before-" + name), "");
    EXPECT_TRUE(observer_->EventsOf("large-" + name).empty());
    CreatePod("meanwhile-" + name);
    is_leading = true;
    loop_.Post([this] { shell_->Lead(); });
    ASSERT_TRUE(WaitForBound(lists_when_leading ? 4 : 2));
    ASSERT_TRUE(observer_->Wait([&](const Observer::Pods&, const Observer::Events& events) {
      return std::any_of(events.begin(), events.end(),
                         [&](const auto& event) { return event.second.pod == "large-" + name; });
    }));
    shell_->Stop(std::chrono::seconds(10));
    std::promise<void> performed;
    loop_.Post([&performed] { performed.set_value(); });
    performed.get_future().wait();
    retired_.push_back(std::move(shell_));
  }
}

TEST_F(SchedulerShellTest, OneThatLeadsNoMoreDecidesNothing) {
  std::atomic<bool> is_leading = true;
  ShellOptions options;
  options.is_leading = [&is_leading] { return is_leading.load(); };
  CreateNode("n1");
  CreatePod("first");
  StartShell(128, std::move(options));
  loop_.Post([this] { shell_->Lead(); });
  ASSERT_TRUE(WaitForBound(1));
  is_leading = false;
  const std::uint64_t cycles = shell_->counts().cycles;
  CreatePod("second");
  CreateNode("n2");
  shell_->Stop(std::chrono::seconds(10));
  EXPECT_EQ(shell_->counts().cycles, cycles);
  EXPECT_EQ(observer_->NodeOf("second"), "");
}

TEST_F(SchedulerShellTest, SaysWhyAPodWaitsAndBindsItWhenANodeAppears) {
  CreateNode("small", "1");
  CreatePod("large", "2");
  StartShell();
  const std::string why =
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
      "1 Preemption is not helpful for scheduling.";
  ASSERT_TRUE(observer_->Wait([](const Observer::Pods& pods, const Observer::Events& events) {
    const auto pod = pods.find("large");
    return pod != pods.end() && !pod->second.condition.empty() && !events.empty();
  }));
  observer_->Wait([&](const Observer::Pods& pods, const Observer::Events&) {
    EXPECT_EQ(pods.at("large").condition, "PodScheduled=False Unschedulable: " + why);
    return true;
  });
  EXPECT_EQ(observer_->EventsOf("large"), std::vector<std::string>{"Warning FailedScheduling: " + why});
  CreateNode("big", "4");
  ASSERT_TRUE(WaitForBound(1));
  EXPECT_EQ(observer_->NodeOf("large"), "big");
  ASSERT_TRUE(observer_->Wait([](const Observer::Pods& pods, const Observer::Events& events) {
    return events.size() == 2 && pods.at("large").condition == "PodScheduled=True";
  }));
}

TEST_F(SchedulerShellTest, ForgetsAPodThatIsDeletedWhileItWaits) {
  CreatePod("gone");
  StartShell();
  ASSERT_TRUE(WaitForEvents(1));
  net::Request request;
  request.method = "DELETE";
  request.target = "/api/v1/namespaces/default/pods/gone?gracePeriodSeconds=0";
  ASSERT_TRUE(test_rest_->DoSync(std::move(request)).ok());
  CreateNode("n1");
  CreatePod("there");
  ASSERT_TRUE(WaitForBound(1));
  shell_->Stop(std::chrono::seconds(10));
  EXPECT_EQ(shell_->counts().scheduled, 1u);
}

TEST_F(SchedulerShellTest, ABindingWithoutAnAnswerIsLookedUp) {
  struct Case {
    const char* pod;
    Gate::Mode mode;
  };
  const Case cases[] = {{"answer-lost", Gate::Mode::kLoseAnswer}, {"request-lost", Gate::Mode::kLoseRequest}};
  CreateNode("n1");
  StartShell();
  std::size_t bound = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.pod);
    gate_->Set(c.mode);
    CreatePod(c.pod);
    ++bound;
    ASSERT_TRUE(WaitForBound(bound));
    ASSERT_TRUE(WaitForEvents(bound));
    EXPECT_EQ(
        observer_->EventsOf(c.pod),
        std::vector<std::string>{std::string("Normal Scheduled: Successfully assigned default/") + c.pod + " to n1"});
  }
  shell_->Stop(std::chrono::seconds(10));
  EXPECT_EQ(shell_->counts().scheduled, 2u);
}

TEST_F(SchedulerShellTest, DecidesNoMoreThanSoManyBindingsAhead) {
  CreateNode("n1");
  gate_->Set(Gate::Mode::kHold);
  StartShell(2);
  for (int i = 0; i < 6; ++i) CreatePod("p" + std::to_string(i));
  ASSERT_TRUE(gate_->WaitForHeld(2));
  // What the shell would do beyond its bound, it would have done by the time it has seen this.
  CreateNode("n2");
  EXPECT_EQ(gate_->held(), 2u);
  EXPECT_LE(shell_->counts().cycles, 2u);
  gate_->Release();
  EXPECT_TRUE(WaitForBound(6));
}

TEST_F(SchedulerShellTest, StopWaitsForBindingsUnderWayAndTheirEvents) {
  CreateNode("n1");
  gate_->Set(Gate::Mode::kHold);
  StartShell();
  for (int i = 0; i < 5; ++i) CreatePod("p" + std::to_string(i));
  ASSERT_TRUE(gate_->WaitForHeld(5));
  auto stopped = std::async(std::launch::async, [this] { shell_->Stop(std::chrono::seconds(30)); });
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  CreatePod("late");
  gate_->Release();
  ASSERT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready)
      << "waited longer than for its bindings";
  EXPECT_EQ(shell_->counts().scheduled, 5u);
  ASSERT_TRUE(WaitForBound(5));
  ASSERT_TRUE(WaitForEvents(5)) << "each with its event";
  EXPECT_EQ(observer_->NodeOf("late"), "") << "it was told to end";
}

TEST_F(SchedulerShellTest, StopDoesNotWaitWhenNothingIsUnderWay) {
  CreateNode("n1");
  CreatePod("p");
  StartShell();
  ASSERT_TRUE(WaitForBound(1));
  ASSERT_TRUE(WaitForEvents(1));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(shell_->Stop(std::chrono::seconds(30)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(SchedulerShellTest, StopGivesUpAfterItsGraceWhenTheServerDoesNotAnswer) {
  CreateNode("n1");
  gate_->Set(Gate::Mode::kHold);
  StartShell();
  for (int i = 0; i < 3; ++i) CreatePod("p" + std::to_string(i));
  ASSERT_TRUE(gate_->WaitForHeld(3));
  gate_->Set(Gate::Mode::kUnreachable);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(shell_->Stop(std::chrono::milliseconds(200))) << "they may have been bound";
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(200)) << "bindings get their grace";
  EXPECT_LT(took, std::chrono::seconds(10));
  EXPECT_EQ(shell_->counts().scheduled, 0u);
}

TEST_F(SchedulerShellTest, StopEndsAShellThatNeverReachedItsServer) {
  gate_->Set(Gate::Mode::kUnreachable);
  StartShell();
  const auto begin = std::chrono::steady_clock::now();
  shell_->Stop(std::chrono::seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "there is nothing to wait for";
  EXPECT_FALSE(shell_->HasSynced());
  shell_->Stop(std::chrono::seconds(30));  // once more does nothing
}

TEST_F(SchedulerShellTest, WatchesTheKindsThatItsPluginsRead) {
  CreateNode("n1");
  CreatePod("p");
  StartShell();
  ASSERT_TRUE(WaitForBound(1));
  EXPECT_TRUE(shell_->HasSynced());
  std::set<std::string> lists = gate_->lists();
  for (const char* path : {"/api/v1/pods", "/api/v1/nodes", "/apis/resource.k8s.io/v1/resourceclaims"}) {
    EXPECT_TRUE(lists.contains(path)) << path;
  }
  EXPECT_FALSE(lists.contains("/apis/apps/v1/deployments"));
}

TEST_F(SchedulerShellTest, WatchesNothingMoreForFewPlugins) {
  EnableOnly(R"({"name": "PrioritySort"}, {"name": "NodeUnschedulable"}, {"name": "DefaultBinder"})");
  CreateNode("n1");
  CreatePod("p");
  StartShell();
  ASSERT_TRUE(WaitForBound(1));
  EXPECT_EQ(gate_->lists(), (std::set<std::string>{"/api/v1/nodes", "/api/v1/pods"}));
}

TEST_F(SchedulerShellTest, PreemptsThroughTheApi) {
  CreateNode("n1", "1");
  Create("/apis/scheduling.k8s.io/v1/priorityclasses", R"({"metadata":{"name":"high"},"value":1000})");
  const auto pod = [](const std::string& name, const std::string& more) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{)" + more +
           R"("terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"i",
              "resources":{"requests":{"cpu":"800m"}}}]}})";
  };
  StartShell();
  Create("/api/v1/namespaces/default/pods", pod("low", ""));
  ASSERT_TRUE(WaitForBound(1));
  Create("/api/v1/namespaces/default/pods", pod("high", R"("priorityClassName":"high",)"));
  ASSERT_TRUE(observer_->Wait([](const Observer::Pods& pods, const Observer::Events&) {
    return !pods.contains("low") && pods.contains("high") && pods.at("high").node == "n1";
  }));
  ASSERT_TRUE(observer_->Wait([](const Observer::Pods&, const Observer::Events& events) {
    return std::any_of(events.begin(), events.end(), [](const auto& event) {
      return event.second.pod == "low" && event.second.text.starts_with("Normal Preempted: Preempted by pod ");
    });
  }));
}

TEST_F(SchedulerShellTest, APodThatWaitsForItsVolumeHoldsNobodyBack) {
  EnableOnly(R"({"name": "PrioritySort"}, {"name": "VolumeBinding"}, {"name": "DefaultBinder"})");
  CreateNode("n1");
  Create("/apis/storage.k8s.io/v1/storageclasses",
         R"({"metadata":{"name":"s"},"provisioner":"example.com/p","volumeBindingMode":"WaitForFirstConsumer"})");
  Create("/api/v1/namespaces/default/persistentvolumeclaims",
         R"({"metadata":{"name":"c"},"spec":{"storageClassName":"s","accessModes":["ReadWriteOnce"],
             "resources":{"requests":{"storage":"1Gi"}}}})");
  Create("/api/v1/namespaces/default/pods",
         R"({"metadata":{"name":"a-waits"},"spec":{"containers":[{"name":"c","image":"i"}],
             "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})");
  CreatePod("other");  // listed, and so tried, after the first
  StartShell(1);
  ASSERT_TRUE(WaitForBound(1));
  EXPECT_EQ(observer_->NodeOf("other"), "n1");
  EXPECT_EQ(observer_->NodeOf("a-waits"), "");
  net::Request request;
  request.target = "/api/v1/namespaces/default/persistentvolumeclaims/c";
  const auto claim = test_rest_->DoSync(std::move(request));
  ASSERT_TRUE(claim.ok());
  EXPECT_NE(claim->body.find(R"("volume.kubernetes.io/selected-node":"n1")"), std::string::npos) << claim->body;
  const auto begin = std::chrono::steady_clock::now();
  shell_->Stop(std::chrono::seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "nor the end";
}

// The server does not serve devices.
std::vector<objects::ResourceType> TypesWithoutDevices() {
  std::vector<objects::ResourceType> types = objects::ResourceTypes();
  std::erase_if(types, [](const objects::ResourceType& type) { return type.group == "resource.k8s.io"; });
  return types;
}
const std::vector<objects::ResourceType>& FewTypes() {
  static const std::vector<objects::ResourceType> kTypes = TypesWithoutDevices();
  return kTypes;
}

class OldServerTest : public SchedulerShellTest {
 protected:
  OldServerTest() : SchedulerShellTest(FewTypes()) {}
};

TEST_F(OldServerTest, SchedulesWithoutTheKindsThatTheServerDoesNotHave) {
  CreateNode("n1");
  CreatePod("p");
  StartShell();
  ASSERT_TRUE(WaitForBound(1));
  EXPECT_TRUE(gate_->lists().contains("/apis/policy/v1/poddisruptionbudgets"));
}

}  // namespace
}  // namespace berth::runner
