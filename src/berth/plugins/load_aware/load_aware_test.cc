// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/load_aware/load_aware.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/outside_testing.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/load_aware/usage_report.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using testing::MakeNode;
using testing::MakePod;
using Data = Expected<std::shared_ptr<const framework::OutsideData>>;

constexpr Time kNoon{std::chrono::seconds(1'767'268'800)};

std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

class LoadAwareTest : public ::testing::Test {
 protected:
  void Use(const std::string& args) {
    scheduler.table = &cluster.table();
    auto made = MakeFromJson("LoadAware", args, scheduler);
    ASSERT_TRUE(made.ok()) << made.error().message;
    plugin = std::make_unique<TestedPlugin>(std::move(made));
    plugin->SetProfile("load");
  }
  void UsePrometheus(const std::string& more = "") {
    Use(R"({"source":"prometheus","prometheus":{"url":"http://p:9090","cpuQuery":"cpu","memoryQuery":"mem"},)"
        R"("measurementWindow":"30s")" +
        more + "}");
  }
  // Shares by node, as source 0 (cpu) or 1 (memory) of Prometheus says them at `at`.
  std::vector<std::string> Say(std::size_t source, const std::map<std::string, double>& shares, Time at, Time now) {
    auto report = std::make_shared<UsageReport>();
    for (const auto& [name, share] : shares) {
      auto& node = report->nodes[name];
      (source == 0 ? node.cpu : node.memory) = Measurement{share, at, 30s};
    }
    return Deliver(source, Data(std::shared_ptr<const framework::OutsideData>(report)), now);
  }
  std::vector<std::string> SayBoth(const std::map<std::string, double>& shares, Time at, Time now) {
    Say(0, shares, at, now);
    return Say(1, shares, at, now);
  }
  std::vector<std::string> Deliver(std::size_t source, const Data& data, Time now) {
    const framework::OutsideChange change = plugin->OnOutsideData(source, data, now);
    EXPECT_FALSE(change.all_nodes);
    return change.node_names;
  }
  std::vector<std::string> Tick(Time now) {
    return Deliver(plugin->OutsideSources().size() - 1, Data(std::shared_ptr<const framework::OutsideData>()), now);
  }
  std::string Predicted(std::string_view node) {
    const PredictedUse use = plugin->As<UsePredictor>().Predict(cluster.Node(node));
    return std::string(use.is_measured ? "measured" : "requested") + " " + Shown(use.cpu) +
           (use.memory ? " " + Shown(*use.memory) : "");
  }
  std::string Filter(std::string_view node) {
    return cluster.Filter(*plugin, *MakePod("p").Request("cpu", "1").Info(), node);
  }
  double WithoutFresh() const { return scheduler.Value("berth_load_aware_nodes_without_fresh_data,profile=load"); }

  TestCluster cluster;
  MeteredHandle scheduler;
  std::unique_ptr<TestedPlugin> plugin;
};

testing::NodeBuilder TenCores(const std::string& name) {
  return MakeNode(name).Allocatable("cpu", "10").Allocatable("memory", "10Gi");
}

TEST_F(LoadAwareTest, Arguments) {
  const struct {
    std::string name, args, error;
  } kCases[] = {
      {"none", "{}", ""},
      {"all of metrics.k8s.io",
       R"({"source":"metrics.k8s.io","targetUtilization":70,"hotThreshold":85.5,"interval":"10s","timeout":"2s",
           "freshness":"1m30s","futureTolerance":"0s","measurementWindow":"0s"})",
       ""},
      {"an unknown source", R"({"source":"guess"})", R"(args.source: Unsupported value: "guess")"},
      {"an unknown field", R"({"hotTreshold":80})", "hotTreshold"},
      {"Prometheus without its part", R"({"source":"prometheus"})", "args.prometheus: Required value"},
      {"Prometheus without a query", R"({"source":"prometheus","prometheus":{"url":"http://p"}})",
       "args.prometheus.cpuQuery: Required value"},
      {"Prometheus without a URL", R"({"source":"prometheus","prometheus":{"cpuQuery":"x"}})",
       "args.prometheus.url: Required value"},
      {"Prometheus' part without its source", R"({"prometheus":{"url":"http://p","cpuQuery":"x"}})",
       "args.prometheus: Forbidden"},
      {"a unit", R"({"source":"prometheus","prometheus":{"url":"http://p","cpuQuery":"x","unit":"cores"}})",
       R"(args.prometheus.unit: Unsupported value: "cores")"},
      {"no per cent", R"({"hotThreshold":0})", "args.hotThreshold: Invalid value"},
      {"more than all", R"({"targetUtilization":101})", "args.targetUtilization: Invalid value"},
      {"a bad duration", R"({"freshness":"soon"})", "args.freshness"},
      {"no freshness", R"({"freshness":"0s"})", "args.freshness"},
  };
  for (const auto& test_case : kCases) {
    SCOPED_TRACE(test_case.name);
    const auto made = MakeFromJson("LoadAware", test_case.args, scheduler);
    EXPECT_EQ(made.ok(), test_case.error.empty());
    if (made.ok()) continue;
    EXPECT_NE(made.error().message.find(test_case.error), std::string::npos) << made.error().message;
    EXPECT_TRUE(made.error().message.starts_with("plugin \"LoadAware\": ")) << made.error().message;
  }
}

