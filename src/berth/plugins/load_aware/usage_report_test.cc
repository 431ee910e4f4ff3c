// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/load_aware/usage_report.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;

// What a report says, in the order of names, and what it refuses: "n1 cpu=0.25 memory=0.5; refused negative=1".
std::string Describe(const Expected<UsageReport>& report) {
  if (!report.ok()) return "error: " + report.error().message;
  std::vector<std::string> lines;
  for (const auto& [name, node] : report->nodes) {
    std::string line = name;
    const auto add = [&](const char* what, const std::optional<Measurement>& one) {
      if (!one) return;
      char text[64];
      std::snprintf(text, sizeof text, " %s=%g@%lld", what, one->value,
                    static_cast<long long>(one->at->time_since_epoch() / 1s));
      line += text;
    };
    add("cpu", node.cpu);
    add("memory", node.memory);
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
  for (std::size_t i = 0; i < kRefusalCount; ++i) {
    if (report->refused[i] > 0)
      text += "; " + std::string(ToString(static_cast<Refusal>(i))) + "=" + std::to_string(report->refused[i]);
  }
  return text;
}

std::string NodeMetrics(const std::string& items) {
  return R"({"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[)" + items + "]}";
}

TEST(UsageReport, NodeMetrics) {
  const struct {
    std::string name, body, want;
  } kCases[] = {
      {"as metrics-server says it",
       NodeMetrics(
           R"({"metadata":{"name":"n1","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"}},
               "timestamp":"2026-01-01T00:00:00Z","window":"10.062s","usage":{"cpu":"156340123n","memory":"1024Ki"}},
              {"metadata":{"name":"n2"},"timestamp":"2026-01-01T00:00:05Z","window":"10s","usage":{"cpu":"2","memory":"1Gi"}})"),
       "n1 cpu=156.34@1767225600 memory=1.04858e+06@1767225600, n2 cpu=2000@1767225605 memory=1.07374e+09@1767225605"},
      {"none", NodeMetrics(""), ""},
      {"bad amounts leave their nodes out",
       NodeMetrics(
           R"({"metadata":{"name":"n1"},"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":"-1","memory":"1"}},
              {"metadata":{"name":"n2"},"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":"NaN","memory":"1"}},
              {"metadata":{"name":"n3"},"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":"1"}},
              {"metadata":{"name":"n4"},"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":1,"memory":"1"}},
              {"metadata":{"name":"n5"},"timestamp":"2026-01-01T00:00:00Z"},
              {"metadata":{"name":"n6"},"timestamp":"yesterday","usage":{"cpu":"1","memory":"1"}},
              {"metadata":{},"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":"1","memory":"1"}}, 7, null)"),
       "; not_a_number=4; negative=1; bad_time=1"},
      {"no JSON", "<html>502</html>", "error: no JSON"},
      {"something else", R"({"kind":"Status"})", "error: no list of node metrics"},
  };
  for (const auto& test_case : kCases) {
    SCOPED_TRACE(test_case.name);
    const std::string got = Describe(ParseNodeMetrics(test_case.body));
    if (test_case.want.starts_with("error")) {
      EXPECT_TRUE(got.starts_with(test_case.want)) << got;
    } else {
      EXPECT_EQ(got, test_case.want);
    }
  }
}

std::string Vector(const std::string& result) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + result + "]}}";
}

TEST(UsageReport, Prometheus) {
  const struct {
    std::string name, body, want;
    bool is_percent = false;
  } kCases[] = {
      {"as Prometheus says it", Vector(R"({"metric":{"instance":"n1:9100"},"value":[1767225600.781,"0.25"]},
                 {"metric":{"instance":"n2","job":"node"},"value":[1767225600,"0"]})"),
       "n1 cpu=0.25@1767225600, n2 cpu=0@1767225600"},
      {"percent", Vector(R"({"metric":{"instance":"n1"},"value":[1,"25"]})"), "n1 cpu=0.25@1", true},
      {"the highest of several series of a node",
       Vector(R"({"metric":{"instance":"n1:1"},"value":[1,"0.2"]},{"metric":{"instance":"n1:2"},"value":[1,"0.7"]},
                 {"metric":{"instance":"n1:3"},"value":[1,"0.3"]})"),
       "n1 cpu=0.7@1"},
      {"bad values leave their nodes out",
       Vector(R"({"metric":{"instance":"n1"},"value":[1,"NaN"]},{"metric":{"instance":"n2"},"value":[1,"+Inf"]},
                 {"metric":{"instance":"n3"},"value":[1,"-0.1"]},{"metric":{"instance":"n4"},"value":[1,"25"]},
                 {"metric":{"instance":"n5"},"value":[1,0.5]},{"metric":{"instance":"n6"},"value":[1]},
                 {"metric":{"instance":"n7"},"value":["1","0.5"]},{"metric":{"instance":"n8"},"value":[1e300,"0.5"]},
                 {"metric":{"instance":"n9"},"value":[-1,"0.5"]},{"metric":{"instance":"n10"}},
                 {"metric":{},"value":[1,"0.5"]},{"value":[1,"0.5"]},8,
                 {"metric":{"instance":"ok"},"value":[1,"0.5"]})"),
       "ok cpu=0.5@1; not_a_number=6; negative=1; implausible=1; bad_time=2"},
      {"no samples", Vector(""), ""},
      {"a scalar", R"({"status":"success","data":{"resultType":"scalar","result":[1,"1"]}})",
       "error: the query must give an instant vector; it gives \"scalar\""},
      {"refused", R"({"status":"error","errorType":"bad_data","error":"parse error: unexpected \"}\""})",
       "error: Prometheus refused the query: parse error: unexpected \"}\""},
      {"half an answer", R"({"status":"success","data":{"resultType":"vector","result":[{"metric":)", "error: no JSON"},
      {"empty", "", "error: no JSON"},
  };
  for (const auto& test_case : kCases) {
    SCOPED_TRACE(test_case.name);
    PrometheusFormat format;
    format.is_percent = test_case.is_percent;
    const std::string got = Describe(ParsePrometheus(test_case.body, format));
    if (test_case.want.starts_with("error")) {
      EXPECT_TRUE(got.starts_with(test_case.want)) << got;
    } else {
      EXPECT_EQ(got, test_case.want);
    }
  }
}

