// SPDX-License-Identifier: Apache-2.0
// BestPrice in a whole scheduler: the property that defines it on random clusters, and what happens when prices change
// or are nonsense. The profile is the ready one of deploy/config.
#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/testing/source_path.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using scheduler::Harness;
using scheduler::Lines;
using testing::MakeNode;
using testing::MakePod;

std::string ReadyFile() {
  std::ifstream file(testing::SourcePath("deploy/config/best-price.yaml"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

scheduler::Profiles ProfilesOf(config::KubeSchedulerConfiguration configuration) {
  scheduler::Profiles profiles;
  auto made = runtime::MakeProfiles(configuration, InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

// The ready profile, with other arguments of BestPrice where `args` is not empty.
scheduler::Profiles ReadyProfile(const std::string& args = "") {
  auto configuration = config::LoadConfiguration(ReadyFile());
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  const auto valid = config::ValidateConfiguration(*configuration);
  BERTH_CHECK(valid.ok(), valid.error().message);
  if (!args.empty()) {
    auto& all = configuration->profiles.front().plugin_config;
    const auto own = std::find_if(all.begin(), all.end(), [](const auto& entry) { return entry.name == "BestPrice"; });
    BERTH_CHECK(own != all.end(), "the ready profile shows no arguments");
    own->args = config::RawArgs{args};
  }
  return ProfilesOf(std::move(*configuration));
}

testing::PodBuilder Pod(const std::string& name) { return MakePod(name).SchedulerName("best-price"); }

testing::NodeBuilder Priced(const std::string& name, std::string_view price) {
  return MakeNode(name).Annotation("berth.dev/price", price);
}

// The node that the pod was bound to just now, confirmed as the API server would; empty: none.
std::string Bound(Harness& h, const testing::PodBuilder& pod) {
  const std::string prefix = "bind " + pod.Build().metadata.name + " to ";
  for (const std::string& line : h.Take()) {
    if (!line.starts_with(prefix)) continue;
    const std::string node = line.substr(prefix.size());
    h.Answer();
    h.Set(testing::PodBuilder(pod).Node(node));
    h.Take();
    return node;
  }
  return "";
}

std::string Place(Harness& h, const testing::PodBuilder& pod) {
  h.Set(pod);
  h.Run();
  return Bound(h, pod);
}

TEST(BestPriceScheduling, ThePriceDecidesAndNotHowFullNodesAre) {
  Harness h(ReadyProfile());
  h.Set(Priced("full", "0.05").Allocatable("cpu", "1"));
  h.Set(Priced("empty", "0.10").Allocatable("cpu", "64"));
  h.Set(MakeNode("none").Allocatable("cpu", "64"));
  for (const char* want : {"full", "full", "full", "full", "empty"})
    EXPECT_EQ(Place(h, Pod("p" + std::to_string(h.core.counts().scheduled)).Request("cpu", "250m")), want);
}

TEST(BestPriceScheduling, NodesWithoutAPriceAreUsedLast) {
  Harness h(ReadyProfile());
  h.Set(MakeNode("none"));
  EXPECT_EQ(Place(h, Pod("p1").Request("cpu", "3")), "none") << "rather than nowhere";
  h.Set(MakeNode("none2"));
  h.Set(Priced("dear", "1000000000"));
  EXPECT_EQ(Place(h, Pod("p2").Request("cpu", "3")), "dear");
  EXPECT_EQ(Place(h, Pod("p3").Request("cpu", "3")), "none2");
}

TEST(BestPriceScheduling, APriceThatChangesCountsForTheNextPod) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "0.1"));
  h.Set(Priced("b", "0.2"));
  EXPECT_EQ(Place(h, Pod("p1")), "a");
  EXPECT_EQ(Place(h, Pod("p2")), "a");  // from what is kept for the class
  h.Set(Priced("a", "0.3"));
  EXPECT_EQ(Place(h, Pod("p3")), "b");
  EXPECT_EQ(Place(h, Pod("p4")), "b");
  h.Set(Priced("c", "0"));
  EXPECT_EQ(Place(h, Pod("p5")), "c");
  h.Set(MakeNode("c"));
  EXPECT_EQ(Place(h, Pod("p6")), "b");
}

TEST(BestPriceScheduling, ABadPriceStopsNothingAndIsReportedOnce) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "-0.1"));
  h.Set(Priced("b", "0.2"));
  h.Set(Priced("c", "0,1"));
  h.Set(Pod("p1"));
  h.Run();
  int event_count = 0;
  for (const std::string& line : h.Take()) event_count += line.starts_with("Warning InvalidPrice") ? 1 : 0;
  EXPECT_EQ(event_count, 2);
  EXPECT_EQ(Place(h, Pod("p2")), "b");
  h.Set(Pod("p3"));
  h.Run();
  for (const std::string& line : h.Take()) EXPECT_FALSE(line.starts_with("Warning")) << line;
}

