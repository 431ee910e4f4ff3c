// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/measurements.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using whatif::RunningPod;

const std::string kSeconds =
    std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kTestNow.time_since_epoch()).count());

std::string NodeItem(const std::string& name, const std::string& cpu, const std::string& memory = "1Gi",
                     Time at = kTestNow) {
  return R"({"metadata":{"name":")" + name + R"("},"timestamp":")" + FormatRfc3339(at) +
         R"(","window":"30s","usage":{"cpu":")" + cpu + R"(","memory":")" + memory + R"("}})";
}

std::string PodItem(const std::string& name, const std::string& cpu, Time at = kTestNow) {
  return R"({"metadata":{"namespace":"default","name":")" + name + R"("},"timestamp":")" + FormatRfc3339(at) +
         R"(","window":"30s","containers":[{"name":"a","usage":{"cpu":")" + cpu + R"(","memory":"100Mi"}}]})";
}

std::string List(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return R"({"kind":"List","items":[)" + text + "]}";
}

std::string Series(const std::string& instance, const std::string& value, const std::string& seconds = kSeconds) {
  return R"({"metric":{"instance":")" + instance + R"("},"value":[)" + seconds + R"(,")" + value + R"("]})";
}

std::string Vector(const std::vector<std::string>& series) {
  std::string text;
  for (const std::string& item : series) text += (text.empty() ? "" : ",") + item;
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + text + "]}}";
}

class FakeClient final : public MetricsClient {
 public:
  Expected<std::string> ListMetrics(std::string_view resource) override { return Find(std::string(resource)); }
  Expected<std::string> Query(const std::string& query) override { return Find(query); }
  Expected<std::string> Find(const std::string& what) {
    asked.push_back(what);
    const auto at = answers.find(what);
    if (at == answers.end()) return Error{ErrorCode::kTimeout, "no answer within 10s"};
    return at->second;
  }
  std::map<std::string, std::string> answers;
  std::vector<std::string> asked;
};

Policy KubernetesPolicy() {
  return PolicyOf(
      "[{name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, "
      "metricsUtilization: {source: KubernetesMetrics}}}]",
      "balance: {enabled: [LowNodeUtilization]}", "metricsProviders: [{source: KubernetesMetrics}]\n");
}

Policy PrometheusPolicy(const std::string& more = "") {
  return PolicyOf(
      "[{name: LowNodeUtilization, args: {thresholds: {MetricResource: 20}, targetThresholds: "
      "{MetricResource: 50}, metricsUtilization: {source: Prometheus, prometheus: {query: load}}" +
          more + "}}]",
      "balance: {enabled: [LowNodeUtilization]}",
      "metricsProviders: [{source: Prometheus, prometheus: {url: 'http://prometheus:9090'}}]\n");
}

// Four idle-looking pods of which n1 has all: by requests there is nothing to do.
whatif::ClusterState FourPods() {
  std::vector<testing::PodBuilder> pods;
  for (const char* name : {"a", "b", "c", "d"})
    pods.push_back(RunningPod(name, std::string(name) + "-1", "n1").Request("cpu", "100m"));
  return StateOf({MakeNode("n1"), MakeNode("n2")}, pods);
}

Expected<RebalancePlan> PlanWith(const whatif::ClusterState& state, const Policy& policy, FakeClient& client) {
  auto measurements = ReadMeasurements(policy, client, kTestNow);
  if (!measurements.ok()) return measurements.error();
  PlanOptions options;
  options.now = kTestNow;
  options.measurements = &*measurements;
  options.chooses_target = true;
  return PlanRebalance(*whatif::ClusterOf(state), state, policy, options);
}

std::vector<std::string> MovesOf(const RebalancePlan& plan) {
  std::vector<std::string> moves;
  for (const PlannedMove& move : plan.moves) moves.push_back(move.pod->metadata.name + " to " + move.to);
  return moves;
}

TEST(MeasurementsTest, ANodeThatIsHotByMetricsServerGivesPodsAway) {
  FakeClient client;
  client.answers["nodes"] = List({NodeItem("n1", "3200m"), NodeItem("n2", "100m")});
  client.answers["pods"] =
      List({PodItem("a-1", "800m"), PodItem("b-1", "800m"), PodItem("c-1", "800m"), PodItem("d-1", "800m")});
  const Policy policy = KubernetesPolicy();
  const auto plan = PlanWith(FourPods(), policy, client);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  // 80 % to 40 %: with the first two away the node is no longer above 50 %.
  EXPECT_THAT(MovesOf(*plan), ElementsAre("d-1 to n2", "c-1 to n2"));
  EXPECT_EQ(plan->moves[0].reason, "its node is too full, as it is measured: cpu 80 %");
  EXPECT_EQ(plan->moves[0].changes[0].text, "cpu n1 80 % to 60 %, n2 3 % to 23 %");
}

TEST(MeasurementsTest, APodThatIsNotMeasuredStays) {
  FakeClient client;
  client.answers["nodes"] = List({NodeItem("n1", "3200m"), NodeItem("n2", "100m")});
  // That of a-1 is old: the pod that had this name has ended.
  client.answers["pods"] = List({PodItem("a-1", "800m", kTestNow - std::chrono::hours(1)), PodItem("b-1", "1600m")});
  const Policy policy = KubernetesPolicy();
  const auto plan = PlanWith(FourPods(), policy, client);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(MovesOf(*plan), ElementsAre("b-1 to n2"));
}

