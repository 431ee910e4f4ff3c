// SPDX-License-Identifier: Apache-2.0
// Faults known from schedulers written as teaching examples; none may occur here. Faults that need a real control plane
// (pods lost when a watch breaks) are tested in tests/e2e/walkthroughs_test.go.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/api/decode.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/testing/source_path.h"

namespace berth::scheduler {
namespace {

constexpr const char* kPrice = "berth.dev/price";

// A ready profile from deploy/config, as `berth run --config` reads it.
Profiles ReadyProfile(const std::string& name) {
  std::ifstream file(testing::SourcePath("deploy/config/" + std::string(name) + ".yaml"));
  std::stringstream text;
  text << file.rdbuf();
  const auto configuration = config::LoadConfiguration(text.str());
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  const auto valid = config::ValidateConfiguration(*configuration);
  BERTH_CHECK(valid.ok(), valid.error().message);
  Profiles profiles;
  auto made = runtime::MakeProfiles(*configuration, plugins::InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

NodeSet PricedNode(const std::string& name, const std::string& price) {
  auto node = std::make_shared<api::Node>(*testing::MakeNode(name).Allocatable("cpu", "1").Build());
  if (!price.empty()) node->metadata.annotations.Set(kPrice, price);
  return {std::move(node)};
}

testing::PodBuilder CheapPod(const std::string& name) {
  return testing::MakePod(name).SchedulerName("best-price").Request("cpu", "1");
}

TEST(KnownFaultsTest, NamespacesOtherThanDefaultAreServed) {
  Harness h;
  h.Set(testing::MakeNode("a"));
  h.Set(testing::MakePod("p").Namespace("kube-system"));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST(KnownFaultsTest, ABadPriceStopsNothing) {
  for (const char* bad : {"cheap", "-1", "NaN", "inf", "$0.01", "0,01", " 0.01 ", "1e400"}) {
    SCOPED_TRACE(bad);
    Harness h(ReadyProfile("best-price"));
    h.core.Handle(PricedNode("bad", bad), h.now);
    h.core.Handle(PricedNode("dear", "9.99"), h.now);
    h.core.Handle(PricedNode("cheap", "0.05"), h.now);
    std::vector<std::string> nodes;
    for (const char* name : {"p", "q", "r"}) {
      h.Set(CheapPod(name));
      h.Run();
      for (const std::string& line : h.Take()) {
        if (line.starts_with("bind")) nodes.push_back(line.substr(line.rfind(' ') + 1));
      }
    }
    EXPECT_EQ(nodes, (std::vector<std::string>{"cheap", "dear", "bad"}));
  }
}

TEST(KnownFaultsTest, NodesWithoutAPriceAreUsedWhenTheOthersAreFull) {
  Harness h(ReadyProfile("best-price"));
  h.core.Handle(PricedNode("without", ""), h.now);
  h.core.Handle(PricedNode("priced", "1000"), h.now);
  for (const char* name : {"p", "q"}) {
    h.Set(CheapPod(name));
    h.Run();
  }
  EXPECT_EQ(h.Take(), (Lines{"bind p to priced", "bind q to without"}));
}

// CPU quantities in every unit, as the API server sends them: each request is 2.5 CPUs, and the node has room for two.
TEST(KnownFaultsTest, EveryUnitOfCpuIsCounted) {
  const auto pod = [](const std::string& name, const std::string& cpu) {
    auto decoded =
        api::DecodePod(R"({"metadata": {"name": ")" + name + R"(", "namespace": "default", "uid": ")" + name +
                       R"("}, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c",
                                     "resources": {"requests": {"cpu": )" +
                       cpu + "}}}]}}");
    BERTH_CHECK(decoded.ok(), decoded.error().message);
    return PodSet{*decoded};
  };
  for (const char* allocatable : {"5", "5000m", "5.0", "5e0", "0.005k"}) {
    for (const char* request : {R"("2.5")", R"("2500m")", R"("2500000u")", R"("25e-1")", R"("0.0025k")", "2.5"}) {
      SCOPED_TRACE(std::string(allocatable) + " " + request);
      Harness h;
      h.Set(testing::MakeNode("a").Allocatable("cpu", allocatable));
      for (const char* name : {"p1", "p2", "p3"}) {
        h.core.Handle(pod(name, request), h.now);
        h.Run();
      }
      const Lines lines = h.Take();
      ASSERT_GE(lines.size(), 3U);
      EXPECT_EQ(lines[0], "bind p1 to a");
      EXPECT_EQ(lines[1], "bind p2 to a");
      EXPECT_NE(lines[2].find("Insufficient cpu"), std::string::npos) << lines[2];
    }
  }
}

// The second pod arrives before the first one's binding is answered, or fails.
TEST(KnownFaultsTest, TwoPodsNeverGetTheSameSlot) {
  Harness h;
  h.Set(testing::MakeNode("a").Allocatable("cpu", "1"));
  h.Set(testing::MakePod("p").Request("cpu", "1"));
  h.Set(testing::MakePod("q").Request("cpu", "1"));
  h.Run();
  const Lines lines = h.Take();
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "bind p to a");
  EXPECT_TRUE(lines[1].starts_with("status q Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")) << lines[1];
  h.LoseAnswer();  // the binding may have taken effect, so that the room stays taken
  h.Run(30s);
  for (const std::string& line : h.Take()) EXPECT_FALSE(line.starts_with("bind q")) << line;
}

}  // namespace
}  // namespace berth::scheduler
