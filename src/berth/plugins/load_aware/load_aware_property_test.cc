// SPDX-License-Identifier: Apache-2.0
// What defines LoadAware, on random clusters whose measurements come, grow old and go: no pod is placed while a node
// that has room for it and is not hot has a lower predicted use; no hot node gets one; a pod that waits has no such
// node.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/outside_testing.h"
#include "berth/plugins/load_aware/usage_report.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using scheduler::Harness;
using scheduler::OutsideDone;

constexpr Duration kFreshness = 60s;
constexpr Duration kWindow = 30s;
constexpr double kHot = 0.8;

struct ModelPod {
  std::string name;
  double cpu_milli = 0, memory_mi = 0;
  std::string node;
  std::optional<Time> started;
};

struct ModelNode {
  double cpu_milli = 0, memory_mi = 0;
  std::optional<double> cpu, memory;  // shares as said last
  Time measured_at{};
};

class Model {
 public:
  explicit Model(std::uint64_t seed)
      : random_(seed),
        harness_(ProfilesWith(names::kLoadAware, 1600,
                              R"({"source":"prometheus","hotThreshold":80,"measurementWindow":"30s","freshness":"60s",)"
                              R"("prometheus":{"url":"http://p","cpuQuery":"c","memoryQuery":"m"}})")) {
    for (std::uint64_t i = 0, count = 2 + random_.Below(9); i < count; ++i) {
      const std::string name = "n" + std::to_string(i);
      ModelNode& node = nodes_[name];
      node.cpu_milli = 1000.0 * static_cast<double>(2 + 2 * random_.Below(4));
      node.memory_mi = 1024.0 * static_cast<double>(4 + 4 * random_.Below(4));
      harness_.Set(testing::MakeNode(name)
                       .Allocatable("cpu", std::to_string(static_cast<int>(node.cpu_milli)) + "m")
                       .Allocatable("memory", std::to_string(static_cast<int>(node.memory_mi)) + "Mi"));
    }
  }

  void Step() {
    switch (random_.Below(8)) {
      case 0: Measure(); break;
      case 1: Pass(static_cast<int>(random_.Below(40))); break;
      case 2: StartSome(); break;
      case 3: RemoveOne(); break;
      default: Create(); break;
    }
    Schedule();
  }

  int placed = 0, waited = 0, on_measured = 0, refused_hot = 0;

 private:
  // New measurements of most nodes, in two answers as Prometheus gives them.
  void Measure() {
    auto cpu = std::make_shared<UsageReport>();
    auto memory = std::make_shared<UsageReport>();
    const Time at = harness_.now - std::chrono::seconds(random_.Below(20));
    for (auto& [name, node] : nodes_) {
      node.cpu.reset();
      node.memory.reset();
      if (random_.Below(5) == 0) continue;
      node.measured_at = at;
      node.cpu = static_cast<double>(random_.Below(95)) / 100;
      node.memory = static_cast<double>(random_.Below(60)) / 100;
      cpu->nodes[name].cpu = Measurement{*node.cpu, at, kWindow};
      memory->nodes[name].memory = Measurement{*node.memory, at, kWindow};
    }
    Deliver(0, cpu);
    Deliver(1, memory);
  }
  void Deliver(std::size_t source, std::shared_ptr<const framework::OutsideData> data) {
    delivered_at_ = harness_.now;
    harness_.core.Handle(OutsideDone{source, std::move(data)}, harness_.now);
  }
  void Pass(int seconds) {
    harness_.now += std::chrono::seconds(seconds);
    Deliver(2, nullptr);
  }
  testing::PodBuilder Builder(const ModelPod& pod) const {
    auto builder = testing::MakePod(pod.name)
                       .Request("cpu", std::to_string(static_cast<int>(pod.cpu_milli)) + "m")
                       .Request("memory", std::to_string(static_cast<int>(pod.memory_mi)) + "Mi");
    if (!pod.node.empty()) builder.Node(pod.node);
    if (pod.started) builder.Started(*pod.started);
    return builder;
  }
  void Create() {
    ModelPod pod{"p" + std::to_string(created_++),
                 100.0 * static_cast<double>(1 + random_.Below(10)),
                 128.0 * static_cast<double>(1 + random_.Below(8)),
                 "",
                 {}};
    harness_.Set(Builder(pod));
    pods_[pod.name] = pod;
  }
  void StartSome() {
    for (auto& [name, pod] : pods_) {
      if (pod.node.empty() || pod.started || random_.Below(2) == 0) continue;
      pod.started = harness_.now - std::chrono::seconds(random_.Below(10));
      harness_.Set(Builder(pod));
    }
  }
  void RemoveOne() {
    if (pods_.empty()) return;
    const auto it = std::next(pods_.begin(), static_cast<std::ptrdiff_t>(random_.Below(pods_.size())));
    harness_.Remove(Builder(it->second));
    pods_.erase(it);
  }

  void Schedule() {
    harness_.core.Tick(harness_.now);
    while (harness_.core.ScheduleOne(harness_.now)) {
      for (const std::string& line : harness_.Take()) {
        if (line.starts_with("bind ")) {
          const std::size_t to = line.find(" to ");
          Bound(pods_.at(line.substr(5, to - 5)), line.substr(to + 4));
        } else if (line.starts_with("status ")) {
          Waits(pods_.at(line.substr(7, line.find(' ', 7) - 7)));
        }
      }
    }
  }
  void Bound(ModelPod& pod, const std::string& node) {
    ASSERT_TRUE(pod.node.empty());
    ASSERT_TRUE(Fits(node, pod) && !IsHot(node)) << pod.name << " on " << node;
    for (const auto& [other, unused] : nodes_) {
      if (!MayTake(other, pod)) continue;
      EXPECT_LE(Use(node, pod), Use(other, pod) + 2e-6) << pod.name << " is on " << node << ", better is " << other;
    }
    ++placed;
    on_measured += IsFresh(nodes_.at(node)) ? 1 : 0;
    pod.node = node;
  }
  void Waits(const ModelPod& pod) {
    for (const auto& [name, unused] : nodes_) {
      EXPECT_FALSE(MayTake(name, pod)) << pod.name << " waits, and could be on " << name;
      refused_hot += IsHot(name) ? 1 : 0;
    }
    ++waited;
  }

  bool IsFresh(const ModelNode& node) const { return node.cpu && delivered_at_ - node.measured_at <= kFreshness; }
  // Shares of cpu and memory, without a new pod.
  std::pair<double, double> Shares(const std::string& name) const {
    const ModelNode& node = nodes_.at(name);
    const bool is_fresh = IsFresh(node);
    double cpu = 0;
    double memory = 0;
    for (const auto& [unused, pod] : pods_) {
      if (pod.node != name) continue;
      if (is_fresh && pod.started && *pod.started <= node.measured_at - kWindow) continue;
      cpu += pod.cpu_milli / node.cpu_milli;
      memory += pod.memory_mi / node.memory_mi;
    }
    return is_fresh ? std::pair{cpu + *node.cpu, memory + *node.memory} : std::pair{cpu, memory};
  }
  bool IsHot(const std::string& name) const {
    const auto [cpu, memory] = Shares(name);
    return IsFresh(nodes_.at(name)) && (cpu > kHot + 1e-9 || memory > kHot + 1e-9);
  }
  // On the edge the last bit of a sum may decide either way.
  bool IsOnEdge(const std::string& name) const {
    const auto [cpu, memory] = Shares(name);
    return std::abs(cpu - kHot) < 1e-9 || std::abs(memory - kHot) < 1e-9;
  }
  bool MayTake(const std::string& name, const ModelPod& wanted) const {
    return Fits(name, wanted) && !IsHot(name) && !IsOnEdge(name);
  }
  bool Fits(const std::string& name, const ModelPod& wanted) const {
    const ModelNode& node = nodes_.at(name);
    double cpu = wanted.cpu_milli;
    double memory = wanted.memory_mi;
    for (const auto& [unused, pod] : pods_) {
      if (pod.node != name) continue;
      cpu += pod.cpu_milli;
      memory += pod.memory_mi;
    }
    return cpu <= node.cpu_milli && memory <= node.memory_mi;
  }
  double Use(const std::string& name, const ModelPod& pod) const {
    const ModelNode& node = nodes_.at(name);
    const auto [cpu, memory] = Shares(name);
    return std::max(cpu + pod.cpu_milli / node.cpu_milli, memory + pod.memory_mi / node.memory_mi);
  }

  Random random_;
  Harness harness_;
  std::map<std::string, ModelNode> nodes_;
  std::map<std::string, ModelPod> pods_;
  Time delivered_at_{};
  int created_ = 0;
};

TEST(LoadAwareProperty, NoLessUsedNodeIsPassedOver) {
  int placed = 0, waited = 0, on_measured = 0, refused_hot = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed);
    for (int step = 0; step < 120; ++step) model.Step();
    placed += model.placed;
    waited += model.waited;
    on_measured += model.on_measured;
    refused_hot += model.refused_hot;
    if (HasFailure()) return;
  }
  // A model that meets nothing would prove nothing.
  EXPECT_GT(placed, 1000);
  EXPECT_GT(waited, 20);
  EXPECT_GT(on_measured, placed / 4);
  EXPECT_GT(refused_hot, 20);
}

}  // namespace
}  // namespace berth::plugins