TEST(MeasurementsTest, AQueryReportsNothingOfPods) {
  FakeClient client;
  client.answers["load"] = Vector({Series("n1", "0.88"), Series("n2", "0.05")});
  const auto state = FourPods();
  const Policy one = PrometheusPolicy();
  const auto plan = PlanWith(state, one, client);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->moves.size(), 1u) << "one for each node and measurement, as the descheduler has it";
  EXPECT_EQ(plan->moves[0].reason, "its node is too full, as it is measured: 88 %");
  EXPECT_EQ(plan->moves[0].changes[0].text, "n1 88 % to 66 %, n2 5 % to 27 %");
  const Policy two = PrometheusPolicy(", evictionLimits: {node: 2}");
  const auto more = PlanWith(state, two, client);
  ASSERT_TRUE(more.ok()) << more.error().message;
  EXPECT_THAT(MovesOf(*more), ElementsAre("d-1 to n2", "c-1 to n2"));
}

TEST(MeasurementsTest, SourcesThatLieOrAreOldMoveNothing) {
  struct Case {
    const char* name;
    std::string nodes;
    const char* want;
  };
  const Time old = kTestNow - std::chrono::minutes(12);
  const std::string good = NodeItem("n2", "1");
  const std::vector<Case> cases = {
      {"not a number", List({NodeItem("n1", "NaN"), good}), "metrics-server: node n1: cpu is no quantity: \"NaN\""},
      {"negative", List({NodeItem("n1", "-1"), good}), "metrics-server: node n1: cpu is negative: -1"},
      {"beyond its capacity", List({NodeItem("n1", "9"), good}),
       "metrics-server: node n1 uses more than twice of what it has"},
      {"old", List({NodeItem("n1", "1", "1Gi", old), good}),
       "metrics-server: node n1: was measured 12m0s ago, more than 3m0s"},
      {"of the future", List({NodeItem("n1", "1", "1Gi", kTestNow + std::chrono::hours(1)), good}),
       "metrics-server: node n1: was measured in the future, at 2030-01-01T01:00:00Z"},
      {"missing", List({good}), "metrics-server: node n1 is not measured"},
      {"no list", "{}", "metrics-server: the answer is no list: it has no \"items\""},
      {"no JSON", "<html>", "metrics-server: no JSON:"},
  };
  const Policy policy = KubernetesPolicy();
  for (const Case& each : cases) {
    FakeClient client;
    client.answers["nodes"] = each.nodes;
    client.answers["pods"] = List({});
    const auto plan = PlanWith(FourPods(), policy, client);
    ASSERT_FALSE(plan.ok()) << each.name;
    EXPECT_THAT(plan.error().message, HasSubstr(each.want)) << each.name;
    EXPECT_EQ(plan.error().code, ErrorCode::kUnavailable) << each.name;
    EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
  }
}

TEST(MeasurementsTest, APrometheusThatLiesMovesNothing) {
  struct Case {
    const char* name;
    std::string answer;
    const char* want;
  };
  const std::vector<Case> cases = {
      {"not a number", Vector({Series("n1", "NaN"), Series("n2", "0")}),
       "Prometheus: a value is no finite number: \"NaN\""},
      {"negative", Vector({Series("n1", "-0.5"), Series("n2", "0")}),
       "Prometheus: \"n1\" has the value -0.500000, which is not from 0 to 1"},
      {"percent", Vector({Series("n1", "88"), Series("n2", "0")}), "which is not from 0 to 1"},
      {"old", Vector({Series("n1", "0.9", "12345"), Series("n2", "0")}), "Prometheus: a value was measured"},
      {"a node is missing", Vector({Series("n2", "0.1")}),
       "Prometheus: no series has the node n1 as its label \"instance\""},
      {"another type", R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})",
       "Prometheus: the query must give an instant vector; it gives \"scalar\""},
      {"refused", R"({"status":"error","error":"parse\nerror"})", "Prometheus: it refused the query: parse error"},
  };
  const Policy policy = PrometheusPolicy();
  for (const Case& each : cases) {
    FakeClient client;
    client.answers["load"] = each.answer;
    const auto plan = PlanWith(FourPods(), policy, client);
    ASSERT_FALSE(plan.ok()) << each.name;
    EXPECT_THAT(plan.error().message, HasSubstr(each.want)) << each.name;
  }
}

TEST(MeasurementsTest, ASourceThatHangsIsNamed) {
  FakeClient client;
  const Policy policy = PrometheusPolicy();
  const auto measurements = ReadMeasurements(policy, client, kTestNow);
  ASSERT_FALSE(measurements.ok());
  EXPECT_EQ(measurements.error().message, "Prometheus: no answer within 10s");
}

TEST(MeasurementsTest, OnlyWhatIsNeededIsAsked) {
  FakeClient client;
  const Policy none = PolicyOf("[{name: RemoveDuplicates}]", "balance: {enabled: [RemoveDuplicates]}");
  EXPECT_TRUE(ReadMeasurements(none, client, kTestNow).ok());
  EXPECT_THAT(client.asked, IsEmpty());
  const Policy policy = KubernetesPolicy();
  const auto plan = PlanRebalance(*whatif::ClusterOf(FourPods()), FourPods(), policy, {kTestNow, {}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "LowNodeUtilization goes by what KubernetesMetrics measures, and there are no measurements here");
}

TEST(MeasurementsTest, AnAnswerHasABound) {
  std::vector<std::string> series(kMetricSamplesMax + 1, Series("n", "0"));
  EXPECT_THAT(ParseSamples(Vector(series), kTestNow).error().message, HasSubstr("more than 200000 series"));
}

}  // namespace
}  // namespace berth::rebalance