TEST_F(LoadAwareTest, Sources) {
  const auto urls = [&] {
    std::string text;
    for (const auto& source : plugin->OutsideSources())
      text += source.is_clock ? source.name + " " : source.name + "=" + source.url + " ";
    return text;
  };
  Use("{}");
  EXPECT_EQ(urls(), "metrics.k8s.io=/apis/metrics.k8s.io/v1beta1/nodes clock ");
  Use(R"({"source":"annotations","interval":"5s"})");
  EXPECT_EQ(urls(), "clock ");
  EXPECT_EQ(plugin->OutsideSources()[0].interval, 5s);
  Use(R"({"source":"prometheus","prometheus":{"url":"http://p:9090/","cpuQuery":"a[1m]","bearerTokenFile":"/t"}})");
  EXPECT_EQ(urls(), "prometheus-cpu=http://p:9090/api/v1/query?query=a%5B1m%5D clock ");
  EXPECT_EQ(plugin->OutsideSources()[0].bearer_token_file, "/t");
  UsePrometheus();
  EXPECT_EQ(urls(),
            "prometheus-cpu=http://p:9090/api/v1/query?query=cpu "
            "prometheus-memory=http://p:9090/api/v1/query?query=mem clock ");
}

TEST_F(LoadAwareTest, WithoutMeasurementsRequestsCount) {
  cluster.Add(TenCores("a"));
  cluster.Add(MakePod("p").Node("a").Request("cpu", "2").Request("memory", "1Gi"));
  cluster.Add(MakePod("q").Node("a"));  // 100m and 200 MiB by default
  UsePrometheus(R"(,"hotThreshold":10)");
  EXPECT_EQ(Predicted("a"), "requested 0.210 0.120");
  EXPECT_EQ(Filter("a"), "ok") << "requests are no heat";
  Tick(kNoon);
  EXPECT_EQ(WithoutFresh(), 1);
}

TEST_F(LoadAwareTest, AMeasurementCountsWithWhatHasBeenPlacedSince) {
  cluster.Add(TenCores("a"));
  UsePrometheus();
  const Time at = kNoon - 10s;
  EXPECT_EQ(SayBoth({{"a", 0.3}, {"elsewhere", 0.9}}, at, kNoon), std::vector<std::string>{"a"});
  EXPECT_EQ(WithoutFresh(), 0);
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.300");
  const auto pod = [](const char* name) {
    return MakePod(name).Node("a").Request("cpu", "1").Request("memory", "1Gi");
  };
  cluster.Add(pod("old").Started(at - 30s));
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.300") << "all of the window has seen it";
  cluster.Add(pod("young").Started(at - 29s));
  EXPECT_EQ(Predicted("a"), "measured 0.400 0.400");
  cluster.Add(pod("assumed"));
  EXPECT_EQ(Predicted("a"), "measured 0.500 0.500");
  cluster.Add(MakePod("modest").Node("a"));
  EXPECT_EQ(Predicted("a"), "measured 0.510 0.520") << "the defaults of a pod that asks for nothing";
}

TEST_F(LoadAwareTest, MeasurementsCatchUp) {
  cluster.Add(TenCores("a"));
  cluster.Add(MakePod("p").Node("a").Request("cpu", "1").Request("memory", "1Gi").Started(kNoon));
  UsePrometheus();
  SayBoth({{"a", 0.3}}, kNoon, kNoon);
  EXPECT_EQ(Predicted("a"), "measured 0.400 0.400");
  EXPECT_TRUE(SayBoth({{"a", 0.3}}, kNoon + 15s, kNoon + 15s).empty()) << "nothing else than before";
  EXPECT_EQ(Say(0, {{"a", 0.3}}, kNoon + 30s, kNoon + 30s), std::vector<std::string>{})
      << "the memory's measurement is still of before";
  EXPECT_EQ(Say(1, {{"a", 0.3}}, kNoon + 30s, kNoon + 30s), std::vector<std::string>{"a"})
      << "the same value, but it has the pod in it";
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.300");
}

TEST_F(LoadAwareTest, AmountsOfMetricsK8sIo) {
  cluster.Add(TenCores("a"));
  Use("{}");
  const auto source = plugin->OutsideSources()[0];
  const auto data = source.parse(
      R"({"items":[{"metadata":{"name":"a"},"timestamp":"2026-01-01T12:00:00Z","window":"10s",
                    "usage":{"cpu":"2500m","memory":"1Gi"}}]})");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(Deliver(0, data, kNoon), std::vector<std::string>{"a"});
  EXPECT_EQ(Predicted("a"), "measured 0.250 0.100");
  cluster.Add(TenCores("a").Allocatable("cpu", "0"));
  EXPECT_EQ(Predicted("a"), "measured 1000.000 0.100") << "use of nothing";
}

