// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/warm_cluster.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/ask/ask_testing.h"
#include "berth/ask/question_kinds.h"
#include "berth/base/random.h"

namespace berth::ask {
namespace {

using testing::MakeNode;
using testing::MakePod;

class StillClock final : public Clock {
 public:
  Time Now() const override { return whatif::kNow; }
  Time WallNow() const override { return whatif::kNow; }
};

constexpr char kWeb[] = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: x, resources: {requests: {cpu: CPU}}}]
SPREAD)";

constexpr char kSpread[] = R"(      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
)";

constexpr char kClaim[] = R"(---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
)";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// A random cluster, its changes, and questions about it.
class World {
 public:
  explicit World(std::uint64_t seed, bool has_waiting_pods = false)
      : random_(seed), has_waiting_pods_(has_waiting_pods) {
    for (int i = 0; i < 12; ++i) AddNode();
    for (int i = 0; i < 40; ++i) AddPod();
  }

  ChangeLog& log() { return log_; }

  void Change() {
    switch (random_.Below(8)) {
      case 0: return AddNode();
      case 1: return RemoveNode();
      case 2:
      case 3: return RemovePod();
      default: return AddPod();
    }
  }

  std::pair<std::string, codec::json::object> Ask() {
    using codec::json::array, codec::json::object;
    switch (random_.Below(7)) {
      case 0: return {"can-drain", object{{"nodes", array{SomeNode()}}}};
      case 1: return {"headroom", object{{"losses", 2}}};
      case 2: return {"capacity", object{{"cpu", std::to_string(100 * (1 + random_.Below(9))) + "m"}}};
      case 3: return {"explain", object{{"pending", true}}};
      case 4: return {"simulate", object{{"removeNodes", array{SomeNode()}}}};
      case 5: return {"simulate", object{{"addNodes", 2}, {"nodeLike", SomeNode()}, {"manifests", Manifest()}}};
      default: return {"simulate", object{{"manifests", Manifest()}}};
    }
  }

 private:
  std::string Manifest() {
    std::string text = Replaced(kWeb, "REPLICAS", std::to_string(1 + random_.Below(12)));
    text = Replaced(text, "CPU", std::to_string(100 * (1 + random_.Below(20))) + "m");
    text = Replaced(text, "SPREAD", random_.Below(2) == 0 ? "" : kSpread);
    return random_.Below(3) == 0 ? text + kClaim : text;
  }

  void AddNode() {
    const std::string name = "node-" + std::to_string(nodes_++);
    names_.push_back(name);
    log_.Push(NodeChange(MakeNode(name)
                             .Label("zone", "z" + std::to_string(random_.Below(3)))
                             .Allocatable("cpu", std::to_string(2 + random_.Below(6)))
                             .Allocatable("pods", "20")
                             .Build()));
  }
  void RemoveNode() {
    if (names_.size() < 4) return;
    const std::size_t index = random_.Below(names_.size());
    // Its pods are gone first, as the garbage collector has it.
    for (auto at = pods_.begin(); at != pods_.end();) {
      if (at->second == names_[index]) {
        log_.Push(PodGone("default", at->first));
        at = pods_.erase(at);
      } else {
        ++at;
      }
    }
    log_.Push(NodeGone(names_[index]));
    names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void AddPod() {
    const std::string name = "pod-" + std::to_string(pod_count_++);
    const std::string node = random_.Below(5) == 0 && has_waiting_pods_ ? "" : SomeNode();
    api::Pod pod = whatif::RunningPod("app" + std::to_string(random_.Below(4)), name, node)
                       .Request("cpu", std::to_string(100 * (1 + random_.Below(8))) + "m")
                       .Priority(static_cast<std::int32_t>(random_.Below(3)))
                       .Created(whatif::kNow)
                       .Started(whatif::kNow - std::chrono::seconds(pod_count_))
                       .Build();
    if (!node.empty()) pod.status.phase = api::PodPhase::kRunning;
    pods_[name] = node;
    log_.Push(PodChange(std::make_shared<const api::Pod>(std::move(pod))));
  }
  void RemovePod() {
    if (pods_.empty()) return;
    auto at = pods_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.Below(pods_.size())));
    log_.Push(PodGone("default", at->first));
    pods_.erase(at);
  }
  std::string SomeNode() { return names_[random_.Below(names_.size())]; }

  Random random_;
  const bool has_waiting_pods_;
  ChangeLog log_;
  std::size_t nodes_ = 0;
  std::size_t pod_count_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, std::string> pods_;  // by name: the node
};

std::string Said(const Expected<Reply>& reply) {
  return reply.ok() ? codec::WriteJson(reply->document) + std::string(ToString(reply->verdict)) : reply.error().message;
}

class WarmClusterProperty : public ::testing::TestWithParam<std::uint64_t> {};

// The plain twin is a core that has just been loaded: what the command asks.
TEST_P(WarmClusterProperty, AnswersAsACoreThatWasJustLoaded) {
  const bool has_waiting_pods = GetParam() % 4 == 0;
  World world(GetParam(), has_waiting_pods);
  const StillClock clock;
  WarmCluster warm(world.log(), DefaultCore, clock, true);
  for (int step = 0; step < 60; ++step) {
    const auto [name, body] = world.Ask();
    warm.CatchUp();
    OnceCluster once(warm.state(), DefaultCore);
    const QuestionKind* const kind = FindQuestion(name);
    ASSERT_NE(kind, nullptr);
    const std::string want = Said(kind->answer(body, {}, once, {}));
    const std::string got = Said(kind->answer(body, {}, warm, {}));
    ASSERT_EQ(got, want) << "seed " << GetParam() << ", step " << step << ": " << name << ' ' << codec::WriteJson(body);
    if (step % 2 == 1) world.Change();
  }
  if (has_waiting_pods) return;
  EXPECT_LT(warm.loads(), 50U) << "questions of a kind that can be taken back leave the core alone";
}

INSTANTIATE_TEST_SUITE_P(Seeds, WarmClusterProperty, ::testing::Range<std::uint64_t>(1, 41));

TEST(WarmClusterTest, NothingIsLoadedForAQuestionThatOnlyAddsPods) {
  World world(7);
  const StillClock clock;
  WarmCluster warm(world.log(), DefaultCore, clock, true);
  for (int i = 0; i < 20; ++i) {
    warm.CatchUp();
    const auto reply =
        FindQuestion("simulate")
            ->answer({{"manifests", Replaced(Replaced(Replaced(kWeb, "REPLICAS", "5"), "CPU", "10m"), "SPREAD", "")}},
                     {}, warm, {});
    ASSERT_TRUE(reply.ok()) << reply.error().message;
  }
  EXPECT_EQ(warm.loads(), 1U);
}

TEST(WarmClusterTest, AnInterruptedTrialSpoilsTheCoreAlone) {
  World world(3);
  const StillClock clock;
  WarmCluster warm(world.log(), DefaultCore, clock, true);
  const codec::json::object body{
      {"manifests", Replaced(Replaced(Replaced(kWeb, "REPLICAS", "50"), "CPU", "10m"), "SPREAD", "")}};
  warm.CatchUp();
  const std::string want = Said(FindQuestion("simulate")->answer(body, {}, warm, {}));
  warm.SetInterrupt([] { return true; });
  (void)FindQuestion("simulate")->answer(body, {}, warm, {});
  warm.SetInterrupt({});
  EXPECT_EQ(Said(FindQuestion("simulate")->answer(body, {}, warm, {})), want);
}

}  // namespace
}  // namespace berth::ask