TEST(BestPriceScheduling, ABadPriceOnTheOnlyNodeIsReportedToo) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "NaN"));
  h.Set(Pod("p1"));
  h.Run();
  const Lines lines = h.Take();
  EXPECT_EQ(std::count(lines.begin(), lines.end(),
                       "Warning InvalidPrice a: annotation berth.dev/price: \"NaN\" is no price: want a decimal number "
                       "from 0 to 1000000000; it counts as none"),
            1);
}

TEST(BestPriceScheduling, ARefusedPodIsTriedAgainWhenAPriceChanges) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "0.2"));
  const auto pod = Pod("p").Annotation("berth.dev/max-price", "0.1");
  EXPECT_EQ(Place(h, pod), "");
  EXPECT_EQ(h.core.queue().unschedulable_count(), 1U);
  h.Set(Priced("a", "0.15"));
  EXPECT_EQ(h.core.queue().unschedulable_count(), 1U) << "still too dear";
  h.Set(Priced("a", "0.1"));
  EXPECT_EQ(h.core.queue().unschedulable_count(), 0U);
  h.Run(2s);
  EXPECT_EQ(Bound(h, pod), "a");
}

TEST(BestPriceScheduling, TheMessageSaysWhyAPodWaits) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "0.2"));
  h.Set(MakeNode("b"));
  h.Set(Pod("p").Annotation("berth.dev/max-price", "0.1"));
  h.Run();
  std::string text;
  for (const std::string& line : h.Take()) text += line + "\n";
  EXPECT_NE(text.find("0/2 nodes are available: 1 node(s) cost more than the pod's berth.dev/max-price, 1 node(s) had "
                      "no price."),
            std::string::npos)
      << text;
}

TEST(BestPriceScheduling, APodWithABadCeilingIsReportedAndTriedAgainOnceItIsMended) {
  Harness h(ReadyProfile());
  h.Set(Priced("a", "0.2"));
  h.Set(Pod("p").Annotation("berth.dev/max-price", "cheap"));
  h.Run();
  std::string text;
  for (const std::string& line : h.Take()) text += line + "\n";
  EXPECT_NE(text.find("annotation berth.dev/max-price: \"cheap\" is no price"), std::string::npos) << text;
  EXPECT_EQ(h.core.queue().unschedulable_count(), 1U);
  const auto mended = Pod("p").Annotation("berth.dev/max-price", "0.2");
  h.Set(mended);
  h.Run(2s);
  EXPECT_EQ(Bound(h, mended), "a");
}

// ---- the property

// A cluster as the test sees it: what nodes have, cost and have left.
struct ModelNode {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_gib = 0;
  std::int64_t pods = 0;
  bool is_unschedulable = false;
  std::string disk;
  std::string price;                  // the annotation's text; empty: none
  std::optional<std::int64_t> micro;  // what the test says that it costs
};

struct ModelPod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_gib = 0;
  std::string disk;                     // node selector; empty: none
  std::optional<std::int64_t> ceiling;  // micro
  std::string node;
};

enum class Per { kNode, kCore, kGib };