TEST_F(LoadAwareTest, StaleMeasurementsDoNotCountAndThatIsNoticed) {
  for (const char* name : {"a", "b"}) cluster.Add(TenCores(name));
  UsePrometheus();
  SayBoth({{"a", 0.3}, {"b", 0.6}}, kNoon, kNoon);
  EXPECT_EQ(WithoutFresh(), 0);
  const Data failed(Error{ErrorCode::kTimeout, "no answer within 5 s"});
  EXPECT_TRUE(Deliver(0, failed, kNoon + 60s).empty());
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.300");
  EXPECT_EQ(Tick(kNoon + 61s), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Predicted("a"), "requested 0.000 0.000");
  EXPECT_EQ(WithoutFresh(), 2);
  EXPECT_EQ(SayBoth({{"b", 0.6}}, kNoon + 70s, kNoon + 70s), std::vector<std::string>{"b"});
  EXPECT_EQ(WithoutFresh(), 1) << "the other half of the nodes";
  EXPECT_EQ(Say(1, {}, kNoon + 71s, kNoon + 71s), std::vector<std::string>{"b"}) << "one of two is not enough";
}

TEST_F(LoadAwareTest, MeasurementsFromTheFutureAreRefused) {
  for (const char* name : {"a", "b"}) cluster.Add(TenCores(name));
  UsePrometheus();
  SayBoth({{"a", 0.3}}, kNoon + 10s, kNoon);
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.300");
  SayBoth({{"a", 0.3}}, kNoon + 10s + 1us, kNoon);
  EXPECT_EQ(Predicted("a"), "requested 0.000 0.000");
  EXPECT_EQ(scheduler.Value("berth_load_aware_refused_measurements_total,profile=load,reason=future"), 2);
  EXPECT_EQ(WithoutFresh(), 2);
  // What the parser refused is counted as well.
  auto report = std::make_shared<UsageReport>();
  report->refused[static_cast<std::size_t>(Refusal::kNegative)] = 3;
  Deliver(0, Data(std::shared_ptr<const framework::OutsideData>(report)), kNoon);
  EXPECT_EQ(scheduler.Value("berth_load_aware_refused_measurements_total,profile=load,reason=negative"), 3);
}