TEST(UsageReport, TheWindowOfAMeasurementIsKept) {
  const auto metrics = ParseNodeMetrics(NodeMetrics(
      R"({"metadata":{"name":"n1"},"timestamp":"2026-01-01T00:00:00Z","window":"30s","usage":{"cpu":"1","memory":"1"}})"));
  EXPECT_EQ(metrics->nodes.at("n1").cpu->window, 30s);
  PrometheusFormat format{MeasuredResource::kMemory, "node", false, 90s};
  const auto prometheus = ParsePrometheus(Vector(R"({"metric":{"node":"n1"},"value":[1,"0.5"]})"), format);
  EXPECT_EQ(prometheus->nodes.at("n1").memory->window, 90s);
  EXPECT_FALSE(prometheus->nodes.at("n1").cpu);
}

TEST(UsageReport, Annotations) {
  const struct {
    std::string name;
    std::vector<std::pair<std::string_view, std::string_view>> annotations;
    std::optional<double> cpu, memory;
    std::optional<Refusal> refusal;
  } kCases[] = {
      {"none", {}, {}, {}, {}},
      {"both", {{kCpuUsageAnnotation, "25"}, {kMemoryUsageAnnotation, "37.5%"}}, 0.25, 0.375, {}},
      {"one", {{kMemoryUsageAnnotation, "0"}}, {}, 0, {}},
      {"no number", {{kCpuUsageAnnotation, "25"}, {kMemoryUsageAnnotation, "much"}}, {}, {}, Refusal::kNotANumber},
      {"NaN", {{kCpuUsageAnnotation, "NaN"}}, {}, {}, Refusal::kNotANumber},
      {"with a space", {{kCpuUsageAnnotation, "25 %"}}, {}, {}, Refusal::kNotANumber},
      {"negative", {{kCpuUsageAnnotation, "-1"}}, {}, {}, Refusal::kNegative},
      {"far too much", {{kCpuUsageAnnotation, "250"}}, {}, {}, Refusal::kImplausible},
      {"no time", {{kCpuUsageAnnotation, "25"}, {kUsageTimeAnnotation, "noon"}}, {}, {}, Refusal::kBadTime},
  };
  for (const auto& test_case : kCases) {
    SCOPED_TRACE(test_case.name);
    auto node = testing::MakeNode("n");
    for (const auto& [key, value] : test_case.annotations) node.Annotation(key, value);
    const AnnotatedUsage usage = ReadUsageAnnotations(*node.Build(), 60s);
    EXPECT_EQ(usage.measured.cpu.has_value(), test_case.cpu.has_value());
    EXPECT_EQ(usage.measured.memory.has_value(), test_case.memory.has_value());
    if (usage.measured.cpu && test_case.cpu) {
      EXPECT_DOUBLE_EQ(usage.measured.cpu->value, *test_case.cpu);
    }
    if (usage.measured.memory && test_case.memory) {
      EXPECT_DOUBLE_EQ(usage.measured.memory->value, *test_case.memory);
    }
    EXPECT_EQ(usage.refusal, test_case.refusal);
    EXPECT_EQ(usage.refused.empty(), !test_case.refusal);
  }
  const auto refused = [](std::string_view key, const char* value) {
    return ReadUsageAnnotations(
               *testing::MakeNode("n").Annotation(kCpuUsageAnnotation, "25").Annotation(key, value).Build(), 60s)
        .refused;
  };
  EXPECT_EQ(refused(kCpuUsageAnnotation, "x"), kCpuUsageAnnotation);
  EXPECT_EQ(refused(kMemoryUsageAnnotation, "x"), kMemoryUsageAnnotation);
  EXPECT_EQ(refused(kUsageTimeAnnotation, "x"), kUsageTimeAnnotation);
  const auto timed = ReadUsageAnnotations(*testing::MakeNode("n")
                                               .Annotation(kCpuUsageAnnotation, "25")
                                               .Annotation(kUsageTimeAnnotation, "2026-01-01T01:00:00+01:00")
                                               .Build(),
                                          60s);
  EXPECT_EQ(timed.measured.cpu->at, Time(1767225600s));
  EXPECT_EQ(timed.measured.cpu->window, 60s);
}

}  // namespace
}  // namespace berth::plugins