class Model {
 public:
  Model(std::uint64_t seed, Per per, std::string unpriced, std::optional<std::int64_t> given)
      : random_(seed), per_(per), unpriced_(std::move(unpriced)), given_(given) {}

  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(random_.Below(n)); }
  template <typename T>
  T Pick(const std::vector<T>& choices) {
    return choices[Below(choices.size())];
  }

  void SetPrice(ModelNode& node) {
    static const std::vector<std::pair<std::string, std::optional<std::int64_t>>> kPrices = {
        {"0.05", 50'000}, {"0.10", 100'000}, {"0.2", 200'000}, {"0.40", 400'000}, {"1.600", 1'600'000},
        {"0", 0},         {"-1", {}},        {"$0.01", {}},    {" 0.01", {}},     {"", {}}};
    std::tie(node.price, node.micro) = Pick(kPrices);
  }
  testing::NodeBuilder Build(const std::string& name) {
    const ModelNode& node = nodes.at(name);
    auto builder = MakeNode(name);
    builder.Allocatable("cpu", std::to_string(node.cpu_milli) + "m")
        .Allocatable("memory", std::to_string(node.memory_gib) + "Gi")
        .Allocatable("pods", std::to_string(node.pods))
        .Label("disk", node.disk);
    if (!node.price.empty()) builder.Annotation("berth.dev/price", node.price);
    if (node.is_unschedulable) builder.Unschedulable();
    return builder;
  }
  void AddNode(const std::string& name) {
    ModelNode node;
    node.cpu_milli = Pick<std::int64_t>({500, 1000, 2000, 4000, 8000});
    node.memory_gib = Pick<std::int64_t>({1, 2, 4, 16});
    node.pods = Pick<std::int64_t>({1, 3, 110});
    node.is_unschedulable = Below(8) == 0;
    node.disk = Pick<std::string>({"ssd", "hdd"});
    SetPrice(node);
    nodes[name] = node;
  }

  // Few kinds, so that what is kept for a class is used.
  ModelPod RandomPod(std::string name) {
    ModelPod pod;
    pod.name = std::move(name);
    pod.cpu_milli = Pick<std::int64_t>({0, 400, 1500});
    pod.memory_gib = Pick<std::int64_t>({0, 1});
    if (Below(4) == 0) pod.disk = "ssd";
    if (Below(4) == 0) pod.ceiling = Pick<std::int64_t>({100'000, 25'000});
    return pod;
  }
  static testing::PodBuilder Build(const ModelPod& pod) {
    auto builder = Pod(pod.name);
    if (pod.cpu_milli > 0) builder.Request("cpu", std::to_string(pod.cpu_milli) + "m");
    if (pod.memory_gib > 0) builder.Request("memory", std::to_string(pod.memory_gib) + "Gi");
    if (!pod.disk.empty()) builder.NodeSelector("disk", pod.disk);
    if (pod.ceiling) builder.Annotation("berth.dev/max-price", *pod.ceiling == 100'000 ? "0.1" : "0.025");
    return builder;
  }

  // Price and what it is divided by; nullopt: the node has no price.
  struct Cost {
    std::int64_t micro;
    std::int64_t parts;  // thousandths of cores, or GiB
  };
  std::optional<Cost> CostOf(const std::string& name) const {
    const ModelNode& node = nodes.at(name);
    const auto micro = node.micro ? node.micro : given_;
    if (!micro) return std::nullopt;
    return Cost{*micro, per_ == Per::kNode ? 1 : per_ == Per::kCore ? node.cpu_milli : node.memory_gib};
  }
  static bool IsCheaper(const Cost& a, const Cost& b) { return a.micro * b.parts < b.micro * a.parts; }

  bool IsFeasible(const ModelPod& pod, const std::string& name) const {
    const ModelNode& node = nodes.at(name);
    if (node.is_unschedulable || (!pod.disk.empty() && pod.disk != node.disk)) return false;
    std::int64_t cpu_milli = pod.cpu_milli;
    std::int64_t memory_gib = pod.memory_gib;
    std::int64_t count = 1;
    for (const ModelPod& other : pods) {
      if (other.node != name) continue;
      cpu_milli += other.cpu_milli;
      memory_gib += other.memory_gib;
      ++count;
    }
    if (count > node.pods || cpu_milli > node.cpu_milli || memory_gib > node.memory_gib) return false;
    const auto cost = CostOf(name);
    if (!cost) return unpriced_ != "\"refused\"" && !pod.ceiling;
    if (!pod.ceiling) return true;
    const Cost ceiling{*pod.ceiling, per_ == Per::kCore ? 1000 : 1};
    return !IsCheaper(ceiling, *cost);
  }

  // Says what is wrong with this node for the pod; empty: nothing.
  std::string Fault(const ModelPod& pod, const std::string& chosen) const {
    if (!chosen.empty() && !IsFeasible(pod, chosen)) return chosen + " is not feasible";
    for (const auto& [name, node] : nodes) {
      if (!IsFeasible(pod, name)) continue;
      if (chosen.empty()) return "it could be on " + name;
      const auto cost = CostOf(name);
      const auto of_chosen = CostOf(chosen);
      if (cost && (!of_chosen || IsCheaper(*cost, *of_chosen))) return name + " is cheaper than " + chosen;
    }
    return "";
  }

  std::map<std::string, ModelNode> nodes;
  std::vector<ModelPod> pods;

 private:
  Random random_;
  Per per_;
  std::string unpriced_;
  std::optional<std::int64_t> given_;
};