TEST_F(LoadAwareTest, AnnotationsOfNodesTheSourceDoesNotKnow) {
  const auto annotated = [](const char* name, const char* cpu, const char* memory) {
    return TenCores(name).Annotation(kCpuUsageAnnotation, cpu).Annotation(kMemoryUsageAnnotation, memory);
  };
  cluster.Add(annotated("a", "30", "40"));
  cluster.Add(annotated("b", "30", "40").Annotation(kUsageTimeAnnotation, "2026-01-01T12:00:00Z"));
  cluster.Add(annotated("future", "30", "40").Annotation(kUsageTimeAnnotation, "2026-01-01T13:00:00Z"));
  cluster.Add(annotated("bad", "30", "lots"));
  UsePrometheus();
  Tick(kNoon);
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.400");
  EXPECT_EQ(Predicted("b"), "measured 0.300 0.400");
  EXPECT_EQ(Predicted("future"), "requested 0.000 0.000");
  EXPECT_EQ(Predicted("bad"), "requested 0.000 0.000");
  const auto refused = [&](const std::string& reason) {
    return scheduler.Value("berth_load_aware_refused_measurements_total,profile=load,reason=" + reason);
  };
  Tick(kNoon + 1s);
  EXPECT_EQ(refused("future"), 1) << "once, however often it is looked at";
  EXPECT_EQ(refused("not_a_number"), 1);
  EXPECT_EQ(WithoutFresh(), 2);
  SayBoth({{"a", 0.9}}, kNoon, kNoon + 1s);
  EXPECT_EQ(Predicted("a"), "measured 0.900 0.900") << "the source's word comes first";
  EXPECT_EQ(Tick(kNoon + 61s), (std::vector<std::string>{"a", "b"})) << "the annotation of b is too old";
  EXPECT_EQ(Predicted("a"), "measured 0.300 0.400") << "without a time it does not grow old";
}

TEST_F(LoadAwareTest, AnAnnotationWithoutATimeIsAsOldAsItIsKnown) {
  cluster.Add(TenCores("a").Annotation(kCpuUsageAnnotation, "30"));
  cluster.Add(MakePod("p").Node("a").Request("cpu", "1").Started(kNoon - 5s));
  Use(R"({"source":"annotations"})");
  Tick(kNoon);
  EXPECT_EQ(Predicted("a"), "measured 0.300") << "what ran then is in it";
  cluster.Add(MakePod("q").Node("a").Request("cpu", "1").Started(kNoon + 5s));
  Tick(kNoon + 15s);
  EXPECT_EQ(Predicted("a"), "measured 0.400");
  cluster.Add(TenCores("a").Annotation(kCpuUsageAnnotation, "39"));
  Tick(kNoon + 30s);
  EXPECT_EQ(Predicted("a"), "measured 0.390");
}

TEST_F(LoadAwareTest, HotNodesAreRefusedWithNumbers) {
  for (const char* name : {"cool", "edge", "cpu", "memory", "both", "boiling"}) cluster.Add(TenCores(name));
  UsePrometheus(R"(,"hotThreshold":85)");
  Say(0, {{"cool", 0.2}, {"edge", 0.85}, {"cpu", 0.919}, {"memory", 0.1}, {"both", 0.9}, {"boiling", 2}}, kNoon, kNoon);
  Say(1, {{"cool", 0.2}, {"edge", 0.85}, {"cpu", 0.1}, {"memory", 0.861}, {"both", 0.9}, {"boiling", 0}}, kNoon, kNoon);
  EXPECT_EQ(Filter("cool"), "ok");
  EXPECT_EQ(Filter("edge"), "ok");
  EXPECT_EQ(Filter("cpu"), "Unschedulable: node(s) hotter than 85%: cpu at 91%");
  EXPECT_EQ(Filter("memory"), "Unschedulable: node(s) hotter than 85%: memory at 86%");
  EXPECT_EQ(Filter("both"), "Unschedulable: node(s) hotter than 85%: cpu at 90%, memory at 90%");
  EXPECT_EQ(Filter("boiling"), "Unschedulable: node(s) hotter than 85%: cpu at 200% or more");
  cluster.Add(MakePod("p").Node("cool").Request("cpu", "7"));
  EXPECT_EQ(Filter("cool"), "Unschedulable: node(s) hotter than 85%: cpu at 90%") << "what has just been placed counts";
  const auto pod = MakePod("p").Info();
  EXPECT_FALSE(plugin->RefusesNone(cluster.cycle(), *pod));
  UsePrometheus();
  SayBoth({{"cpu", 1.5}}, kNoon, kNoon);
  EXPECT_TRUE(plugin->RefusesNone(cluster.cycle(), *pod));
  EXPECT_EQ(Filter("cpu"), "ok") << "there is no threshold";
}

