// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/metric_view.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/shell/metrics/prometheus_metrics.h"

namespace berth::metrics {
namespace {

// The lines that are no comments.
std::string Lines(const PrometheusMetrics& metrics) {
  std::string lines;
  const std::string text = metrics.Text();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    if (text[begin] != '#') lines += text.substr(begin, end - begin);
    begin = end;
  }
  return lines;
}

TEST(MetricView, DisabledMetricsAreNotServed) {
  PrometheusMetrics metrics;
  metrics.registry().AddCounter({"a_total", "A.", {}}).With({}).Add(1);
  metrics.registry().AddCounter({"b_total", "B.", {}}).With({}).Add(2);
  metrics.SetView({.disabled = {"a_total", "never_heard_of"}, .label_values = {}});
  EXPECT_EQ(metrics.Text(), "# HELP b_total B.\n# TYPE b_total counter\nb_total 2\n");
}

TEST(MetricView, OtherValuesOfALabelAreUnexpected) {
  PrometheusMetrics metrics;
  CounterFamily& counter = metrics.registry().AddCounter({"c_total", "", {"code", "who"}});
  counter.With({"200", "x"}).Add(1);
  counter.With({"404", "x"}).Add(2);
  counter.With({"500", "x"}).Add(3);
  counter.With({"500", "y"}).Add(4);
  HistogramFamily& histogram = metrics.registry().AddHistogram({"h", "", {"code"}, {1}});
  histogram.With({"404"}).Observe(0.5);
  histogram.With({"500"}).Observe(2);
  metrics.SetView({.disabled = {}, .label_values = {{"c_total,code", {"200"}}, {"h,code", {}}, {"h,who", {}}}});
  EXPECT_EQ(Lines(metrics),
            "c_total{code=\"200\",who=\"x\"} 1\n"
            "c_total{code=\"unexpected\",who=\"x\"} 5\n"
            "c_total{code=\"unexpected\",who=\"y\"} 4\n"
            "h_bucket{code=\"unexpected\",le=\"1\"} 1\n"
            "h_bucket{code=\"unexpected\",le=\"+Inf\"} 2\n"
            "h_sum{code=\"unexpected\"} 2.5\n"
            "h_count{code=\"unexpected\"} 2\n");
}

// As component-base, but for gauges with labels, which it drops.
TEST(MetricView, Reset) {
  PrometheusMetrics metrics;
  MetricRegistry& registry = metrics.registry();
  registry.AddCounter({"process_cpu_seconds_total", "", {}}).With({}).Add(7);
  registry.AddGauge({"cache_size", "", {}}).With({}).Set(3);
  CounterCell& plain = registry.AddCounter({"plain_total", "", {}}).With({});
  CounterCell& labelled = registry.AddCounter({"labelled_total", "", {"l"}}).With({"a"});
  HistogramCell& histogram = registry.AddHistogram({"timing", "", {"l"}, {1}}).With({"a"});
  HistogramCell& plain_histogram = registry.AddHistogram({"waiting", "", {}, {1}}).With({});
  GaugeCell& gauge = registry.AddGauge({"pending", "", {"l"}}).With({"a"});
  plain.Add(5);
  labelled.Add(5);
  histogram.Observe(0.5);
  plain_histogram.Observe(0.5);
  gauge.Set(5);
  metrics.Reset();
  const std::string process = "process_cpu_seconds_total 7\n";
  const std::string kept =
      "waiting_bucket{le=\"1\"} 1\nwaiting_bucket{le=\"+Inf\"} 1\nwaiting_sum 0.5\nwaiting_count 1\n";
  EXPECT_EQ(Lines(metrics), "cache_size 3\npending{l=\"a\"} 5\nplain_total 0\n" + process + kept);
  plain.Add(2);
  labelled.Add(3);
  registry.AddCounter({"labelled_total", "", {"l"}}).With({"b"}).Add(1);
  histogram.Observe(4);
  const std::string since =
      "timing_bucket{l=\"a\",le=\"1\"} 0\ntiming_bucket{l=\"a\",le=\"+Inf\"} 1\ntiming_sum{l=\"a\"} 4\n"
      "timing_count{l=\"a\"} 1\n";
  EXPECT_EQ(Lines(metrics),
            "cache_size 3\nlabelled_total{l=\"a\"} 3\nlabelled_total{l=\"b\"} 1\npending{l=\"a\"} 5\nplain_total 2\n" +
                process + since + kept);
  metrics.Reset();
  EXPECT_EQ(Lines(metrics), "cache_size 3\npending{l=\"a\"} 5\nplain_total 0\n" + process + kept);
}

TEST(MetricRegistryTest, FindsAFamilyAsItIs) {
  MetricRegistry registry;
  int updates = 0;
  registry.BeforeReading([&] { ++updates; });
  registry.AddCounter({"a_total", "", {}}).With({}).Add(2);
  const MetricFamily* const found = registry.Find("a_total");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->Collect().front().value, 2);
  EXPECT_EQ(registry.Find("b_total"), nullptr);
  EXPECT_EQ(updates, 0);
}

}  // namespace
}  // namespace berth::metrics