class NoCheaperNode : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(NoCheaperNode, ForAnyPlacedPodAtItsMoment) {
  const std::uint64_t seed = GetParam();
  const Per per = static_cast<Per>(seed % 3);
  const std::string unpriced = std::vector<std::string>{"\"last\"", "\"refused\"", "0.15"}[seed / 3 % 3];
  const std::string units = std::vector<std::string>{"node", "core", "GiB"}[seed % 3];
  Model model(seed, per, unpriced, unpriced == "0.15" ? std::optional<std::int64_t>(150'000) : std::nullopt);
  Harness h(ReadyProfile(R"({"per": ")" + units + R"(", "unpricedNodes": )" + unpriced + "}"), {.seed = seed});
  int placed = 0;
  int next = 0;
  const auto name_of = [](std::size_t i) { return "n" + std::to_string(i); };
  for (std::size_t i = 0; i < 4 + seed % 10; ++i) {
    model.AddNode(name_of(i));
    h.Set(model.Build(name_of(i)));
  }
  for (int step = 0; step < 100; ++step) {
    const std::size_t what = model.Below(10);
    if (what == 0) {
      const std::string name = name_of(model.Below(14));
      if (!model.nodes.contains(name)) model.AddNode(name);
      model.SetPrice(model.nodes[name]);
      h.Set(model.Build(name));
    } else if (what == 1 && model.nodes.size() > 2) {
      const std::string name = std::next(model.nodes.begin(), static_cast<int>(model.Below(model.nodes.size())))->first;
      std::erase_if(model.pods, [&](const ModelPod& pod) {
        if (pod.node == name) h.Remove(Model::Build(pod).Node(name));
        return pod.node == name;
      });
      model.nodes.erase(name);
      h.RemoveNode(name);
    } else if (what == 2 && !model.pods.empty()) {
      const auto gone = std::next(model.pods.begin(), static_cast<int>(model.Below(model.pods.size())));
      h.Remove(Model::Build(*gone).Node(gone->node));
      model.pods.erase(gone);
    } else {
      ModelPod pod = model.RandomPod("p" + std::to_string(++next));
      const auto builder = Model::Build(pod);
      const std::string node = Place(h, builder);
      ASSERT_EQ(model.Fault(pod, node), "") << pod.name << ", seed " << seed;
      if (node.empty()) {
        h.Remove(builder);
      } else {
        ++placed;
        pod.node = node;
        model.pods.push_back(pod);
      }
    }
  }
  EXPECT_GT(placed, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NoCheaperNode, ::testing::Range<std::uint64_t>(1, 91));

}  // namespace
}  // namespace berth::plugins