TEST_F(LoadAwareTest, TheLowestPredictedUseComesFirst) {
  for (const char* name : {"a", "b", "c"}) cluster.Add(TenCores(name));
  cluster.Add(MakeNode("large").Allocatable("cpu", "100").Allocatable("memory", "100Gi"));
  UsePrometheus();
  Say(0, {{"a", 0.3}, {"b", 0.2}, {"c", 0.1}, {"large", 0.3}}, kNoon, kNoon);
  Say(1, {{"a", 0.1}, {"b", 0.1}, {"c", 0.5}, {"large", 0.1}}, kNoon, kNoon);
  const auto pod = MakePod("p").Request("cpu", "1").Request("memory", "1Gi").Info();
  EXPECT_EQ(cluster.Score(*plugin, *pod, "a"), 400'000) << "the pod itself counts";
  EXPECT_EQ(cluster.Score(*plugin, *pod, "b"), 300'000);
  EXPECT_EQ(cluster.Score(*plugin, *pod, "c"), 600'000) << "the higher of the two";
  EXPECT_EQ(cluster.Score(*plugin, *pod, "large"), 310'000);
}

TEST_F(LoadAwareTest, WithATargetTheFullestNodeBelowItComesFirst) {
  for (const char* name : {"empty", "half", "at", "over", "full"}) cluster.Add(TenCores(name));
  UsePrometheus(R"(,"targetUtilization":60)");
  SayBoth({{"empty", 0}, {"half", 0.4}, {"at", 0.5}, {"over", 0.55}, {"full", 0.9}}, kNoon, kNoon);
  const auto pod = MakePod("p").Request("cpu", "1").Info();
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const char* name : {"empty", "half", "at", "over", "full"})
    order.emplace_back(cluster.Score(*plugin, *pod, name), name);
  std::sort(order.begin(), order.end());
  std::string names;
  for (const auto& [score, name] : order) names += name + " ";
  EXPECT_EQ(names, "at half empty over full ");
  EXPECT_GE(order.front().first, 0);
}

TEST_F(LoadAwareTest, WhoIsTriedAgain) {
  using namespace framework;
  UsePrometheus();
  Tick(kNoon);
  const auto pod = MakePod("p").Info();
  const auto gone = [&](const testing::PodBuilder& builder) {
    const auto old = builder.Info();
    return HintFor(*plugin, {EventResource::kAssignedPod, action::kDelete}, *pod, {.old_pod = old.get()});
  };
  EXPECT_EQ(gone(MakePod("q").Node("a")), QueueingHint::kQueue);
  EXPECT_EQ(gone(MakePod("q").Node("a").Started(kNoon)), QueueingHint::kQueue);
  EXPECT_EQ(gone(MakePod("q").Node("a").Started(kNoon - 10min)), QueueingHint::kSkip)
      << "what it uses is in the measurements";
  EXPECT_EQ(gone(MakePod("q")), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(*plugin, {EventResource::kNode, action::kAdd}, *pod, {}), QueueingHint::kQueue);
  const auto annotated = [&](const testing::NodeBuilder& before, const testing::NodeBuilder& after) {
    const auto old_node = before.Build();
    const auto new_node = after.Build();
    return HintFor(*plugin, {EventResource::kNode, action::kUpdateNodeAnnotation}, *pod,
                   {.old_node = old_node.get(), .new_node = new_node.get()});
  };
  EXPECT_EQ(annotated(TenCores("a"), TenCores("a").Annotation(kCpuUsageAnnotation, "1")), QueueingHint::kQueue);
  EXPECT_EQ(annotated(TenCores("a"), TenCores("a").Annotation("other", "1")), QueueingHint::kSkip);
  EXPECT_EQ(HintFor(*plugin, {EventResource::kOutsideData, action::kUpdate}, *pod, {.outside_plugin = "LoadAware"}),
            QueueingHint::kQueue);
  EXPECT_EQ(HintFor(*plugin, {EventResource::kOutsideData, action::kUpdate}, *pod, {.outside_plugin = "Other"}),
            QueueingHint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
