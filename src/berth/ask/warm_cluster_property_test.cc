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
      priorityClassName: "PRIORITY"
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

std::string Web(int replicas, const std::string& cpu, const std::string& priority = "",
                const std::string& spread = "") {
  std::string text = Replaced(kWeb, "REPLICAS", std::to_string(replicas));
  return Replaced(Replaced(Replaced(text, "CPU", cpu), "PRIORITY", priority), "SPREAD", spread);
}

// What a world has beside nodes and pods that run.
struct WorldOptions {
  bool has_waiting_pods = false;
  bool has_preemption = false;  // by pods of questions; where they wait, some pods of the cluster preempt others, too
  bool has_claims = false;      // of pods that wait: volumes that are made once a node is chosen
};

// A random cluster, its changes, and questions about it.
class World {
 public:
  explicit World(std::uint64_t seed, WorldOptions options = {}) : random_(seed), options_(options) {
    api::StorageClass storage_class;
    storage_class.metadata.name = "late";
    storage_class.provisioner = "disks";
    storage_class.volume_binding_mode = "WaitForFirstConsumer";
    log_.Push(ObjectChange(std::make_shared<const api::StorageClass>(std::move(storage_class))));
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
    const int replicas = static_cast<int>(1 + random_.Below(12));
    const std::string cpu = std::to_string(100 * (1 + random_.Below(20))) + "m";
    const std::string spread = random_.Below(2) == 0 ? "" : kSpread;
    const bool preempts = options_.has_preemption && random_.Below(3) == 0;
    const std::string text = Web(replicas, cpu, preempts ? "system-cluster-critical" : "", spread);
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
    const std::string node = random_.Below(5) == 0 && options_.has_waiting_pods ? "" : SomeNode();
    // Pods that run are below those of questions, and some of them are equally good victims.
    const auto priority = static_cast<std::int32_t>(random_.Below(3));
    auto made = whatif::RunningPod("app" + std::to_string(random_.Below(4)), name, node);
    made.Request("cpu", std::to_string(100 * (1 + random_.Below(8))) + "m")
        .Priority(node.empty() && !options_.has_preemption ? 0 : priority)
        .Created(whatif::kNow)
        .Started(whatif::kNow - std::chrono::seconds(pod_count_ / 6));
    if (node.empty() && options_.has_claims && random_.Below(2) == 0) {
      api::PersistentVolumeClaim claim;
      claim.metadata.namespace_name = "default";
      claim.metadata.name = "of-" + name;
      claim.metadata.uid = claim.metadata.name;
      claim.metadata.resource_version = "1";
      claim.storage_class_name = "late";
      claim.access_modes = {"ReadWriteOnce"};
      claim.phase = "Pending";
      made.Claim(claim.metadata.name);
      log_.Push(ObjectChange(std::make_shared<const api::PersistentVolumeClaim>(std::move(claim))));
    }
    api::Pod pod = made.Build();
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
  const WorldOptions options_;
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
  const std::uint64_t kind_of_world = GetParam() % 8;
  const WorldOptions options{(kind_of_world & 1U) != 0, (kind_of_world & 2U) != 0, (kind_of_world & 4U) != 0};
  World world(GetParam(), options);
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
  // Volumes that are made for pods that wait change their claims, which cannot be taken back.
  if (options.has_waiting_pods && options.has_claims) return;
  EXPECT_LT(warm.loads(), 50U) << "questions of a kind that can be taken back leave the core alone";
}

INSTANTIATE_TEST_SUITE_P(Seeds, WarmClusterProperty, ::testing::Range<std::uint64_t>(1, 65));

// Questions that do each kind of thing, on one core.
struct KeptCore {
  const char* name;
  WorldOptions options;
  const char* question;
  codec::json::object body;
};

class WarmClusterKeeps : public ::testing::TestWithParam<KeptCore> {};

TEST_P(WarmClusterKeeps, ItsCore) {
  World world(7, GetParam().options);
  const StillClock clock;
  WarmCluster warm(world.log(), DefaultCore, clock, true);
  warm.CatchUp();
  const QuestionKind* const kind = FindQuestion(GetParam().question);
  OnceCluster once(warm.state(), DefaultCore);
  const std::string want = Said(kind->answer(GetParam().body, {}, once, {}));
  for (int i = 0; i < 10; ++i) {
    warm.CatchUp();
    ASSERT_EQ(Said(kind->answer(GetParam().body, {}, warm, {})), want);
  }
  EXPECT_EQ(warm.loads(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Questions, WarmClusterKeeps,
    ::testing::Values(
        KeptCore{"Pods", {}, "simulate", {{"manifests", Web(5, "10m")}}},
        KeptCore{"PodsWhileOthersWait", {.has_waiting_pods = true}, "simulate", {{"manifests", Web(5, "10m")}}},
        KeptCore{"LostNodes", {}, "simulate", {{"removeNodes", codec::json::array{"node-1", "node-3"}}}},
        KeptCore{"Capacity", {}, "capacity", {{"cpu", "500m"}}},
        KeptCore{"Drain", {}, "can-drain", {{"nodes", codec::json::array{"node-1"}}}},
        KeptCore{"Headroom", {}, "headroom", {{"losses", 1}}},
        KeptCore{"Pending", {.has_waiting_pods = true}, "explain", {{"pending", true}}}),
    [](const auto& kept) { return std::string(kept.param.name); });

TEST(WarmClusterTest, ATrialThatIsInterruptedIsTakenBackToo) {
  World world(3);
  const StillClock clock;
  WarmCluster warm(world.log(), DefaultCore, clock, true);
  const codec::json::object body{{"manifests", Web(50, "10m")}};
  warm.CatchUp();
  const std::string want = Said(FindQuestion("simulate")->answer(body, {}, warm, {}));
  for (int turns = 0; turns < 3; ++turns) {
    warm.SetInterrupt([left = turns]() mutable { return left-- == 0; });
    (void)FindQuestion("simulate")->answer(body, {}, warm, {});
    warm.SetInterrupt({});
    EXPECT_EQ(Said(FindQuestion("simulate")->answer(body, {}, warm, {})), want);
  }
  EXPECT_EQ(warm.loads(), 1U);
}

}  // namespace
}  // namespace berth::ask
